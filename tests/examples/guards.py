#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A holder that was stopped is refused by the guard of a file, as
examples/guard_file.c tells it; and the condition of docs/reference.md, which is
for every SQL, by a database that is none of the servers'.

    guards.py ROOT GUARD_FILE
"""
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / 'house'))
from tap import Tap  # noqa: E402

ROOT = pathlib.Path(sys.argv[1])
GUARD_FILE = sys.argv[2]
TOLD = re.compile('''first   has the lock: pid (\\d+), fence (\\d+); it computes
main    stops it: SIGSTOP
second  has the lock: pid (\\d+), fence (\\d+)
second  writes: written
main    lets the first go on: SIGCONT
first   writes what it has computed: refused, its fence is late \
\\(hf_held\\(\\) now: no\\)
second  writes: written
main    the file has: computed by the second
''')


def run(folder):
    return subprocess.run([GUARD_FILE], env={**os.environ, 'TMPDIR': folder},
                          capture_output=True, text=True, timeout=50,
                          check=False)


def check_file(tap):
    with tempfile.TemporaryDirectory() as folder:
        ran = run(folder)
        told = TOLD.fullmatch(ran.stdout)
        tap.ok(ran.returncode == 0 and told,
               'who was stopped is refused by the file',
               ran.stdout + ran.stderr)
        first, low, second, high = map(int, told.groups() if told else '0000')
        tap.ok(first != second and 0 < low < high,
               'they are two processes, and the later has the higher fence',
               told)
        tap.ok(f'the fence {low} is late: a holder with {high} has come to '
               f'write {folder}/' in ran.stderr, 'it is told why',
               ran.stderr)
        tap.ok(not os.listdir(folder), 'nothing is left', os.listdir(folder))
    ran = run(folder)
    tap.ok(ran.returncode == 1 and folder in ran.stderr,
           'guard_file says what is wrong', ran)


def check_sql(tap):
    """Each write by its fence: is it refused, and what is there then?"""
    page = (ROOT / 'docs/reference.md').read_text()
    page = page[page.index('## Fences that are checked'):]
    update = re.search(r'```sql\n(.*?)```', page, re.S)[1]
    db = sqlite3.connect(':memory:')
    db.execute('CREATE TABLE job(id INT PRIMARY KEY, state TEXT,'
               'fence INT NOT NULL DEFAULT 0)')
    db.execute('INSERT INTO job(id) VALUES(1), (2)')
    went = []
    for fence, state in ((17, 'a'), (17, 'b'), (16, 'c'), (18, 'd'), (17, 'e')):
        changed = db.execute(update, {'id': 1, 'fence': fence,
                                      'state': state}).rowcount
        went.append((changed, *db.execute('SELECT state, fence FROM job '
                                          'WHERE id = 1').fetchone()))
    tap.ok(went == [(1, 'a', 17), (1, 'b', 17), (0, 'b', 17), (1, 'd', 18),
                    (0, 'd', 18)],
           'the condition of the page refuses a lower fence, and no other',
           went)
    tap.ok(db.execute('SELECT state, fence FROM job WHERE id = 2').fetchone() ==
           (None, 0), 'and changes no other row')


def main():
    tap = Tap()
    check_file(tap)
    check_sql(tap)
    tap.done()


main()
