# SPDX-License-Identifier: MIT
"""The command when memory runs out, and when the store fails, at every point.

The n-th allocation of the process fails (or all from the n-th on), and the
n-th call to the store goes wrong, for every n until the command succeeds.
Each time: a documented exit code, one line that says why, no process left,
no command started without the lock, no lock left behind, never two holders.

    torture.py HOLDFAST ACTOR [WORD] with TORTURE_SHIM=refuse.so

Long rows are sampled by HOLDFAST_TEST_SEED, which is printed; TORTURE_POINTS
says how many points of each.
"""
import errno
import json
import os
import random
import re
import sqlite3

import harness
from harness import case

SHIM = os.environ['TORTURE_SHIM']
SEED = int(os.environ.get('HOLDFAST_TEST_SEED', '1'))
# All of the first points of a row are tried, and so many of the others.
FIRST, OTHERS = (20, 10) if harness.SLOW > 1 else (80, 60)
OTHERS = int(os.environ.get('TORTURE_POINTS', OTHERS))

SIGNALS = ('sanitizer', 'Assertion', 'assertion', 'runtime error')


# The sanitizer wants to be first; here it is behind us. And who has no memory
# ends at once: it joins no thread.
BEHIND = {'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', '') +
          ':verify_asan_link_order=0',
          'TSAN_OPTIONS': os.environ.get('TSAN_OPTIONS', '') +
          ':report_thread_leaks=0'}


def armed(t, n, stays=False, depth=0):
    return {**BEHIND, 'REFUSE_DEPTH': str(depth),
            'LD_PRELOAD': SHIM, 'REFUSE_IN': 'holdfast', 'REFUSE_AT': str(n),
            'REFUSE_STAYS': '1' if stays else '0',
            'REFUSE_COUNT': str(t.dir / 'count')}


def count(t, args):
    """How many allocations a run makes that nothing disturbs."""
    path = t.dir / 'count'
    path.unlink(missing_ok=True)
    result = t.run(*args, env=armed(t, 0))
    return result, max(int(line) for line in path.read_text().split())


def sample(total):
    """Every n up to the total, or a part of them; and whether all later ones
    fail, too."""
    points = list(range(1, total + 4))
    others = points[FIRST:]
    if len(others) > OTHERS:
        others = sorted(random.Random(SEED).sample(others, OTHERS))
    points = points[:FIRST] + others
    print(f'# {len(points)} of {total} allocations, seed {SEED}', flush=True)
    for n in points:
        if n <= FIRST or n % 3:
            yield n, False
        if n <= FIRST or n % 3 == 0:
            yield n, True


def one_line(t, result, code, what):
    """A failure says why, in a line or a few, and nothing else breaks."""
    said = [line for line in result.err.splitlines() if line]
    t.check(said, f'{what}: exit {code} without a word')
    t.check(all(re.match(r'holdfast: ', line) for line in said),
            f'{what}: {result.err}')
    t.check(len(said) <= 4, f'{what}: {result.err}')
    t.check(not any(word in result.err for word in SIGNALS),
            f'{what}: {result.err}')


def judge(t, result, allowed, what):
    t.check(result.code in allowed,
            f'{what}: exit {result.code}, not one of {allowed}: {result.err}')
    if result.code == 71:
        t.check('out of memory' in result.err or 'a thread' in result.err,
                f'{what}: {result.err}')
    if result.code == 69 and 'allocation' in what:
        t.says(result.err, 'no thread')
    if result.code >= 64:
        one_line(t, result, result.code, what)


def is_free(t, what, name='job'):
    """Nothing is left, and the next one gets the lock at once."""
    t.all_gone()
    result = t.run('run', '--try', name, '--', 'true')
    t.check(result.code == 0, f'{what}: the lock stayed: {result.err}')


def refuse_everywhere(t, args, normal, allowed, prepare=lambda: None):
    prepare()
    result, total = count(t, args)
    t.code(result, normal)
    for n, stays in sample(total):
        what = f'{args[0]}, allocation {n}{" and later" if stays else ""}'
        prepare()
        result = t.run(*args, env=armed(t, n, stays))
        judge(t, result, {normal, 71} | allowed, what)
        yield n, result, what


@case
def who_without_memory(t):
    t.hold('job')
    for _ in refuse_everywhere(t, ['who', 'job'], 0, set()):
        pass
    for _, result, what in refuse_everywhere(t, ['who', 'job', '--json'], 0,
                                             set()):
        t.check(result.out, f'{what}: {result}')
        told = json.loads(result.out)
        t.equal(told.get('exit', 0), result.code, what)


@case
def ls_without_memory(t):
    t.hold('job')
    for _ in refuse_everywhere(t, ['ls', '--json'], 0, set()):
        pass


@case
def check_without_memory(t):
    for _ in refuse_everywhere(t, ['check'], 0, set()):
        pass


@case
def break_without_memory(t):
    """What failed broke nothing, or says so."""
    t.hold('job', '--lease', '60s')
    for _ in refuse_everywhere(t, ['break', 'job', '--fence', '1'], 1, set()):
        pass
    t.code(t.run('who', 'job'), 0)


