# SPDX-License-Identifier: MIT
"""--once-per, --once-key, --retry-failed and --min-hold: what outlives the
holder."""
import os
import random
import signal
import threading
import time

import harness
from harness import case


def starts(t):
    return t.pids('start')


def once(t, *args, words=('say=start',)):
    return t.run('run', '--once-per', '1h', *args, 'job', '--',
                 *t.actor(*words))


@case
def three_hosts_in_five_periods_start_it_five_times(t):
    """As cron does it on three hosts whose clocks differ: each starts the
    job in each period, half a second early or late at most."""
    unit = 1 if harness.SLOW == 1 else 3
    period, jitter, rule = 4 * unit, 0.5 * unit, f'{2 * unit}s'
    codes = []
    began = time.monotonic() + jitter + 0.2

    def host(number):
        dice = random.Random(number)
        for i in range(5):
            at = began + i * period + dice.uniform(-jitter, jitter)
            time.sleep(max(0, at - time.monotonic()))
            process = t.start('run', '--once-per', rule, 'job', '--',
                              *t.actor('say=start', 'pause=50'))
            codes.append(process.wait().code)
    hosts = [threading.Thread(target=host, args=(n,)) for n in range(3)]
    for thread in hosts:
        thread.start()
    for thread in hosts:
        thread.join()
    t.equal(len(starts(t)), 5, 'starts')
    t.equal(sorted(codes), 5 * [0] + 10 * [75], 'exit codes')


@case
def the_mark_survives_the_release(t):
    t.code(once(t), 0)
    result = once(t, '--status-file', 'status')
    t.code(result, 75)
    t.says(result.err, '"job" has been started', 'may start again in')
    t.equal(t.status()['outcome'], 'once', 'outcome')
    t.equal(len(starts(t)), 1, 'starts')
    t.code(once(t, '-E', '0'), 0)
    t.code(once(t, '-n'), 75)
    t.equal(len(starts(t)), 1, 'starts')


@case
def the_mark_survives_sigkill_of_wrapper_and_guardian(t):
    holder = t.hold('job', '--once-per', '1h')
    guardian = t.guardian()
    os.kill(guardian, signal.SIGSTOP)
    holder.signal(signal.SIGKILL)
    os.kill(guardian, signal.SIGKILL)
    t.all_gone()
    t.code(once(t), 75)
    t.equal(starts(t), [], 'starts')


@case
def the_mark_survives_a_takeover(t):
    token = t.run('acquire', '--once-per', '1h', '--lease', '300ms',
                  'job').out
    t.check(token, 'not acquired')
    t.code(t.run('run', '-w', '20s', 'job', '--', *t.actor('say=over')), 0)
    t.equal(len(t.pids('over')), 1, 'taken over')
    t.code(once(t), 75)


@case
def the_mark_survives_a_break(t):
    holder = t.hold('job', '--once-per', '1h', '--lease', harness.lease(2))
    t.code(t.run('break', 'job', '--force'), 0)
    t.code(holder.wait(), 76)
    t.code(once(t), 75)
    t.code(t.run('run', '-n', 'job', '--', 'true'), 0)
    t.code(once(t), 75)


@case
def a_key_alone_is_once_for_ever(t):
    def keyed(key, *args):
        return t.run('run', '--once-key', key, *args, 'job', '--',
                     *t.actor('say=start'))
    t.code(keyed('v1'), 0)
    t.code(keyed('v1'), 75)
    t.code(keyed('v2'), 0)
    t.code(keyed('v2'), 75)
    t.code(keyed('v1'), 75)
    t.equal(len(starts(t)), 2, 'starts')
    t.code(t.run('run', '--once-key', 'v1', 'other', '--', 'true'), 0)


@case
def a_failed_command_keeps_the_mark(t):
    t.code(once(t, words=('say=start', 'exit=3')), 3)
    t.code(once(t), 75)
    t.equal(len(starts(t)), 1, 'starts')


@case
def with_retry_failed_a_failure_does_not_count(t):
    t.code(once(t, '--retry-failed', words=('say=start', 'exit=3')), 3)
    t.code(once(t, '--retry-failed', words=('say=start', 'die=KILL')), 137)
    t.code(t.run('run', '--once-key', 'k', '--retry-failed', 'job', '--',
                 '/none'), 127)
    t.code(t.run('run', '--once-key', 'k', '--retry-failed', 'job', '--',
                 'true'), 0)
    t.code(once(t, '--retry-failed'), 0)
    t.code(once(t, '--retry-failed'), 75)
    t.equal(len(starts(t)), 3, 'starts')


@case
def with_retry_failed_a_lost_lock_does_not_count(t):
    holder = t.hold('job', '--once-per', '1h', '--retry-failed', '--lease',
                    '2s')
    t.code(t.run('break', 'job', '--force'), 0)
    t.code(holder.wait(), 76)
    t.code(once(t), 0)


