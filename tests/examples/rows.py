#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The examples with tables of their own do what they say, on a real MariaDB or
PostgreSQL.

    rows.py GUARD TRANSFER VERSIONED     HOLDFAST_TEST_MYSQL_URL or
                                         HOLDFAST_TEST_POSTGRES_URL in the environment
"""
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / 'house'))
from tap import Tap  # noqa: E402

GUARD, TRANSFER, VERSIONED = sys.argv[1:4]
SERVER = urllib.parse.urlsplit(os.environ.get('HOLDFAST_TEST_MYSQL_URL') or
                               os.environ['HOLDFAST_TEST_POSTGRES_URL'])


def run(program, path=SERVER.path):
    password = SERVER.password or ''
    url = (f'{SERVER.scheme}://{SERVER.username}@{SERVER.hostname}:'
           f'{SERVER.port}{path}')
    return subprocess.run(
        [program, url], capture_output=True, text=True, timeout=50, check=False,
        env={**os.environ, 'MYSQL_PWD': password, 'PGPASSWORD': password})


def check(tap, program, pattern, name):
    ran = run(program)
    tap.ok(ran.returncode == 0 and re.search(pattern, ran.stdout, re.M), name,
           ran.stdout + ran.stderr)


def main():
    tap = Tap()
    check(tap, VERSIONED, r'^sold 100, left 0, sent away 20, failed 0$',
          'versioned sells what there is, and nothing twice')
    check(tap, TRANSFER, r'^transferred 100, total 1000, failed 0$',
          'transfer loses no money, and begins again after a deadlock')
    check(tap, GUARD, r'^main    stops it: SIGSTOP\n(.*\n)*'
          r'second  writes: written\n'
          r'main    lets the first go on: SIGCONT\n'
          r'first   writes what it has computed: refused.*\n'
          r'second  writes: written\n'
          r'main    the row was written 2 times',
          'guard refuses who was stopped, and only that one')
    for program in (GUARD, TRANSFER, VERSIONED):
        ran = run(program, '/nobody_made_this')
        tap.ok(ran.returncode == 1 and re.search(
            'Access denied|"nobody_made_this" does not exist', ran.stderr),
               f'{pathlib.Path(program).name} says what is wrong', ran)
    tap.done()


main()
