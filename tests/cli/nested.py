# SPDX-License-Identifier: MIT
"""A run of NAME inside of a run of NAME: with --reentrant it passes through,
without it says so at once."""
import os
import signal

import harness
from harness import case


def inner(t, *args, name='job', command=()):
    """The words of a nested run."""
    return (t.holdfast, 'run', *args, name, '--', *command)


def carried(t, name='job', *args):
    """What the environment of a command of a run has; the run goes on."""
    holder = t.hold(name, *args)
    environ = open(f'/proc/{t.command_pid()}/environ', 'rb').read()
    pairs = [entry.decode().partition('=')[::2]
             for entry in environ.split(b'\0') if entry]
    return holder, {key: value for key, value in pairs
                    if key.startswith('HOLDFAST_')}


@case
def two_deep_it_passes_through(t):
    show = 'echo $HOLDFAST_NAME $HOLDFAST_FENCE $HOLDFAST_TOKEN; exit 7'
    deepest = inner(t, '--reentrant', command=('sh', '-c', show))
    middle = inner(t, '--reentrant', command=(
        'sh', '-c', show.replace('exit 7', '') + '"$@"', 'sh', *deepest))
    result = t.run('run', '--reentrant', 'job', '--', *middle, code=7)
    first, second = result.out.splitlines()
    t.equal(first, second, 'the environment')
    t.says(first, 'job ')
    t.equal(result.err, '', 'stderr')
    t.code(t.run('who', 'job'), 1)


@case
def the_lock_stays_held_when_the_inner_one_ends(t):
    script = '"$@"; "$0" who job >seen; "$0" run -n job -- true'
    t.run('run', 'job', '--', 'sh', '-c', script,
          *inner(t, '--reentrant', command=('true',)), code=75)
    t.says((t.dir / 'seen').read_text(), 'job is held')


@case
def without_the_option_it_is_75_at_once(t):
    result = t.run('run', 'job', '--', *inner(
        t, '--status-file', 'status', '-E', '3', command=('true',)), code=3)
    t.soon(result.seconds < 10 * harness.SLOW, 'it waited')
    t.says(result.err, 'job', '--reentrant')
    t.equal(t.status()['outcome'], 'deadlock', 'outcome')
    t.code(t.run('run', 'job', '--', *inner(t, command=('true',))), 75)


@case
def hold_and_acquire_inside_are_75_at_once(t):
    for verb in ('hold', 'acquire'):
        result = t.run('run', 'job', '--', t.holdfast, verb, 'job', code=75)
        t.equal(result.out, '', 'stdout')
        t.says(result.err, 'job', 'waits for us')
        t.code(t.run('run', 'job', '--', t.holdfast, verb, '-E', '3', 'job'),
               3)


@case
def another_name_is_an_ordinary_run(t):
    script = 'echo $HOLDFAST_NAME; "$0" who one >seen; "$0" who two >>seen'
    result = t.run('run', 'one', '--', *inner(
        t, '--reentrant', name='two', command=('sh', '-c', script,
                                               t.holdfast)), code=0)
    t.equal(result.out, 'two\n', 'name')
    t.says((t.dir / 'seen').read_text(), 'one is held', 'two is held')


@case
def a_lock_of_the_past_is_76_and_starts_nothing(t):
    holder, env = carried(t)
    holder.signal(signal.SIGKILL)
    t.all_gone()
    # The kernel closes their files a moment after they are gone from /proc.
    t.until(lambda: t.is_free() or
            'process is gone' in t.run('who', 'job').out, 'the holder is dead')
    args = ('run', '--reentrant', '--status-file', 'status', 'job', '--',
            *t.actor('say=started'))
    result = t.run(*args, env=env, code=76)
    t.says(result.err, 'job', 'no longer held')
    t.equal(t.status()['outcome'], 'lost', 'outcome')
    other = t.hold('job', '--owner', 'other')
    result = t.run(*args, env=env, code=76)
    t.says(result.err, 'other', str(other.pid))
    t.equal(t.pids('started'), [], 'started')