@case
def with_retry_failed_a_kill_of_holdfast_still_counts(t):
    """Nobody is left to say that it failed."""
    holder = t.hold('job', '--once-per', '1h', '--retry-failed')
    holder.signal(signal.SIGKILL)
    t.all_gone()
    t.code(once(t), 75)


@case
def a_wait_that_was_interrupted_is_no_start(t):
    holder = t.hold('job')
    waiter = t.waits('run', '--once-per', '1h', 'job', '--',
                     *t.actor('say=start'))
    t.code(waiter.end(), 143)
    holder.end()
    t.code(once(t), 0)


@case
def what_was_acquired_and_not_delivered_is_no_start(t):
    t.code(t.spawn(['sh', '-c', '"$0" acquire --once-per 1h job >/dev/full',
                    t.holdfast]).wait(), 70)
    t.code(once(t), 0)
    t.code(t.run('acquire', '--once-per', '1h', 'job'), 75)
    t.code(t.run('hold', '--once-per', '1h', 'job'), 75)


def kept_out(t, args, seconds):
    """Nobody gets it for so long, and then somebody does."""
    began = time.monotonic()
    t.code(t.run('run', '-n', 'job', '--', 'true'), 75)
    t.run('run', '-w', '30s', *args, 'job', '--', 'true', code=0)
    t.check(time.monotonic() - began > seconds, 'the next one came too early')


@case
def min_hold_keeps_the_next_one_out(t):
    t.code(t.run('run', '--min-hold', harness.lease(2), 'job', '--', 'true'),
           0)
    kept_out(t, (), 1)


@case
def min_hold_outlives_sigkill(t):
    holder = t.hold('job', '--min-hold', harness.lease(3))
    holder.signal(signal.SIGKILL)
    t.all_gone()
    kept_out(t, (), 1)


@case
def min_hold_of_acquire_outlives_release(t):
    token = t.run('acquire', '--min-hold', harness.lease(2),
                  'job').out.strip()
    t.code(t.run('release', 'job', env={'HOLDFAST_TOKEN': token}), 0)
    kept_out(t, (), 1)


@case
def a_command_that_takes_longer_waits_for_nothing(t):
    t.code(t.run('run', '--min-hold', '200ms', 'job', '--',
                 *t.actor('pause=400')), 0)
    t.code(t.run('run', '-n', 'job', '--', 'true'), 0)


@case
def a_lock_that_is_kept_closed_says_so(t):
    t.code(t.run('run', '--min-hold', '1h', 'job', '--', 'true'), 0)
    result = t.run('who', 'job', code=1)
    t.says(result.out, 'job is free, but kept closed for 59m', '--min-hold')
    shown = t.json('who', 'job')
    t.equal((shown['state'], shown['owner']), ('free', None), 'who')
    t.check(3500000 < shown['remaining_ms'] <= 3600000, shown)
    waiter = t.waits('run', 'job', '--', 'true')
    t.says(waiter.err, 'waiting for job, kept closed for 59m')
    waiter.end()
    result = t.run('run', '-w', '400ms', 'job', '--', 'true', code=75)
    t.says(result.err, 'still kept closed for 59m')
    result = t.run('run', '-n', 'job', '--', 'true', code=75)
    t.says(result.err, 'job is kept closed for 59m', 'to end that hold: '
           f'holdfast break job --fence {shown["fence"]}')


@case
def a_lock_that_is_kept_closed_is_opened_by_break(t):
    for is_exact in (False, True):
        t.code(t.run('run', '--min-hold', '1h', 'job', '--', 'true'), 0)
        fence = str(t.json('who', 'job')['fence'])
        t.code(t.run('break', 'job', '--fence', '1'), 1)
        result = t.run('break', 'job', '--stale', code=1)
        t.says(result.err, 'no holder', 'kept closed')
        t.code(t.run('run', '-n', 'job', '--', 'true'), 75)
        args = ('--fence', fence) if is_exact else ('--force',)
        result = t.run('break', 'job', *args, code=0)
        t.says(result.out, 'kept closed for 59m')
        t.code(t.run('run', '-n', 'job', '--', 'true'), 0)


@case
def what_makes_no_sense_is_64_with_the_remedy(t):
    for args, words in (
            (('--retry-failed',), ('--once-per', '--once-key')),
            (('--once-per', '0'), ('--once-per', '0')),
            (('--once-per', 'daily'), ('--once-per', '30s')),
            (('--once-key', ''), ('--once-key',)),
            (('--once-key', 'k' * 256), ('--once-key', '255')),
            (('--min-hold', 'forever'), ('--min-hold', '30s'))):
        result = t.run('run', *args, 'job', '--', 'true', code=64)
        t.says(result.err, *words)
    t.check(not t.db.exists(), 'a store was made')
    result = t.run('run', '--once-key', 'k' * 250, 'job', '--', 'true')
    t.code(result, 64)
    t.says(result.err, '250 bytes')


if __name__ == '__main__':
    harness.main()
