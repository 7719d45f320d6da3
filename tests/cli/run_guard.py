# SPDX-License-Identifier: MIT
"""The guardian under bad luck: nobody reads its words, exec hangs, the order
to start comes late, pids are used again, and descendants who are hard to
catch."""
import ctypes
import fcntl
import os
import shutil
import signal
import sys
import time

import harness
from harness import case

PTRACE_ATTACH = 16
PTRACE_DETACH = 17


@case
def a_reader_that_stalls_does_not_delay_the_end(t):
    """What the guardian says would block: it acts nevertheless, in time."""
    for words in (('ignore=TERM', 'beat'), ('beat',)):
        read_end, write_end = harness.full_pipe()
        t.log_path.unlink(missing_ok=True)
        holder = t.start('run', '--lease', '2s', 'job', '--',
                         *t.actor(*words), stderr=write_end)
        t.until(t.log, 'the command starts')
        waiter = t.next_waiter('job')
        t.stop(holder.pid)
        t.code(waiter.wait(), 0)
        t.excluded()
        os.close(read_end)
        os.close(write_end)
        t.code(holder.end(signal.SIGCONT), 76)


@case
def a_reader_that_stalls_does_not_delay_the_end_of_a_broken_lock(t):
    read_end, write_end = harness.full_pipe()
    holder = t.start('run', '--lease', '2s', 'job', '--', *t.actor('beat'),
                     stderr=write_end)
    t.until(t.log, 'the command starts')
    t.code(t.run('break', 'job', '--force'), 0)
    broken = harness.boot_ns()
    t.until(lambda: not harness.state_of(t.command_pid()), 'it ends')
    lived = (t.last_ns() - broken) / 1e9
    t.soon(lived < 10 * harness.SLOW, f'lived {lived:.2f} s')
    os.close(read_end)
    os.close(write_end)
    t.code(holder.wait(), 76)


def take_lease(fd):
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    except BlockingIOError:
        return False  # somebody who was forked just now has it open, too
    except OSError as error:
        raise harness.Skipped(f'no file leases here: {error}') from None
    return True


def hanging_program(t):
    """A program whose exec hangs until the descriptor is closed: opening a
    file that is under a lease waits for the one who holds it."""
    path = t.dir / 'program'
    shutil.copy(t.actor_path, path)
    path.chmod(0o755)
    fd = os.open(path, os.O_RDONLY)
    fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
    t.until(lambda: take_lease(fd), 'the file is under a lease')
    return path, fd


@case
def a_command_whose_exec_hangs_does_not_run_without_the_lock(t):
    path, fd = hanging_program(t)
    holder = t.start('run', '--lease', '2s', 'job', '--', path, t.log_path,
                     'say=late', 'beat')
    t.until(lambda: t.run('who', 'job').code == 0, 'it is held')
    waiter = t.next_waiter('job')
    holder.signal(signal.SIGKILL)
    t.code(waiter.wait(), 0)
    os.close(fd)
    time.sleep(0.3)
    t.equal(t.pids('late'), [], 'what ran')
    t.all_gone()


@case
def a_signal_ends_a_command_whose_exec_hangs(t):
    path, fd = hanging_program(t)
    holder = t.start('run', 'job', '--', path, t.log_path, 'say=late')
    t.until(lambda: t.run('who', 'job').code == 0, 'it is held')
    time.sleep(0.1)
    t.code(holder.end(), 128 + signal.SIGTERM)
    os.close(fd)
    t.equal(t.pids('late'), [], 'what ran')


@case
def an_order_to_start_that_comes_after_the_deadline_starts_nothing(t):
    first = t.hold('job')
    late = t.waits('run', '--lease', '2s', '--json', 'job', '--',
                   *t.actor('say=late'))
    guardian = next(pid for pid in t.left()
                    if harness.parent_of(pid) == late.pid)
    # Unlike a stopped process, one that is traced is not woken by CONT.
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(PTRACE_ATTACH, guardian, None, None):
        raise harness.Skipped('processes may not be traced here')
    t.until(lambda: harness.state_of(guardian) == 't', 'it stops')
    first.end()
    t.until(lambda: t.run('who', 'job').code == 0, 'it is granted')
    time.sleep(0.1)
    t.stop(late.pid)
    waiter = t.next_holder('job')
    t.code(waiter.wait(), 0)
    libc.ptrace(PTRACE_DETACH, guardian, None, None)
    time.sleep(0.3)
    t.code(late.end(signal.SIGCONT), 76)
    t.equal(t.pids('late'), [], 'what ran')
    # Nor was it started, and killed before its first word.
    last = t.events(late.err)[-1]
    t.equal((last['event'], last['child_exit'], last['child_signal']),
            ('exit', None, None), 'what ended')