@case
def without_the_option_a_lock_of_the_past_is_nothing(t):
    holder, env = carried(t)
    holder.end()
    t.code(t.run('run', 'job', '--', 'true', env=env), 0)


@case
def the_same_name_in_another_store_is_another_lock(t):
    _, env = carried(t)
    env['HOLDFAST_URL'] = f'sqlite:{t.dir}/other.db'
    t.code(t.run('run', 'job', '--', 'true', env=env), 0)
    t.code(t.run('run', '--reentrant', 'job', '--', 'true', env=env), 76)


@case
def a_token_without_its_fence_is_64(t):
    _, env = carried(t)
    env['HOLDFAST_FENCE'] = None
    result = t.run('run', '--reentrant', 'job', '--', 'true', env=env, code=64)
    t.says(result.err, 'HOLDFAST_FENCE')
    t.check(env['HOLDFAST_TOKEN'] not in result.err, 'the token is shown')


@case
def under_a_token_of_acquire_nothing_is_started(t):
    shown = t.json('acquire', '--lease', '1h', 'job')
    env = {'HOLDFAST_NAME': 'job', 'HOLDFAST_TOKEN': shown['token'],
           'HOLDFAST_FENCE': str(shown['fence'])}
    args = ('--status-file', 'status', 'job', '--', *t.actor('say=started'))
    result = t.run('run', '--reentrant', *args, env=env, code=77)
    t.says(result.err, 'job', 'no enclosing run', 'without --reentrant')
    t.equal(t.status()['outcome'], 'unsafe', 'outcome')
    result = t.run('run', *args, env=env, code=75)
    t.says(result.err, 'the token in HOLDFAST_TOKEN')
    t.check('--reentrant' not in result.err, result.err)
    t.equal(t.pids('started'), [], 'started')
    t.check(env['HOLDFAST_TOKEN'] not in result.err, 'the token is shown')


@case
def a_copied_environment_is_not_inside(t):
    _, env = carried(t)
    result = t.run('run', '--reentrant', 'job', '--', *t.actor('say=started'),
                   env=env, code=77)
    t.says(result.err, 'no enclosing run')
    # The guardian of another lock would not end it either.
    copied = [f'{key}={value}' for key, value in env.items()
              if key in ('HOLDFAST_NAME', 'HOLDFAST_TOKEN', 'HOLDFAST_FENCE')]
    t.code(t.run('run', 'other', '--', 'env', *copied, *inner(
        t, '--reentrant', command=t.actor('say=started'))), 77)
    t.equal(t.pids('started'), [], 'started')


@case
def an_orphan_of_the_command_is_inside(t):
    script = '("$@"; echo $? >done.tmp; mv done.tmp done) & exit'
    script = f"sh -c '{script}' \"$@\"; until test -e done; do sleep .1; done"
    t.code(t.run('run', 'job', '--', 'sh', '-c', script, 'sh', 'sh', *inner(
        t, '--reentrant', command=t.actor('say=inside', 'exit=3'))), 0)
    t.equal((t.dir / 'done').read_text(), '3\n', 'exit')


@case
def a_loss_of_the_outer_lock_ends_the_inner_command(t):
    outer = t.start('run', '--lease', harness.lease(2), 'job', '--', *inner(
        t, '--reentrant', command=t.actor('ignore=TERM', 'beat')))
    t.until(t.log, 'the command beats')
    t.code(t.run('break', 'job', '--force'), 0)
    t.code(t.next_holder('job').wait(), 0)
    t.code(outer.wait(), 76)
    t.all_gone()


@case
def a_killed_outer_run_ends_the_inner_command(t):
    outer = t.start('run', 'job', '--', *inner(
        t, '--reentrant', command=t.actor('beat')))
    t.until(t.log, 'the command beats')
    outer.signal(signal.SIGKILL)
    t.code(t.next_holder('job').wait(), 0)
    t.excluded()
    t.all_gone()


