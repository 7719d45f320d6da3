#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""That each mutant of the table has its place in the tree, and that run.py
tells who was caught from who was not: on a small tree of its own.

    run_test.py ROOT
"""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / 'tests/house'))
from tap import Tap  # noqa: E402, found by the line above

BUILD = '''project('straw', 'c')
executable('straw', 'straw.c')
executable('holdfast', 'straw.c')
executable('cli_actor', 'straw.c')
'''
SOURCE = '''#include <stdio.h>
int main(int argc, char **argv)
{
    int sum = 1 +
              1;

    (void)argv;
    puts(argc > 1 ? "ok 1 - a # SKIP" : sum == 2 ? "ok 1 - a" : "not ok 1 - a");
    return sum == 2 || argc > 1 ? 0 : 1;
}
'''
TABLE = '''straw.c: is seen
- 1 + 1
+ 3
! straw

# A note.
straw.c: is not seen
- (void)argv;
+
! straw

straw.c: has no place
- argc
+ 0
! straw

straw.c: does not build
- sum = 1
+ sum = ;
! straw

straw.c: is skipped
- 1 + 1
+ 3
! straw --skip
'''
EXPECTED = {
    'is seen': 'caught',
    'is not seen': 'SURVIVED',
    'has no place': 'has no place',
    'does not build': 'does not build',
    'is skipped': 'its tests fail without it',
}


def run(*words):
    ran = subprocess.run([sys.executable, ROOT / 'tests/mutants/run.py', *words],
                         capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout + ran.stderr


def plant(tree, table):
    (tree / 'tests/mutants').mkdir(parents=True, exist_ok=True)
    (tree / 'build').mkdir(exist_ok=True)
    (tree / '.gitignore').write_text('/build/\n')
    (tree / 'meson.build').write_text(BUILD)
    (tree / 'straw.c').write_text(SOURCE)
    (tree / 'tests/mutants/table.txt').write_text(table)


def main():
    tap = Tap()
    code, out = run('--check', '--tree', ROOT)
    lost = [line for line in out.split('\n') if line.startswith('not ok')]
    tap.ok(code == 0 and not lost and 'ok 50 - ' in out,
           'each mutant has one place in the tree', '\n'.join(lost) or out)
    with tempfile.TemporaryDirectory() as name:
        tree = pathlib.Path(name)
        plant(tree, TABLE)
        subprocess.run(['git', 'init', '-q', tree], check=True)
        code, out = run('--tree', tree, tree / 'build')
        told = {title: f' s {result}: straw.c: {title}\n' in out
                for title, result in EXPECTED.items()}
        tap.ok(code == 1 and all(told.values()), 'each is told apart', out)
        tap.ok((tree / 'straw.c').read_text() == SOURCE,
               'the tree is left as it was')
        code, out = run('--tree', tree, tree / 'build', 'is seen')
        tap.ok(code == 0, 'nothing is wrong if all are caught', out)
        code, out = run('--tree', tree, '--seconds', '-1', tree / 'build')
        tap.ok(code == 0 and 'mutants: 0 of 5 tried' in out,
               'no longer than it may', out)
        code, out = run('--check', '--tree', tree)
        tap.ok(out.count('not ok') == 1 and 'not ok 3 - straw.c: has no' in out,
               'the check finds what has no place', out)
    tap.done()


main()
