#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A holder that was stopped is refused by the guard of a key, on a real Redis:
as examples/guard_redis.sh tells it, and examples/guard.lua for each answer.

    guard_redis.py ROOT BUILD     HOLDFAST_TEST_REDIS_URL in the environment
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / 'house'))
from tap import Tap  # noqa: E402

ROOT = pathlib.Path(sys.argv[1])
BUILD = sys.argv[2]
URL = os.environ['HOLDFAST_TEST_REDIS_URL']
SCRIPT = ROOT / 'examples/guard_redis.sh'
LUA = (ROOT / 'examples/guard.lua').read_text()
TOLD = re.compile(r'''first   has the lock: pid \d+, fence (\d+); it computes
main    stops it, and who watches over it: SIGSTOP
second  has the lock: pid \d+, fence (\d+); it computes
second  writes what it has computed: 1
main    lets the first go on: SIGCONT
first   writes what it has computed: 0
first   its run ends with 76: the lock was lost
main    the key has: computed by the second
''')


def redis(*words):
    """Its answer, also where that is an error."""
    return subprocess.run(['redis-cli', '-u', URL, *words], text=True,
                          capture_output=True, check=False).stdout.strip()


def run(folder, url):
    return subprocess.run(
        [SCRIPT], capture_output=True, text=True, timeout=100, check=False,
        env={**os.environ, 'BUILD': BUILD, 'TMPDIR': folder,
             'HOLDFAST_URL': url})


def check_example(tap):
    with tempfile.TemporaryDirectory() as folder:
        ran = run(folder, URL)
        told = TOLD.fullmatch(ran.stdout)
        tap.ok(ran.returncode == 0 and told,
               'who was stopped is refused by the key',
               ran.stdout + ran.stderr)
        tap.ok(told and int(told[1]) < int(told[2]),
               'the later has the higher fence', ran.stdout)
        left = os.listdir(folder), redis('KEYS', '{example:report}:*')
        tap.ok(left == ([], ''), 'nothing is left', left)
        for url in '', 'sqlite:locks.db':
            ran = run(folder, url)
            tap.ok(ran.returncode == 1 and 'must be redis://' in ran.stderr,
                   f'it says what is wrong with "{url}"', ran)


class Guarded:
    """A key and that of its fence."""

    def __init__(self, name):
        self.keys = f'{{{name}}}:data', f'{{{name}}}:fence'

    def save(self, fence, data):
        """What the script says, and what is there then."""
        said = redis('EVAL', LUA, '2', *self.keys, str(fence), data)
        return (said, *self.look())

    def look(self):
        return tuple(redis('GET', key) for key in self.keys)


def check_fences(tap):
    key = Guarded('fences')
    for title, fence, wanted in (
            ('the first write is one', 17, ('1', 'a', '17')),
            ('the same fence may write again', 17, ('1', 'b', '17')),
            ('a lower one is refused, and nothing is changed', 16,
             ('0', 'b', '17')),
            ('one with fewer digits is lower', 9, ('0', 'b', '17')),
            ('a higher one writes', 100, ('1', 'e', '100')),
            ('the largest is exact', 2**53 - 1, ('1', 'f', '9007199254740991')),
            ('and so is the one before it', 2**53 - 2,
             ('0', 'f', '9007199254740991'))):
        said = key.save(fence, wanted[1] if wanted[0] == '1' else 'refused')
        tap.ok(said == wanted, title, said)


def check_refusals(tap):
    key = Guarded('refusals')
    key.save(17, 'a')
    for fence in 0, '', '-1', '1.5', '1e3', '0x20', ' 18', '18x', 2**53, 10**20:
        said = key.save(fence, 'x')
        tap.ok('is no fence' in said[0] and said[1:] == ('a', '17'),
               f'"{fence}" is no fence, and nothing is changed', said)
    for stored in '', 'abc', '-1', '1e9', '0x20', '17 ':
        redis('SET', key.keys[1], stored)
        before = key.look()
        said = key.save(18, 'x')
        tap.ok('is no fence' in said[0] and said[1:] == before,
               f'"{stored}" at the key of the fence is refused, and stays',
               said)
    redis('DEL', key.keys[1])
    redis('LPUSH', key.keys[1], '17')
    said = redis('EVAL', LUA, '2', *key.keys, '18', 'x')
    tap.ok('WRONGTYPE' in said and redis('GET', key.keys[0]) == 'a' and
           redis('LRANGE', key.keys[1], '0', '-1') == '17',
           'and so is a list', said)


def main():
    tap = Tap()
    check_example(tap)
    check_fences(tap)
    check_refusals(tap)
    tap.done()


main()
