# SPDX-License-Identifier: MIT
"""--max-run, --on-lost and --lost-hook: what ends a command, what leaves it
running, and what is run when the lock is lost."""
import os
import signal
import time

import harness
from harness import case

HOOK = ('echo "$HOLDFAST_NAME|$HOLDFAST_FENCE|$HOLDFAST_LOST_REASON|'
        '$HOLDFAST_TOKEN|$HOLDFAST_FENCES" >>hook')


def deaf(t):
    """A store that grants, and then answers no renewal."""
    return (f'fault+sqlite:{t.db}?fault=lose_request:renew&'
            f'{harness.io_timeout(300)}')


def hook_lines(t):
    path = t.dir / 'hook'
    return path.read_text().splitlines() if path.exists() else []


@case
def max_run_ends_the_command_and_is_124(t):
    limit = 0.7 * harness.SLOW
    holder = t.hold('job', '--max-run', harness.lease(0.7), '--status-file',
                    'status',
                    words=('say=up', 'catch=TERM', 'pause=200', 'beat'))
    result = holder.wait(code=124)
    t.says(result.err, '--max-run', 'TERM',
           '700ms' if harness.SLOW == 1 else 's, the time')
    t.equal(t.status(), {'outcome': 'max-run', 'status': 124,
                         'child_exit': None, 'child_signal': 9}, 'status')
    lived = (t.last_ns() - t.log()[0].ns) / 1e9
    t.soon(limit + 5 - 0.3 * harness.SLOW < lived < limit + 5 +
           3 * harness.SLOW,
           f'lived {lived:.2f} s of {limit} s and a grace of 5 s')
    t.code(t.run('who', 'job'), 1)


@case
def who_obeys_the_term_of_max_run_needs_no_kill(t):
    result = t.run('run', '--max-run', '300ms', '--status-file', 'status',
                   'job', '--', 'sh', '-c',
                   'trap "exit 0" TERM; while :; do sleep 0.05; done')
    t.code(result, 124)
    t.equal(t.status()['outcome'], 'max-run', 'outcome')
    t.soon(t.status()['child_exit'] == 0, 'TERM came before its trap')
    t.soon(result.seconds < 3 * harness.SLOW, result)
    t.equal(result.err.count('holdfast: '), 1, result.err)


@case
def a_command_that_ends_before_max_run_knows_nothing_of_it(t):
    for code in (0, 124):
        result = t.run('run', '--max-run', '20s', '--status-file', 'status',
                       'job', '--', 'sh', '-c', f'exit {code}', code=code)
        t.equal((t.status()['outcome'], result.err), ('exited', ''), 'status')


@case
def max_run_ends_a_tree_and_a_stopped_command(t):
    holder = t.hold('job', '--max-run', harness.lease(0.6), '--grace',
                    '300ms', '--lease', '9s',
                    words=('fork=setsid', 'fork=daemon', 'beat'))
    t.until(lambda: len(set(t.pids('beat'))) == 3, 'all three beat')
    os.kill(t.command_pid(), signal.SIGSTOP)
    t.code(holder.wait(), 124)
    t.all_gone()


@case
def max_run_does_not_need_the_wrapper(t):
    """The one that renews is stopped, the command ends nevertheless."""
    holder = t.hold('job', '--max-run', harness.lease(0.7), '--lease', '1m',
                    words=('say=up', 'beat'))
    t.stop(holder.pid)
    since = t.log()[0].ns
    t.until(lambda: not harness.state_of(t.command_pid()), 'it ends')
    lived = (t.last_ns() - since) / 1e9
    t.soon(0.5 * harness.SLOW < lived < 2.7 * harness.SLOW,
           f'lived {lived:.2f} s')
    t.code(holder.end(signal.SIGCONT), 124)


@case
def max_run_counts_from_the_start_of_the_command(t):
    holder = t.hold('job', words=('say=up', 'pause=1200', 'exit=0'))
    result = t.run('run', '--max-run', '1s', 'job', '--', 'true', code=0)
    t.check(result.seconds > 1, 'it did not wait')
    t.code(holder.wait(), 0)