@case
def a_grant_that_took_long_is_renewed_before_the_command_starts(t):
    """Else it would get TERM at once."""
    url = f'fault+sqlite:{t.db}?fault=delay:acquire:1:1600ms'
    result = t.run('run', '--url', url, '--lease', '2s', 'job', '--',
                   *t.actor('catch=TERM', 'say=up', 'pause=100', 'exit=4'))
    t.code(result, 4)
    t.equal(t.pids('got TERM'), [], 'TERM')


@case
def a_stopped_guardian_is_woken_to_start_the_command(t):
    first = t.hold('job')
    runner = t.waits('run', 'job', '--', *t.actor('say=ran'))
    guardian = next(pid for pid in t.left()
                    if harness.parent_of(pid) == runner.pid)
    os.kill(guardian, signal.SIGSTOP)
    first.end()
    since = time.monotonic()
    t.code(runner.wait(), 0)
    t.soon(time.monotonic() - since < 3 * harness.SLOW, 'slow to start')


@case
def a_process_whose_first_thread_ended_is_ended_too(t):
    """/proc calls it a zombie while its other threads go on."""
    holder = t.hold('job', words=('leaderless', 'beat'))
    t.until(lambda: len(set(t.pids('beat'))) == 2, 'both beat')
    t.until(lambda: any(harness.state_of(pid) == 'Z'
                        for pid in t.pids('beat')), 'a zombie beats')
    waiter = t.next_waiter('job')
    holder.signal(signal.SIGKILL)
    t.code(waiter.wait(), 0)
    t.excluded()
    t.all_gone()


PID_AGAIN = r"""
import os, signal, subprocess, sys, time
holdfast, log = sys.argv[1:3]
script = 'echo $$ >%s; (trap "" TERM; exec setsid sleep 2) & exit 3' % log
run = subprocess.Popen([holdfast, 'run', '--lease', '9s', '--grace', '1s',
                        'job', '--', 'sh', '-c', script])
while not os.path.exists(log) or not open(log).read().endswith('\n'):
    time.sleep(0.01)
pid = int(open(log).read())
while os.path.exists('/proc/%d' % pid):
    time.sleep(0.005)
for _ in range(20):
    open('/proc/sys/kernel/ns_last_pid', 'w').write(str(pid - 1))
    stranger = subprocess.Popen(['sleep', '1000'], start_new_session=True)
    if stranger.pid == pid:
        break
    stranger.kill()
    stranger.wait()
else:
    sys.exit(77)
code = run.wait()
time.sleep(0.05)
sys.exit(1 if stranger.poll() is not None else code)
"""


@case
def a_stranger_with_the_commands_old_pid_is_left_alone(t):
    if os.geteuid():
        raise harness.Skipped('needs root')
    result = t.spawn(['unshare', '--pid', '--fork', '--mount-proc',
                      sys.executable, '-c', PID_AGAIN, t.holdfast,
                      t.dir / 'pid']).wait()
    if result.code == 77 or 'ns_last_pid' in result.err:
        raise harness.Skipped('the pid could not be chosen')
    t.code(result, 3)


@case
def many_that_may_not_be_signalled_are_named_once(t):
    script = ('i=0; while [ $i -lt 70 ]; do setpriv --reuid 4242 sleep 100 & '
              'i=$((i+1)); done; exec "$@"')
    holder = t.start_untouchable(words=('sh', '-c', script, 'sh'))
    time.sleep(0.2)
    t.code(t.run('break', 'job', '--force'), 0)
    t.until(lambda: 'another user' in holder.err, 'some are named')
    time.sleep(1)
    lines = holder.err.count('another user')
    t.check(1 <= lines <= 70, f'{lines} lines')


if __name__ == '__main__':
    harness.main()
