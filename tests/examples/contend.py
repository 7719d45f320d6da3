# SPDX-License-Identifier: MIT
"""examples/contend.c and examples/demo.sh on a store: what they print is what
they promise, and true.

    contend.py HOLDFAST CONTEND [WORD]

The store is the one of HOLDFAST_TEST_CONTEND; one on a server is named by the
program of tests/servers/ that this runs under.
"""
import os
import pathlib
import re
import signal
import socket
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'cli'))
import harness  # noqa: E402
from harness import case  # noqa: E402

STORE = os.environ['HOLDFAST_TEST_CONTEND']
SERVER = {'mysql': 'MYSQL', 'redis': 'REDIS', 'redlock': 'REDIS',
          'zookeeper': 'ZOOKEEPER'}.get(STORE)
SESSION_S = 3 * harness.SLOW
STALE_LEASE_S = 3

ATTEMPT = re.compile(
    r' *\d+\.\d\d s  (?P<who>\S+) +(?P<result>GOT IT|not got|stale) +'
    r'exclusive since \d\d:\d\d:\d\d\.\d{3}, '
    r'(?:lease (?P<lease>[\d.]+) s|while its session lives), '
    r'fence (?P<fence>\d+)\n'
    r' +by (?P<label>\S+) \(host (?P<host>\S+), pid (?P<pid>\d+), '
    r'thread (?P<tid>\d+) (?P<thread>[^)]+)\)'
    r'(?P<gone>, its process is gone)?, note: (?P<note>.+)\n')
FREE = re.compile(r' *\d+\.\d\d s  worker-\d +not got +free\n')


def fresh(t, more='prefix=cleaned'):
    """A part of the store that this case has to itself."""
    if SERVER:
        place = os.environ[f'HOLDFAST_TEST_{SERVER}_URL']
        name = t.name.replace('_', '-')
        t.url = (f'{place}/{name}?session_timeout={SESSION_S}s&{more}'
                 if STORE == 'zookeeper' else f'{place}?prefix={name}')
    else:
        t.url = {'memory': 'memory:', 'file': f'file:{t.dir}/locks',
                 'sqlite': f'sqlite:{t.dir}/locks.db'}[STORE] + '?' + more
    t.env['HOLDFAST_URL'] = t.url


def judge(t, result):
    """No load excuses these: a lock that is lost is another matter."""
    t.safe(not re.search('MISTAKE: (another one|the fence|this is not)',
                         result.out), result.out)
    t.code(result, 0)


def contend(t, *words, turns):
    """What it printed, and its pid."""
    process = t.spawn([t.actor_path, '--turns', str(turns), *words])
    result = process.wait()
    judge(t, result)
    t.equal(result.err, '', 'stderr')
    lines = result.out.splitlines()
    scheme = 'memory' if STORE == 'memory' else t.url.split(':')[0]
    t.check(re.fullmatch(rf'3 workers, one lock \(contend:1001\), store '
                         rf'{scheme}:.*', lines[0]), lines[0])
    t.check(lines[-1].endswith(
        f' s  main      the lock was held {3 * turns} times; mistakes: 0'),
        lines[-1])
    return result.out, process.pid


def check_attempts(t, out, pid, turns):
    """Who got it is in the record, who did not finds another one there."""
    told = [found.groupdict() for found in ATTEMPT.finditer(out)
            if found['who'].startswith('worker-')]
    got = [one for one in told if one['result'] == 'GOT IT']
    missed = [one for one in told if one['result'] == 'not got']
    t.equal(len(re.findall('GOT IT |not got |stale ', out)),
            len(ATTEMPT.findall(out)) + len(FREE.findall(out)),
            'attempts with a record')
    for one in told:
        t.equal((one['label'], one['host'], int(one['pid'])),
                ('contend', socket.gethostname(), pid), 'whose record')
        t.equal(one['lease'] is None, STORE == 'zookeeper', 'its lease')
        t.check(float(one['lease'] or 1) <= 10, one)
        t.check(not one['gone'], one)
    t.equal(len({int(one['tid']) for one in got} | {pid}), 4, 'threads')
    for worker in ('worker-1', 'worker-2', 'worker-3'):
        t.equal([one['note'] for one in got if one['who'] == worker],
                [f'turn {i + 1} of {turns}' for i in range(turns)], worker)
    t.check(all(one['thread'] == one['who'] for one in got), got)
    t.check(all(one['thread'] != one['who'] for one in missed), missed)
    fences = [int(one['fence']) for one in got]
    t.rising(fences)
    return fences


@case
def three_workers_have_their_turns(t):
    fresh(t)
    out, pid = contend(t, turns=2)
    check_attempts(t, out, pid, 2)
    t.equal(len(re.findall(r'\n *\d+\.\d\d s', out)),
            len(re.findall('GOT IT|not got', out)) + 1, 'other lines')


@case
def a_cleaner_counts_what_expired_while_they_contend(t):
    fresh(t)
    out, pid = contend(t, '--cleaner', turns=2)
    check_attempts(t, out, pid, 2)
    rounds = [(int(expired), int(others)) for expired, others in re.findall(
        r' s  cleaner   removed (\d+) records of expired locks, '
        r'(\d+) others\n', out)]
    if STORE == 'redlock':
        t.says(out, 'cleaner   there is nothing to clean: ')
        t.equal(rounds, [], 'rounds')
        return
    total = re.search(r' s  cleaner   in all (\d+) records of expired locks, '
                      r'(\d+) others; (\d+) were left to expire\n', out)
    t.check(total, out)
    expired, others, left = (int(word) for word in total.groups())
    t.equal((expired, others), tuple(map(sum, zip(*rounds))), 'the sum')
    t.equal(expired, left, 'those that expired')
    t.check(others >= 2 * len(rounds), rounds)
    t.equal(left == 0, STORE == 'zookeeper', 'those that were left')
    t.equal('cleaner   no lock here outlives its session' in out,
            STORE == 'zookeeper', 'what is said of sessions')


