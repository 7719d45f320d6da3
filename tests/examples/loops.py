#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The examples with a loop of their own do what they say, over each store.

    loops.py EVENTLOOP EVENTLOOP_UV     the second is '' without libuv
"""
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / 'house'))
from tap import Tap  # noqa: E402

EVENTLOOP, EVENTLOOP_UV = sys.argv[1:3]


def run(program, url):
    return subprocess.run([program, url], capture_output=True, text=True,
                          timeout=50, check=False)


def check_requests(tap, url):
    ran = run(EVENTLOOP, url)
    lines = ran.stdout.splitlines()
    works = [line for line in lines if 'works on account' in line]
    done = [line for line in lines if line.endswith(': done')]
    tap.ok(ran.returncode == 0 and len(works) == len(done) == 12 and
           lines[-1] == 'unfinished: 0, mistakes: 0',
           f'eventloop serves all requests ({url.split(":")[0]})',
           ran.stdout + ran.stderr)
    for account in range(3):
        fences = [int(found[1]) for found in (
            re.search(rf'account {account}, fence (\d+)', line)
            for line in works) if found]
        tap.ok(len(fences) == 4 and fences == sorted(set(fences)),
               f'the fences of account {account} rise', fences)


def check_uv(tap, url):
    name = f'libuv and holdfast share a loop ({url.split(":")[0]})'
    if not EVENTLOOP_UV:
        tap.skip(name, 'libuv was not found')
        return
    ran = run(EVENTLOOP_UV, url)
    released = ran.stdout.count(': released')
    tap.ok(ran.returncode == 0 and released == 3 and
           'waited in vain: the wait for "report" was cancelled' in ran.stdout
           and 'went on: yes; mistakes: 0' in ran.stdout,
           name, ran.stdout + ran.stderr)


def check_refusal(tap):
    for program in filter(None, (EVENTLOOP, EVENTLOOP_UV)):
        ran = run(program, 'nonsense:')
        tap.ok(ran.returncode == 1 and 'nonsense' in ran.stderr,
               f'{pathlib.Path(program).name} says what is wrong', ran)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        for url in ('memory:', f'sqlite:{folder}/locks.db',
                    f'file:{folder}/locks'):
            check_requests(tap, url)
            check_uv(tap, url)
    check_refusal(tap)
    tap.done()


main()
