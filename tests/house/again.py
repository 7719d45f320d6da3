#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Proves tools/again.py: who gets a second chance, who must use it three
times, and who gets none. The programs are small scripts; that the harnesses
mark the right failures is proved in tests/unit/marks.py and
tests/cli/patience.py.

    again.py ROOT
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from tap import Tap

ROOT = pathlib.Path(sys.argv[1])
MARK = '# may be tried again alone\n'
FAILED = '1..2\nok 1 - good\nnot ok 2 - bad test\n' + MARK + '#   why\n'
# Fails at its N-th run alone; N is its first argument.
PROGRAM = '''\
import os, pathlib, sys
assert os.environ['FROM_THE_LOG'] == 'yes'
name = os.environ['HOLDFAST_TEST_ONLY']
runs = pathlib.Path('runs')
runs.write_text((runs.read_text() if runs.exists() else '') + name + '\\n')
fails = len(runs.read_text().splitlines()) == int(sys.argv[1])
print('1..1')
print('not ok 1 -' if fails else 'ok 1 -', name, *sys.argv[2:])
sys.exit(1 if fails else 0)
'''


class Bench:
    """A build folder with a log."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.log = self.folder / 'log.json'

    def program(self, *words, name='suite / program', **run):
        return {'name': name, 'stdout': FAILED, 'result': 'ERROR',
                'returncode': 1, 'env': {**os.environ, 'FROM_THE_LOG': 'yes'},
                'command': [sys.executable, '-c', PROGRAM, *words], **run}

    def again(self, *runs, failed=None):
        (self.folder / 'runs').unlink(missing_ok=True)
        self.log.write_text(''.join(json.dumps(run) + '\n' for run in runs))
        ran = subprocess.run(
            [sys.executable, ROOT / 'tools/again.py', '--failed',
             str(len(runs) if failed is None else failed), self.folder,
             self.log], capture_output=True, text=True, check=False)
        return ran.returncode, ran.stdout + ran.stderr

    def count(self):
        ran = subprocess.run(
            [sys.executable, ROOT / 'tools/count_tap.py', self.log],
            capture_output=True, text=True, check=False)
        again, total = ran.stdout.splitlines()[-2:]
        self.forgiven = again
        return ran.returncode, total

    def alone(self):
        path = self.folder / 'runs'
        return path.read_text().splitlines() if path.exists() else []


def check_chance(tap, bench):
    code, out = bench.again(bench.program('0'))
    tap.ok(code == 0 and bench.alone() == ['bad test'] * 3 and
           'bad test failed in a crowd, passed 3 of 3 alone' in out and
           '#   why' in out, 'what passes three times alone has passed', out)
    tap.ok(bench.count() == (0, '2 passed, 0 failed, 0 skipped'),
           'it is counted once', bench.count())
    tap.ok(bench.forgiven == '1 passed when tried again alone',
           'it is counted as one that was tried again', bench.forgiven)
    for at in '123':
        code, out = bench.again(bench.program(at))
        tap.ok(code == 1 and bench.alone() == ['bad test'] * int(at) and
               bench.count() == (1, '1 passed, 1 failed, 0 skipped'),
               f'what fails at its run {at} alone has failed', out)
    two = FAILED.replace('1..2', '1..3') + 'not ok 3 - worse\n' + MARK
    code, out = bench.again(bench.program('4', stdout=two))
    tap.ok(code == 1 and bench.alone() == ['bad test'] * 3 + ['worse'] and
           bench.count() == (1, '2 passed, 1 failed, 0 skipped'),
           'of two that failed, each has to pass', out)
    code, out = bench.again(bench.program('0', '# SKIP no server'))
    tap.ok(code == 1, 'a skip alone is no success', out)


def check_none(tap, bench):
    report = '==7==ERROR: AddressSanitizer: x\n'
    for what, run in {
            'a failure without the mark': {
                'stdout': FAILED.replace(MARK, '')},
            'a mark of another test': {
                'stdout': '1..2\nnot ok 1 - bad\nok 2 - b\n' + MARK},
            'a mark in what a test printed': {
                'stdout': FAILED.replace(MARK, '#   ' + MARK)},
            'two failures, one without the mark': {
                'stdout': FAILED.replace('ok 1', 'not ok 1')},
            'a program that was killed': {'returncode': -9},
            'a program that ended as memcheck lets it': {'returncode': 99},
            'too few tests': {'stdout': FAILED.replace('1..2', '1..3')},
            'no plan': {'stdout': FAILED.replace('1..2\n', '')},
            'a program that failed without a test': {
                'stdout': '1..1\nok 1 - a\n'},
            'a time out': {'result': 'TIMEOUT', 'returncode': -15},
            'a report in stderr': {'stderr': report},
            'a report in stdout': {'stdout': FAILED + '# ' + report},
            'a race': {'stdout': FAILED +
                       '#   WARNING: ThreadSanitizer: data race (pid=7)\n'},
            'an assertion of a process of the test': {
                'stdout': FAILED +
                '#   holdfast: a.c:1: assertion failed: x\n'},
            'undefined behaviour': {
                'stdout': FAILED + '#   a.c:1:2: runtime error: x\n'},
    }.items():
        code, out = bench.again(bench.program('0', **run))
        tap.ok(code == 1 and not bench.alone() and bench.count()[0] == 1,
               f'no second chance for {what}', out)


def check_many(tap, bench):
    runs = [bench.program('0', name=f'program {i}') for i in range(5)]
    code, out = bench.again(*runs)
    tap.ok(code == 1 and not bench.alone() and 'not a few' in out,
           'five programs that failed are no accident', out)
    code, out = bench.again(*runs[:4])
    tap.ok(code == 0 and len(bench.alone()) == 12, 'four may be', out)
    code, out = bench.again(runs[0], bench.program('0', returncode=-11))
    tap.ok(code == 1 and len(bench.alone()) == 3 and
           bench.count()[0] == 1, 'a crash beside it stays one', out)
    code, out = bench.again(runs[0], failed=2)
    tap.ok(code == 1, 'a failure that is not in the log is one', out)
    os.environ['HOLDFAST_AGAIN'] = '0'
    code, out = bench.again(runs[0])
    del os.environ['HOLDFAST_AGAIN']
    tap.ok(code == 1 and not bench.alone(), 'none if that is wished', out)


def check_beside(tap, bench):
    look = ('import os, pathlib, sys\n'
            'state = pathlib.Path("/proc", sys.argv[1], "stat").read_text()\n'
            'print("1..1\\nok 1 -" if state.rpartition(")")[2].split()[0] =='
            ' "T" else "not ok 1 -", os.environ["HOLDFAST_TEST_ONLY"])')
    os.environ['HOLDFAST_CI'] = 'this one'
    with subprocess.Popen(['sleep', '60'], start_new_session=True) as other:
        os.environ['HOLDFAST_BESIDE'] = str(other.pid)
        run = bench.program()
        run['command'] = [sys.executable, '-c', look, str(other.pid)]
        code, out = bench.again(run)
        stat = pathlib.Path(f'/proc/{other.pid}/stat').read_text()
        os.environ['HOLDFAST_CI'] = 'another'
        foreign = bench.again(run)
        other.kill()
    del os.environ['HOLDFAST_BESIDE'], os.environ['HOLDFAST_CI']
    tap.ok(code == 0 and stat.rpartition(')')[2].split()[0] != 'T',
           'what runs beside is stopped meanwhile, and goes on', out)
    tap.ok(foreign[0] == 1, 'what is not of this CI is not stopped', foreign)


def main():
    tap = Tap()
    for name in ('HOLDFAST_BESIDE', 'HOLDFAST_AGAIN'):
        os.environ.pop(name, None)  # of the CI that runs this
    with tempfile.TemporaryDirectory() as folder:
        for check in (check_chance, check_none, check_many, check_beside):
            check(tap, Bench(folder))
    tap.done()


main()