def hold_by_hand(t):
    """A holder that nobody sees die; the row of a run that is over."""
    store = sqlite3.connect(t.db, isolation_level=None, timeout=10)
    store.execute('UPDATE holdfast_lock SET token=randomblob(16),expires=?',
                  (harness.boot_ns() // 1000 + 3600 * 1000000,))
    store.close()


def is_held_by_hand(t):
    store = sqlite3.connect(t.db, isolation_level=None, timeout=10)
    row = store.execute('SELECT token IS NOT NULL FROM holdfast_lock')
    held = row.fetchone()[0]
    store.close()
    return held


@case
def a_break_without_memory_has_broken_or_says_so(t):
    t.code(t.run('run', 'job', '--', 'true'), 0)
    for _, result, what in refuse_everywhere(
            t, ['break', 'job', '--force'], 0, set(),
            prepare=lambda: hold_by_hand(t)):
        t.check(result.code or not is_held_by_hand(t), f'{what}: not broken')


@case
def a_home_that_cannot_be_looked_up_is_not_taken_for_none(t):
    """The configuration in it may name another store."""
    for number, code in ((errno.ENOMEM, 71), (errno.EMFILE, 78),
                         (errno.EIO, 78), (0, 1), (errno.ENOENT, 1)):
        env = {**BEHIND, 'LD_PRELOAD': SHIM, 'REFUSE_HOME': str(number)}
        result = t.run('who', 'job', env=env, code=code)
        if code > 1:
            t.says(result.err, 'passwd')


def run_args(t):
    """A command that fails unless all that it is promised is there."""
    return ['run', '--lease', '3s', 'job', '--', 'sh', '-c',
            ': ${HOLDFAST_NAME:?} ${HOLDFAST_FENCES:?} ${HOLDFAST_TOKEN:?} '
            '${HOLDFAST_STORE:?} ${HOLDFAST_DEADLINE_MS:?}; '
            f'echo $HOLDFAST_FENCE >>{t.dir}/ran']


def ran(t):
    """The fences of the commands that ran."""
    path = t.dir / 'ran'
    lines = path.read_text().splitlines() if path.exists() else []
    return [int(line or 0) for line in lines]


def judge_run(t, result, before, what):
    is_free(t, what)
    fences = ran(t)
    t.safe(fences == sorted(set(fences)) and 0 not in fences,
            f'{what}: fences {fences[-3:]}')
    t.check(result.code or len(fences) > len(before), f'{what}: did not run')


@case
def run_without_memory(t):
    t.code(t.run('run', 'job', '--', 'true'), 0)
    before = []
    for _, result, what in refuse_everywhere(t, run_args(t), 0, {69, 70, 74}):
        judge_run(t, result, before, what)
        before = ran(t)


@case
def the_processes_that_a_run_forks_without_memory(t):
    for depth in (1, 2):
        for n in range(1, 30):
            before = ran(t)
            stays = n % 2 == 0
            what = f'allocation {n} of process {depth}, {stays}'
            result = t.run(*run_args(t), env=armed(t, n, stays, depth))
            judge(t, result, {0, 70, 71}, what)
            judge_run(t, result, before, what)


@case
def a_busy_run_without_memory(t):
    t.hold('job')
    args = ['run', '--wait', '20ms', 'job', '--', *t.actor('say=ran')]
    for _, _, what in refuse_everywhere(t, args, 75, {69}):
        t.safe(not t.pids('ran'), f'{what}: ran beside the holder')


KINDS = ('lose_request:any:{}', 'lose_reply:any:{}', 'die:any:{}',
         'die:any:{}-', 'delay:any:{}:30s', 'late_reply:any:{}:30s')
CALLS = 4 if harness.SLOW > 1 else 14


def faulty(t, rule):
    return (f'fault+sqlite:{t.db}?io_timeout=200ms&connect_timeout=300ms&'
            f'fault={rule}')


@case
def run_when_a_call_to_the_store_fails(t):
    for kind in KINDS:
        for n in range(1, CALLS):
            rule = kind.format(n)
            before = len(t.pids('in'))
            result = t.run('run', '--lease', '1s', '--url', faulty(t, rule),
                           'job', '--',
                           *t.actor('say=in', 'exit=0'))
            ran = len(t.pids('in')) > before
            judge(t, result, {0, 69, 74, 76}, rule)
            t.check(ran == (result.code in (0, 74, 76)), f'{rule}: exit '
                    f'{result.code}, and the command ran: {ran}')
            t.all_gone()
            free = t.run('run', '--wait', '5s', 'job', '--', 'true')
            t.check(free.code == 0, f'{rule}: the lock stayed: {free.err}')


@case
def other_verbs_when_a_call_to_the_store_fails(t):
    t.hold('other', '--lease', '60s')
    for args, normal in ((['who', 'other'], 0), (['ls'], 0), (['check'], 0),
                         (['break', 'other', '--fence', '1'], 1)):
        for kind in KINDS:
            for n in range(1, 4):
                rule = kind.format(n)
                result = t.run(*args, '--url', faulty(t, rule))
                judge(t, result, {normal, 69}, f'{args[0]}, {rule}')
    t.code(t.run('who', 'other'), 0)


if __name__ == '__main__':
    harness.main()