@case
def the_lock_of_a_dead_run_goes_to_the_next_and_it_is_said_why(t):
    fresh(t)
    if STORE == 'memory':
        result = t.spawn([t.actor_path, '--leave-stale']).wait(code=1)
        t.says(result.err, 'another process', 'sqlite:/tmp/locks.db')
        return
    out, pid = contend(t, '--leave-stale', turns=1)
    dead = int(re.search(r'main +pid (\d+) has the lock, and is killed\n',
                         out)[1])
    stale = next((found for found in ATTEMPT.finditer(out)
                  if found['result'] == 'stale'), None)
    t.soon(stale, f'its lease was over before it was looked at: {out}')
    t.equal((int(stale['pid']), int(stale['tid']), stale['thread'],
             stale['note']), (dead, dead, 'dead run', 'killed at work'),
            'the record of the dead')
    t.check(dead != pid and not os.path.exists(f'/proc/{dead}'), dead)
    after = re.search(r'main +the next grant, after ([\d.]+) s: (.*)\n', out)
    check_wait(t, out, stale, float(after[1]), after[2])
    next_one = next(found for found in ATTEMPT.finditer(out)
                    if found['who'] == 'main' and found['result'] == 'GOT IT')
    t.equal(next_one['note'], 'after the dead run', 'the next record')
    t.rising([int(stale['fence']), int(next_one['fence']),
              *check_attempts(t, out, pid, 1)])


def check_wait(t, out, stale, waited_s, why):
    t.equal(bool(stale['gone']), STORE in ('sqlite', 'file'), 'what it sees')
    if STORE in ('sqlite', 'file'):
        t.equal(why, 'its process is gone', 'why')
        t.says(out, 'free at once: this store sees that')
        t.soon(waited_s < STALE_LEASE_S * 2 / 3, f'{waited_s} s')
    elif STORE == 'zookeeper':
        t.equal(why, 'the server has ended its session', 'why')
        t.says(out, f'has not heard of its session for {SESSION_S}.0 s: '
               'session_timeout=')
        t.safe(waited_s > SESSION_S / 2, f'{waited_s} s')
    else:
        t.equal(why, 'its lease was over', 'why')
        t.says(out, 'free when that lease is over')
        t.safe(waited_s > float(stale['lease']) - 0.2, f'{waited_s} s')


@case
def the_demo_shows_its_job(t):
    fresh(t)
    build = pathlib.Path(t.holdfast).parent
    result = t.spawn(['sh', HERE.parent.parent / 'examples/demo.sh'],
                     env={'BUILD': str(build), 'TURNS': '1'}).wait()
    judge(t, result)
    t.says(result.out, 'holdfast check', 'the lock was held 3 times; '
           'mistakes: 0', ' --cleaner', ' --leave-stale')
    if STORE == 'memory':
        t.says(result.out, 'demo: all as expected, for a store of one process')
        return
    t.says(result.out, 'the next grant, after', 'demo:backup is held',
           'demo:report: broken', '(exit 76 of holdfast run)',
           'demo: all as expected')
    t.equal('holdfast run --lease 6s ' in result.out, STORE != 'zookeeper',
            'a lease of its own')


@case
def its_options_are_explained(t):
    t.env['HOLDFAST_URL'] = 'memory:'
    result = t.spawn([t.actor_path, '--help']).wait(code=0)
    t.says(result.out, '--turns N', '--cleaner', '--leave-stale')
    for words in (['--nonsense'], ['--turns'], ['--turns', '0'], ['--turns', '3x'],
                  ['--turns', '4294967297'], ['a', 'b']):
        wrong = t.spawn([t.actor_path, *words]).wait(code=2)
        t.equal((wrong.out, wrong.err), ('', result.out), words)
    result = t.spawn([t.actor_path, 'nonsense:']).wait(code=1)
    t.says(result.err, 'nonsense')
    result = t.spawn([t.actor_path, '--cleaner']).wait(code=1)
    t.says(result.err, '?prefix=contend')


def in_a_folder_of_its_own(t, *words):
    """As who types `contend` and no more."""
    t.env.pop('HOLDFAST_URL')
    place = t.dir / 'tmp'
    place.mkdir()
    t.env['TMPDIR'] = str(place)
    return place, t.spawn([t.actor_path, *words])


if STORE == 'sqlite':
    @case
    def without_a_store_it_makes_one_and_takes_it_away(t):
        place, process = in_a_folder_of_its_own(t, '--turns', '1', '--cleaner')
        result = process.wait()
        judge(t, result)
        t.says(result.out, f'store sqlite:{place}/holdfast-contend-')
        t.equal(list(place.iterdir()), [], 'left')

    @case
    def who_ends_it_leaves_nothing(t):
        for number in signal.SIGINT, signal.SIGTERM:
            place, process = in_a_folder_of_its_own(t, '--turns', '1000')
            t.until(lambda: 'GOT IT' in process.out, 'it runs')
            t.check(list(place.iterdir()), 'it has a folder')
            process.signal(number)
            result = process.wait(code=1)
            t.says(result.out, 'mistakes: 0')
            t.equal(list(place.iterdir()), [], 'left')
            place.rmdir()
            t.env['HOLDFAST_URL'] = t.url


if __name__ == '__main__':
    harness.main()