@case
def a_loss_wins_over_max_run(t):
    holder = t.hold('job', '--max-run', harness.lease(0.4), '--grace',
                    harness.lease(3), '--lease', harness.lease(9),
                    words=('catch=TERM', 'beat'))
    t.until(lambda: t.pids('got TERM'), 'max-run is over')
    t.code(t.run('break', 'job', '--force'), 0)
    t.code(holder.wait(), 76)


@case
def on_lost_kill_sends_no_term(t):
    holder = t.hold('job', '--url', deaf(t), '--lease', harness.lease(2),
                    '--on-lost', 'kill',
                    words=('say=up', 'catch=TERM', 'beat'))
    waiter = t.next_holder('job')
    t.code(holder.wait(), 76)
    t.equal(t.pids('got TERM'), [], 'TERM')
    lived = (t.last_ns() - t.log()[0].ns) / 1e9
    t.safe(lived < 2 * harness.SLOW, f'the command lived {lived:.2f} s')
    t.soon(lived > 1.2 * harness.SLOW, f'the command lived {lived:.2f} s')
    t.code(waiter.wait(), 0)
    t.excluded()


@case
def on_lost_ignore_leaves_the_command_running(t):
    holder = t.hold('job', '--url', deaf(t), '--lease', harness.lease(1),
                    '--on-lost', 'ignore', '--status-file', 'status',
                    words=('say=up', 'catch=TERM',
                           f'pause={3000 * harness.SLOW}', 'say=end',
                           'exit=0'))
    t.until(lambda: 'warning' in holder.err, 'the danger is said')
    result = holder.wait(code=76)
    t.check(t.pids('end'), 'the command was ended')
    t.equal(t.pids('got TERM'), [], 'TERM')
    t.equal(t.status(), {'outcome': 'lost', 'status': 76, 'child_exit': 0,
                         'child_signal': None}, 'status')
    t.equal(result.err.count('warning: with --on-lost ignore'), 1, result.err)
    t.equal(result.err.count('goes on without it'), 1, result.err)


@case
def on_lost_ignore_does_not_need_the_wrapper(t):
    """Stopped past the lease: the command goes on, the exit tells."""
    holder = t.hold('job', '--lease', harness.lease(1), '--on-lost', 'ignore',
                    '--lost-hook', HOOK)
    t.stop(holder.pid)
    t.code(t.next_holder('job').wait(), 0)
    t.until(lambda: hook_lines(t), 'the hook runs')
    time.sleep(0.1)
    count = len(t.log())
    t.until(lambda: len(t.log()) > count + 10, 'the command goes on')
    holder.signal(signal.SIGCONT)
    t.code(holder.end(), 76)
    t.equal(len(hook_lines(t)), 1, 'hooks')


@case
def on_lost_ignore_of_a_broken_lock(t):
    holder = t.hold('job', '--lease', harness.lease(3), '--on-lost', 'ignore')
    t.code(t.run('break', 'job', '--force'), 0)
    t.until(lambda: 'goes on without it' in holder.err, 'the loss is said')
    count = len(t.log())
    t.until(lambda: len(t.log()) > count + 10, 'the command goes on')
    t.code(holder.end(), 76)


@case
def a_killed_wrapper_ends_the_command_also_with_ignore(t):
    holder = t.hold('job', '--on-lost', 'ignore', words=('fork=setsid',
                                                        'beat'))
    t.until(lambda: len(set(t.pids('beat'))) == 2, 'both beat')
    holder.signal(signal.SIGKILL)
    t.all_gone()


