# SPDX-License-Identifier: MIT
"""--fair, --shared, --slots: who gets in beside whom and in which order, and
what who and ls show of it."""
import contextlib
import os
import re
import signal

import harness
from harness import case


def waiting(t, name='job'):
    return t.json('who', name)['waiters'] or []


def queue(t, *args, name='job'):
    """A run that stands in the line when this returns."""
    process = t.start('run', '--fair', *args, name, '--',
                      *t.actor(f'say={len(t.started)}', 'exit=0'))
    t.until(lambda: process.pid in
            [one['owner']['pid'] for one in waiting(t, name)] or
            not process.is_running(), 'it stands in line')
    t.check(process.is_running(), process.err)
    return process


def said(t):
    return [line.text for line in t.log() if line.text.isdigit()]


@case
def those_who_wait_fairly_are_served_in_their_order(t):
    holder = t.hold('job')
    line = [queue(t, '--owner', f'w{i}') for i in range(5)]
    shown = waiting(t)
    t.equal([one['owner']['label'] for one in shown],
            [f'w{i}' for i in range(5)], 'who shows the line')
    t.equal([one['owner']['pid'] for one in shown], [p.pid for p in line],
            'pids')
    text = t.run('who', 'job').out
    t.check(re.search(r'waits +1\. w0 .*\n +2\. w1 ', text), text)
    holder.signal(signal.SIGTERM)
    for process in line:
        t.code(process.wait(), 0)
    order = [int(text) for text in said(t)]
    t.equal(order, sorted(order), 'served in order')
    t.equal(waiting(t), [], 'nobody is left in line')


@case
def nobody_barges(t):
    holder = t.hold('job')
    first = queue(t)
    unfair = t.start('run', 'job', '--', *t.actor('say=999', 'exit=0'))
    t.until(lambda: 'waiting' in unfair.err or 'held by' in unfair.err,
            'the other one waits')
    holder.signal(signal.SIGTERM)
    t.code(first.wait(), 0)
    t.code(unfair.wait(), 0)
    t.equal(said(t)[-1], '999', 'the one without --fair came last')


@case
def who_gives_up_or_dies_leaves_the_line(t):
    holder = t.hold('job')
    dead = queue(t)
    ended = queue(t)
    tired = queue(t, '--wait', f'{2 * harness.SLOW}s')
    last = queue(t)
    dead.signal(signal.SIGKILL)
    t.code(ended.end(), 143)
    t.code(tired.wait(), 75)
    t.until(lambda: [one['owner']['pid'] for one in waiting(t)] == [last.pid],
            'one is left in line')
    holder.signal(signal.SIGTERM)
    t.code(last.wait(), 0)


@case
def a_stopped_one_is_passed_over_and_keeps_its_place(t):
    holder = t.hold('job')
    stopped = queue(t)
    second = queue(t)
    third = queue(t, '--owner', 'third')
    # Its watcher is in the process that the tests know, or a child of it.
    group = harness.processes_with(t.mark)
    mine = [pid for pid in group
            if pid == stopped.pid or harness.parent_of(pid) == stopped.pid]
    for pid in mine:
        os.kill(pid, signal.SIGSTOP)
    # Its other threads go on until the first has heard of it.
    t.until(lambda: all(harness.is_stopped(pid) for pid in mine),
            'it is stopped')
    holder.signal(signal.SIGTERM)
    t.code(second.wait(), 0)
    t.code(third.wait(), 0)
    for pid in mine:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)  # the first may end the others
    t.code(stopped.wait(), 0)


@case
def shared_holders_stand_beside_one_another(t):
    one = t.hold('job', '--shared', '--owner', 'r1')
    two = t.hold('job', '-s', '--owner', 'r2')
    t.code(t.run('run', '--try', 'job', '--', 'true'), 75)
    shown = t.json('who', 'job')
    t.equal((shown['state'], shown['mode']), ('held', 'shared'), 'state')
    t.equal(sorted(h['owner']['label'] for h in shown['holders']),
            ['r1', 'r2'], 'holders')
    fences = {h['fence'] for h in shown['holders']}
    t.equal(len(fences), 2, 'each has a fence of its own')
    t.equal(len(t.json('ls')), 2, 'ls has an entry for each')
    writer = t.start('run', 'job', '--', *t.actor('say=7', 'exit=0'))
    t.until(lambda: len(waiting(t)) == 1, 'the writer stands in line')
    t.code(t.run('run', '-n', '-s', 'job', '--', 'true'), 75)
    one.end()
    t.check(writer.is_running(), 'one reader is left')
    two.signal(signal.SIGTERM)
    t.code(writer.wait(), 0)