@case
def a_signal_to_the_outer_run_comes_once(t):
    outer = t.start('run', 'job', '--', *inner(
        t, '--reentrant', command=inner(t, '--reentrant', command=t.actor(
            'catch=INT', 'catch=USR1', 'beat'))))
    t.until(t.log, 'the command beats')
    outer.signal(signal.SIGINT)
    t.until(lambda: t.pids('got INT'), 'the signal comes')
    outer.signal(signal.SIGUSR1)
    t.until(lambda: t.pids('got USR1'), 'the next comes')
    t.equal(len(t.pids('got INT')), 1, 'INT')
    t.code(outer.end(signal.SIGINT), 128 + signal.SIGKILL)


@case
def a_signal_to_the_inner_run_is_passed_on(t):
    outer = t.start('run', 'job', '--', *inner(
        t, '--reentrant', '--status-file', 'status',
        command=t.actor('catch=USR2', 'beat')))
    t.until(t.log, 'the command beats')
    nested = harness.parent_of(t.command_pid())
    os.kill(nested, signal.SIGUSR2)
    t.until(lambda: t.pids('got USR2'), 'the signal comes')
    os.kill(nested, signal.SIGTERM)
    t.code(outer.wait(), 128 + signal.SIGTERM)
    t.equal(t.status(), {'outcome': 'signaled', 'status': 143,
                         'child_exit': None, 'child_signal': 15}, 'status')


@case
def a_killed_inner_run_takes_its_command_along(t):
    outer = t.start('run', 'job', '--', *inner(
        t, '--reentrant', command=t.actor('beat')))
    t.until(t.log, 'the command beats')
    os.kill(harness.parent_of(t.command_pid()), signal.SIGKILL)
    t.code(outer.wait(), 128 + signal.SIGKILL)
    t.all_gone()


@case
def what_cannot_be_run_is_126_or_127(t):
    for command, code in ((('/none',), 127), (('/',), 126)):
        result = t.run('run', 'job', '--', *inner(
            t, '--reentrant', '--json', command=command), code=code)
        t.says(result.err, command[0], '"event":"exit"')


@case
def a_shell_line_and_other_options_work_inside(t):
    result = t.run('run', 'job', '--', *inner(
        t, '--reentrant', '-c', '--verbose', '--once-per', '1h', '--lease',
        '2s', command=('echo a | cat; exit 4',)), code=4)
    t.equal(result.out, 'a\n', 'stdout')
    t.says(result.err, 'runs under it')


@case
def a_store_that_is_down_is_69(t):
    _, env = carried(t)
    env['HOLDFAST_URL'] = \
        f'fault+{t.url}?fault=lose_request:inspect:*&{harness.io_timeout(300)}'
    t.run('run', '--reentrant', 'job', '--', *t.actor('say=started'),
          env=env, code=69)
    t.equal(t.pids('started'), [], 'started')


@case
def under_another_host_name_it_is_said_that_it_cannot_be_told(t):
    if os.geteuid():
        raise harness.Skipped('needs root')
    script = 'echo elsewhere >/proc/sys/kernel/hostname && exec "$@"'
    result = t.run('run', '--lost-exit', '9', 'job', '--', 'unshare', '--uts',
                   'sh', '-c', script, 'sh',
                   *inner(t, '--reentrant', command=('echo', 'started')))
    if 'unshare: ' in result.err or '/proc/sys' in result.err:
        raise harness.Skipped('the host may get no other name')
    t.code(result, 77)
    t.equal(result.out, '', 'stdout')
    t.says(result.err, 'job', os.uname().nodename, 'elsewhere',
           'cannot be told')
    t.check('by no enclosing run' not in result.err, result.err)


if __name__ == '__main__':
    harness.main()
