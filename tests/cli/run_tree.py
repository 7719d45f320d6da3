# SPDX-License-Identifier: MIT
"""What descends from the command: grandchildren, sessions of their own,
daemons. All of it is gone before the lock is free. And the run as PID 1."""
import os
import pathlib
import signal
import sys
import time

import harness
from harness import case


@case
def all_die_with_the_wrapper_though_they_ignore_signals(t):
    """A grandchild, one in a session of its own, a daemon."""
    holder = t.hold('job', words=('ignore=TERM', 'ignore=HUP', 'ignore=INT',
                                  'fork=plain', 'fork=setsid', 'fork=daemon',
                                  'beat'))
    t.until(lambda: len(set(t.pids('beat'))) == 4, 'all four beat')
    waiter = t.next_holder('job')
    holder.signal(signal.SIGKILL)
    t.code(waiter.wait(), 0)
    t.excluded()
    t.all_gone()


def left_behind(t, kind, *habits, grace='1s'):
    """The command ends well and leaves somebody who would live on."""
    holder = t.start('run', '--lease', '6s', '--grace', grace,
                     '--status-file', 'status', 'job', '--',
                     *t.actor(*habits, f'fork={kind}', 'pause=200',
                              'say=end', 'exit=5'))
    t.until(lambda: t.pids('end'), 'the command ends')
    waiter = t.next_holder('job')
    result = holder.wait(code=5)
    t.code(waiter.wait(), 0)
    t.excluded()
    t.equal(t.status(), {'outcome': 'exited', 'status': 5, 'child_exit': 5,
                         'child_signal': None}, 'status')
    t.all_gone()
    return result


@case
def a_background_process_of_the_group_is_ended_before_the_lock_is_free(t):
    left_behind(t, 'plain')


@case
def who_of_the_group_is_left_and_outlives_its_term_is_named(t):
    """Whom TERM ends at once may be gone before anybody can look."""
    result = left_behind(t, 'plain', 'ignore=TERM')
    t.says(result.err, 'left', 'cli_actor')


@case
def a_daemon_left_behind_is_ended_before_the_lock_is_free(t):
    result = left_behind(t, 'daemon')
    t.says(result.err, 'left', str(t.pids('daemon')[0]))


@case
def a_daemon_is_ended_though_two_become_subreapers_at_once(t):
    """Of which the kernel may forget one; see subreaper.c."""
    shim = pathlib.Path(t.actor_path).with_name('subreaper.so')
    env = {'LD_PRELOAD': str(shim), 'ASAN_OPTIONS': os.environ.get(
        'ASAN_OPTIONS', '') + ':verify_asan_link_order=0'}
    result = t.run('run', '--lease', '6s', '--grace', '1s', 'job', '--',
                   *t.actor('fork=daemon', 'exit=5'), env=env, code=5)
    t.equal(t.left(), [], 'who is left')
    t.says(result.err, 'left', str(t.pids('daemon')[0]))
    t.check('LD_PRELOAD' not in result.err, result.err)


@case
def what_is_left_and_ignores_term_is_killed_after_the_grace(t):
    left_behind(t, 'setsid', 'ignore=TERM')
    lived = (t.last_ns() - t.last_ns('end')) / 1e9
    t.soon(lived > 0.8, f'no grace: {lived} s')
    t.soon(lived < 5 * harness.SLOW, f'lived {lived} s')


@case
def what_is_left_but_ends_by_itself_is_waited_for(t):
    script = '(sleep 0.25; echo tail >>log) & exit 4'
    started = time.monotonic()
    result = t.run('run', 'job', '--', 'sh', '-c', script, code=4)
    t.check(time.monotonic() - started > 0.2, 'it was not waited for')
    t.equal((t.dir / 'log').read_text(), 'tail\n', 'log')
    t.equal(result.err, '', 'stderr')


@case
def what_is_left_gets_time_for_term(t):
    words = ('catch=TERM', 'fork=setsid', 'exit=0')
    t.start('run', '--lease', harness.lease(6), '--grace',
            f'{500 * harness.SLOW}ms', 'job', '--',
            *t.actor(*words)).wait(code=0)
    t.check(t.pids('got TERM'), 'no TERM before KILL')
    t.all_gone()


