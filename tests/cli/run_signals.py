# SPDX-License-Identifier: MIT
"""Signals that the wrapper gets while its command runs."""
import os
import signal
import time

import harness
from harness import case

FORWARDED = ('TERM', 'INT', 'HUP', 'QUIT', 'USR1', 'USR2')


def number_of(name):
    return getattr(signal, f'SIG{name}')


def got(t, name):
    return set(t.pids(f'got {name}'))


def forward(t, names):
    """Each signal reaches the command and its own child, and ends neither;
    what holds the lock lives on."""
    words = [f'catch={name}' for name in names]
    holder = t.hold('job', words=(*words, 'fork=plain', 'beat'))
    t.until(lambda: len(set(t.pids('beat'))) == 2, 'both beat')
    both = set(t.pids('beat'))
    for name in names:
        holder.signal(number_of(name))
        t.until(lambda n=name: got(t, n) == both, f'{name} is passed on')
    t.check(holder.is_running(), 'the wrapper ended')
    t.code(t.run('who', 'job'), 0)
    return holder


@case
def term_hup_usr1_usr2_are_passed_to_the_whole_group(t):
    forward(t, ('TERM', 'HUP', 'USR1', 'USR2'))


@case
def int_quit_winch_are_passed_to_the_whole_group(t):
    forward(t, ('INT', 'QUIT', 'WINCH'))


@case
def the_command_decides_what_a_signal_means(t):
    script = 'trap "exit 7" TERM; echo up >log; while :; do sleep 0.02; done'
    runner = t.start('run', '--status-file', 'status', 'job', '--', 'sh',
                     '-c', script)
    t.until(lambda: (t.dir / 'log').exists(), 'the shell is up')
    t.code(runner.end(), 7)
    t.equal(t.status()['child_exit'], 7, 'child_exit')


@case
def a_command_that_dies_of_it_gives_128_and_the_number(t):
    for name in FORWARDED:
        runner = t.hold('job')
        runner.signal(number_of(name))
        t.code(runner.wait(), 128 + number_of(name))
        t.code(t.run('who', 'job'), 1)
    t.all_gone()


@case
def a_second_int_kills_and_then_releases(t):
    holder = t.hold('job', words=('catch=INT', 'fork=plain', 'beat'))
    t.until(lambda: len(set(t.pids('beat'))) == 2, 'both beat')
    waiter = t.next_holder('job')
    holder.signal(signal.SIGINT)
    t.until(lambda: len(got(t, 'INT')) == 2, 'the first is passed on')
    t.check(holder.is_running(), 'the first one ended it')
    result = holder.end(signal.SIGINT, code=128 + signal.SIGKILL)
    t.says(result.err, 'second')
    t.code(waiter.wait(), 0)
    t.excluded()


@case
def kill_after_ends_a_command_that_ignores_term(t):
    holder = t.hold('job', '--kill-after', '600ms', '--status-file',
                    'status', words=('ignore=TERM', 'fork=setsid', 'beat'))
    waiter = t.next_holder('job')
    before = harness.boot_ns()
    result = holder.end(code=128 + signal.SIGKILL)
    lived = (t.last_ns() - before) / 1e9
    t.soon(0.5 <= lived < 3 * harness.SLOW, f'lived {lived} s after TERM')
    t.says(result.err, '--kill-after')
    t.equal(t.status()['child_signal'], int(signal.SIGKILL), 'signal')
    t.code(waiter.wait(), 0)
    t.excluded()


@case
def without_kill_after_term_is_only_passed_on(t):
    holder = t.hold('job', words=('catch=TERM', 'beat'))
    for _ in range(3):
        count = len(t.pids('got TERM'))
        holder.signal(signal.SIGTERM)
        t.until(lambda c=count: len(t.pids('got TERM')) > c, 'TERM arrives')
    t.check(holder.is_running(), 'it ended')


@case
def a_signal_that_the_caller_ignores_stays_ignored(t):
    runner = t.spawn(['sh', '-c', 'trap "" HUP; exec "$@"', 'sh', t.holdfast,
                      'run', 'job', '--', *t.actor('beat')])
    t.until(t.log, 'the command starts')
    runner.signal(signal.SIGHUP)
    count = len(t.log())
    t.until(lambda: len(t.log()) > count + 20, 'the command goes on')
    t.check(runner.is_running(), 'HUP ended it under nohup')


@case
def the_command_has_the_callers_signal_mask(t):
    script = 'grep -E "^Sig(Blk|Ign)" /proc/self/status'
    plain = t.spawn(['sh', '-c', script]).wait().out
    t.equal(t.run('run', 'job', '--', 'sh', '-c', script).out, plain,
            'blocked and ignored signals')


@case
def a_stopped_command_keeps_its_lock(t):
    """Stopped by itself, and by what is for the whole job: who renews is
    not."""
    runner = t.hold('job', '--lease', harness.lease(3))
    command = t.command_pid()
    for pid, number in ((command, signal.SIGSTOP),
                        (runner.pid, signal.SIGTSTP)):
        os.kill(pid, number)
        t.until(lambda: harness.state_of(command) == 'T', 'the command stops')
        t.check(harness.state_of(runner.pid) != 'T', 'the wrapper is stopped')
        end = time.monotonic() + 4 * harness.SLOW
        while time.monotonic() < end:
            t.code(t.run('run', '--try', 'job', '--', 'true'), 75)
            time.sleep(0.2)
        runner.signal(signal.SIGCONT)
        t.until(lambda: harness.state_of(command) != 'T', 'CONT is passed on')
        t.check(runner.is_running(), 'it ended')
    t.code(runner.end(), 128 + signal.SIGTERM)


@case
def a_stop_right_after_going_on_is_a_stop(t):
    runner = t.hold('job')
    command = t.command_pid()
    for _ in range(100):
        for number, is_stop in ((signal.SIGTSTP, True),
                                (signal.SIGCONT, False)):
            os.kill(runner.pid, number)
            end = time.monotonic() + harness.PATIENCE
            while (harness.state_of(command) == 'T') is not is_stop:
                t.check(time.monotonic() < end, f'{number} is passed on')
                time.sleep(0.0005)
    t.code(runner.end(), 128 + signal.SIGTERM)


if __name__ == '__main__':
    harness.main()