@case
def slots_are_numbered_and_limited(t):
    folder = t.dir

    def take(i):
        return t.start('run', '--slots', '3', 'pool', '--', 'sh', '-c',
                       f'echo "$HOLDFAST_SLOT" >{folder}/slot{i}.tmp; '
                       f'mv {folder}/slot{i}.tmp {folder}/slot{i}; '
                       f'while [ ! -e {folder}/end{i} ]; do sleep 0.05; done')

    runs = []
    for i in range(3):
        runs.append(take(i))
        t.until(lambda: (folder / f'slot{i}').exists(), 'it has a slot')
    found = [(folder / f'slot{i}').read_text().strip() for i in range(3)]
    t.equal(found, ['0', '1', '2'], 'slots')
    t.code(t.run('run', '-n', '--slots', '3', 'pool', '--', 'true'), 75)
    result = t.run('run', '-n', '--slots', '4', 'pool', '--', 'true', code=64)
    t.says(result.err, '3', '4', 'slots')
    shown = t.json('who', 'pool')
    t.equal((shown['mode'], shown['slots'], len(shown['holders'])),
            ('slots', 3, 3), 'who')
    t.says(t.run('who', 'pool').out, 'slot 0 of 3', 'slot 2 of 3')
    (folder / 'end1').touch()
    t.code(runs[1].wait(), 0)
    again = take(3)
    t.until(lambda: (folder / 'slot3').exists(), 'a slot is free again')
    t.equal((folder / 'slot3').read_text().strip(), '1', 'the free one')
    for i in (0, 2, 3):
        (folder / f'end{i}').touch()
    for process in (runs[0], runs[2], again):
        t.code(process.wait(), 0)


@case
def one_of_several_can_be_broken(t):
    one = t.hold('job', '-s', '--owner', 'r1')
    two = t.hold('job', '-s', '--owner', 'r2')
    fence = next(h['fence'] for h in t.json('who', 'job')['holders']
                 if h['owner']['label'] == 'r1')
    t.code(t.run('break', '--fence', str(fence), 'job'), 0)
    t.code(one.wait(), 76)
    t.check(two.is_running(), 'the other one holds on')
    t.equal(len(t.json('who', 'job')['holders']), 1, 'holders')
    t.code(t.run('break', '--force', 'job'), 0)
    t.code(two.wait(), 76)


@case
def acquire_shares_and_renews_and_releases(t):
    tokens = [t.run('acquire', '--slots', '2', '--lease', '30s', 'job')
              .out.strip() for _ in range(2)]
    t.code(t.run('acquire', '-n', '--slots', '2', 'job'), 75)
    for token in tokens:
        t.code(t.run('renew', 'job', env={'HOLDFAST_TOKEN': token}), 0)
    t.code(t.run('release', 'job', env={'HOLDFAST_TOKEN': tokens[0]}), 0)
    t.code(t.run('release', 'job', env={'HOLDFAST_TOKEN': tokens[0]}), 1)
    t.equal(len(t.json('who', 'job')['holders']), 1, 'holders')
    t.code(t.run('release', 'job', env={'HOLDFAST_TOKEN': tokens[1]}), 0)


@case
def a_nested_run_knows_its_shared_lock(t):
    other = t.hold('job', '-s')
    t.code(t.run('run', '-s', 'job', '--', t.holdfast, 'run', '-s',
                 '--reentrant', 'job', '--', 'true'), 0)
    other.end()


@case
def what_contradicts_itself_is_told(t):
    for args, words in ((('-s', '--slots', '2'), ('exclude each other',)),
                        (('-s', '--min-hold', '5s'), ('--min-hold',)),
                        (('--slots', '0'), ('1 to 1024',)),
                        (('--slots', '2', '--min-hold', '1s'),
                         ('--min-hold',))):
        result = t.run('run', *args, 'job', '--', 'true', code=64)
        t.says(result.err, *words)
    url = f'file:{t.dir}/locks'
    for args, word in ((('--shared',), 'shared'), (('--slots', '2'), 'slots')):
        result = t.run('run', '--url', url, *args, 'job', '--', 'true')
        t.code(result, 77)
        t.says(result.err, word)


if __name__ == '__main__':
    harness.main()