@case
def a_forking_command_cannot_outrun_the_end(t):
    script = ('while :; do for i in 1 2 3 4; do (setsid sleep 0.05 &) ; '
              'done; echo beat >>beats; sleep 0.01; done')
    holder = t.start('run', 'job', '--', 'sh', '-c', script)
    beats = t.dir / 'beats'
    t.until(lambda: beats.exists() and beats.stat().st_size > 20, 'it forks')
    holder.signal(signal.SIGKILL)
    t.code(t.run('run', '--wait', '10s', 'job', '--', 'true'), 0)
    size = beats.stat().st_size
    time.sleep(0.2)
    t.equal(beats.stat().st_size, size, 'beats after the lock was free')
    t.all_gone()


@case
def processes_of_the_caller_are_left_alone(t):
    before = t.spawn(['sh', '-c', '"$1" "$2" beat & exec "$3" run job -- '
                      'true', 'sh', t.actor_path, t.log_path, t.holdfast])
    t.code(before.wait(), 0)
    count = len(t.log())
    t.until(lambda: len(t.log()) > count + 10, 'the other process lives on')


@case
def another_users_process_is_named(t):
    holder = t.start_untouchable('--lease', '3s',
                                 words=('setpriv', '--reuid', '4242'))
    t.code(t.run('break', 'job', '--force'), 0)
    pid = t.command_pid()
    t.until(lambda: str(pid) in holder.err, 'it is named')
    t.says(holder.err, 'cli_actor', 'another user')
    t.check(holder.is_running(), 'the wrapper let go')
    os.kill(pid, signal.SIGKILL)
    t.code(holder.wait(), 76)


def as_init(t, *args):
    if os.geteuid():
        raise harness.Skipped('needs root')
    return t.spawn(['unshare', '--pid', '--fork', '--mount-proc', *args])


@case
def as_pid_1_it_reaps_whatever_dies(t):
    script = ('sleep 0.3; for f in /proc/[0-9]*/stat; do read -r line <$f '
              '&& echo "$line"; done 2>/dev/null | grep ") Z" && exit 9; '
              'read -r _ name _ </proc/1/stat; echo "$name"')
    result = as_init(t, 'sh', '-c', 'sleep 0.1 & (sleep 0.15 &) ; exec "$0" '
                     'run job -- sh -c "$1"', t.holdfast, script).wait(code=0)
    t.equal(result.out, '(holdfast)\n', 'PID 1')


# It ends with 5 and leaves an heir in a session of its own. Once it was waited
# for, the heir has a child with its number, and leaves that one an orphan,
# which ends with 7.
HEIRS = '''
import os, signal, sys

number = os.getpid()
if os.fork():
    os._exit(int(sys.argv[1]))
os.setsid()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
heir = os.getpid()
while os.path.exists(f'/proc/{number}'):
    pass
for _ in range(1000):
    try:
        with open('/proc/sys/kernel/ns_last_pid', 'w') as last:
            last.write(str(number - 1))
    except OSError:
        break
    pid = os.fork()
    while not pid and os.getppid() == heir:
        pass
    if not pid:
        os._exit(7)
    if pid == number:
        os.write(2, b'its number is an orphan\\'s')
        break
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
'''


def heirs(t, code):
    """The line of shell that ends with that code and has such an heir."""
    (t.dir / 'heirs').write_text(HEIRS)
    return f'exec {sys.executable} heirs {code}'


def had_heir(t, result):
    if 'unshare: ' in result.err:
        raise harness.Skipped('no PID namespace may be made')
    if 'its number is an orphan' not in result.err:
        raise harness.Skipped('/proc/sys/kernel/ns_last_pid is not to be had')


@case
def an_orphan_with_the_commands_number_is_not_the_command(t):
    result = as_init(t, t.holdfast, 'run', '--status-file', 'status', '-c',
                     'job', '--', heirs(t, 5)).wait()
    had_heir(t, result)
    t.code(result, 5)
    t.equal(t.status()['child_exit'], 5, 'child_exit')
    t.all_gone()


@case
def an_orphan_with_the_hooks_number_is_not_the_hook(t):
    holder = as_init(t, t.holdfast, 'run', '--lost-hook', heirs(t, 0), 'job',
                     '--', *t.actor('beat'))
    t.until(lambda: t.log() or not holder.is_running(), 'the command starts')
    if holder.is_running():
        t.code(t.run('break', '--force', 'job'), 0)
    result = holder.wait()
    had_heir(t, result)
    t.code(result, 76)
    t.check('ended with exit code' not in result.err, result.err)
    t.all_gone()


if __name__ == '__main__':
    harness.main()