@case
def the_hook_is_told_name_fence_and_reason_but_no_token(t):
    for mode in ('term', 'kill', 'ignore'):
        holder = t.hold('my job', '--lease', harness.lease(3), '--on-lost',
                        mode, '--lost-hook', HOOK)
        fence = t.json('who', 'my job')['fence']
        t.code(t.run('break', 'my job', '--force'), 0)
        t.until(lambda: hook_lines(t), 'the hook runs')
        if mode == 'ignore':
            holder.signal(signal.SIGTERM)
        t.code(holder.wait(), 76)
        t.equal(hook_lines(t), [f'my job|{fence}|broken||'], mode)
        (t.dir / 'hook').unlink()


@case
def the_hook_runs_once_and_for_an_expired_lease(t):
    for mode in ('term', 'kill', 'ignore'):
        holder = t.hold('job', '--url', deaf(t), '--lease', harness.lease(1),
                        '--on-lost', mode, '--lost-hook', HOOK)
        t.until(lambda: hook_lines(t), 'the hook runs')
        if mode == 'ignore':
            time.sleep(0.3)
            holder.signal(signal.SIGTERM)
        t.code(holder.wait(), 76)
        t.equal([line.split('|')[2] for line in hook_lines(t)], ['expired'],
                mode)
        (t.dir / 'hook').unlink()


@case
def the_hook_runs_though_the_wrapper_was_killed(t):
    holder = t.hold('job', '--lost-hook', HOOK)
    holder.signal(signal.SIGKILL)
    t.until(lambda: hook_lines(t), 'the hook runs')
    t.equal(hook_lines(t)[0].split('|')[2], 'died', 'reason')
    t.all_gone()


@case
def no_loss_no_hook(t):
    for words in (('exit=0',), ('exit=3',), ('die=KILL',)):
        t.run('run', '--lost-hook', HOOK, 'job', '--', *t.actor(*words))
    t.run('run', '--lost-hook', HOOK, '--max-run', '100ms', 'job', '--',
          'sleep', '9')
    t.hold('job')
    t.code(t.run('run', '-n', '--lost-hook', HOOK, 'job', '--', 'true'), 75)
    t.equal(hook_lines(t), [], 'hooks')


@case
def a_hook_that_hangs_delays_no_kill_and_no_next_holder(t):
    holder = t.hold('job', '--lease', harness.lease(2), '--url', deaf(t),
                    '--lost-hook', 'trap "" TERM; sleep 1000 & sleep 1000',
                    words=('ignore=TERM', 'beat'))
    waiter = t.next_holder('job')
    since = t.log()[0].ns
    t.code(waiter.wait(), 0)
    t.excluded()
    lived = (t.last_ns() - since) / 1e9
    t.safe(lived < 2 * harness.SLOW, f'the command lived {lived:.2f} s')
    result = holder.wait(20 * harness.SLOW, code=76)
    t.says(result.err, '--lost-hook did not end within 10 s')
    t.check(10 < result.seconds, f'{result.seconds} s')
    t.all_gone()


@case
def the_exit_code_of_the_hook_is_told_and_not_used(t):
    for line, said in (('exit 7', 'exit code 7'), ('kill -9 $$', 'signal 9'),
                       ('echo to stdout', 'to stdout')):
        holder = t.hold('job', '--lease', harness.lease(3), '--lost-hook',
                        line)
        t.code(t.run('break', 'job', '--force'), 0)
        result = holder.wait(code=76)
        t.says(result.err, said)
        t.equal(result.out, '', 'stdout')


@case
def the_hook_has_a_group_of_its_own_and_none_of_our_descriptors(t):
    actor = ' '.join(str(word) for word in t.actor('say=hook', 'fds'))
    holder = t.hold('job', '--lease', harness.lease(3), '--lost-hook',
                    f'ps -o pid=,pgid= -p $$ >group; {actor}')
    t.code(t.run('break', 'job', '--force'), 0)
    t.code(holder.wait(), 76)
    pid, group = (t.dir / 'group').read_text().split()
    t.equal(pid, group, 'its group')
    t.equal([line.text for line in t.log() if line.text.startswith('fds')],
            ['fds 0 1 2'], 'descriptors')


if __name__ == '__main__':
    harness.main()
