# SPDX-License-Identifier: MIT
"""The guardian keeps its times whatever there is of processes: thousands of
strangers beside it, and a command that makes new ones faster than they can be
looked at."""
import contextlib
import os
import pathlib
import re
import signal

import harness
from harness import case

STRANGERS = 10000


def may_go_first():
    """The guardian gets the processor before others: root's does. It asks the
    same (src/cli/child.c)."""
    status = pathlib.Path('/proc/self/status').read_text()
    if re.search(r'^Seccomp:\s*[12]', status, re.M) or \
            os.sched_getparam(0).sched_priority:
        return False
    pid = os.fork()
    if not pid:
        try:
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        except OSError:
            os._exit(1)
        os._exit(0)
    return not os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


# Under a sanitizer each sweep takes ten times as long.
CHAINS = 100 if may_go_first() and harness.SLOW == 1 else 20


@contextlib.contextmanager
def crowd(t):
    """Many processes that are nobody's business."""
    path = t.dir / 'crowd'
    strangers = t.spawn([t.actor_path, path, f'crowd={STRANGERS}'])
    t.until(lambda: path.exists() and path.read_text() or
            not strangers.is_running(), 'the crowd is there')
    if not strangers.is_running():
        raise harness.Skipped(f'{STRANGERS} processes are too many here')
    try:
        yield
    finally:
        strangers.end()


def stop_holdfast(t, *args, words):
    """Its lease ends; gives who had the lock."""
    t.log_path.unlink(missing_ok=True)
    holder = t.hold('job', *args, words=words)
    waiter = t.next_waiter('job')
    t.check(holder.is_running(), f'it ended by itself: {holder.err}')
    t.stop(holder.pid)
    t.code(waiter.wait(), 0)
    return holder


@case
def many_processes_do_not_delay_the_kill(t):
    with crowd(t):
        for habits in ('beat',), ('fork=daemon', 'beat'):
            for _ in range(3):
                holder = stop_holdfast(t, '--lease', '1s',
                                       words=('ignore=TERM', *habits))
                t.excluded()
                t.code(holder.end(signal.SIGCONT), 76)


def hopped_late(t, since_ns):
    """For how long any chain hopped on after that. All are gone."""
    t.all_gone()
    last = memoryview(pathlib.Path(f'{t.log_path}.hops').read_bytes())
    return (max(last.cast('q')) - since_ns) / 1e9


@case
def a_storm_of_orphans_is_over_before_the_next_one_enters(t):
    for habits in (), ('ignore=TERM',):
        holder = stop_holdfast(t, '--lease', '2s',
                               words=(*habits, 'fork=plain',
                                      f'hop={CHAINS}', 'beat'))
        t.excluded()
        t.code(holder.end(signal.SIGCONT), 76)
        late = hopped_late(t, t.last_ns('next'))
        t.safe(late < 0, f'it hopped {late:.3f} s into the next hold')


@case
def a_storm_of_orphans_ends_with_the_wrapper(t):
    holder = t.hold('job', words=('ignore=TERM', f'hop={CHAINS}', 'beat'))
    waiter = t.next_waiter('job')
    holder.signal(signal.SIGKILL)
    killed_ns = harness.boot_ns()
    t.code(waiter.wait(), 0)
    late = hopped_late(t, t.last_ns('next'))
    t.safe(late < 0, f'it hopped {late:.3f} s into the next hold')
    lived = hopped_late(t, killed_ns)
    t.soon(lived < 5 * harness.SLOW, f'it hopped on for {lived:.2f} s')


@case
def a_storm_of_orphans_ends_with_max_run(t):
    for habits in (), ('ignore=TERM',):
        t.log_path.unlink(missing_ok=True)
        t.run('run', '--max-run', '1s', '--grace', '200ms', 'job', '--',
              *t.actor(*habits, f'hop={CHAINS}', 'beat'), code=124)
        lived = hopped_late(t, t.log()[0].ns) - 1.2
        t.soon(lived < 5 * harness.SLOW, f'it hopped on for {lived:.2f} s')


@case
def the_command_has_the_priority_of_the_caller(t):
    """The guardian may have another."""
    look = ['sh', '-c', 'cut -d" " -f19,40,41 /proc/self/stat; '
            'exec cat /proc/self/timerslack_ns']
    for nice in '0', '7':
        plain = t.spawn(['nice', '-n', nice, *look]).wait()
        guarded = t.spawn(['nice', '-n', nice, t.holdfast, 'run', 'job', '--',
                           *look]).wait(code=0)
        t.equal(guarded.out, plain.out,
                'nice, real-time priority, policy, slack of timers')


if __name__ == '__main__':
    harness.JOBS = 1  # each of them fills the machine
    harness.main()
