#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Adds up the TAP results in the logs of "meson test".

    count_tap.py [--total] [--passed N] [--failed N] LOG...

Shows what failed and what was skipped, unless --total, and then
"N do not apply", of which a store lacks what they are about, so that they are
in no other number, "N passed when tried again alone", which are among those of
the last line, "N passed, N failed, N skipped". More passed and failed ones can
be added.

A test that one log has as skipped and another as passed, as when root and
another user run the same, is not skipped.

A program that ended badly, or without all the tests it announced, or in whose
output memcheck or a sanitizer reports anything, is one failed test more. What
again.py saw pass in LOG.again counts as passed. Exits 1 if anything failed or
nothing ran.
"""
import argparse
import json
import re
import sys

RESULT = re.compile(r'(not )?ok\b\s*\d*\s*-?\s*([^#]*)(#\s*skip\b.*)?', re.I)
# The leak checker says of a thread that just ends that it can't look at it.
REPORT = re.compile(r'^(# *)?==\d+==(?!Unable to get registers )|(WARNING|ERROR|SUMMARY): \w+Sanitizer|'
                    r'^(# *)?\S+:\d+:\d+: runtime error: ', re.M)
UNFIT = re.compile(r'# SKIP does not apply: ')
PLAN = re.compile(r'1\.\.(\d+)')


def has_report(run):
    return REPORT.search((run.get('stdout') or '') + '\n' +
                         (run.get('stderr') or ''))


class Count:
    def __init__(self, passed, failed, show):
        self.passed = passed
        self.failed = failed
        self.show = print if show else lambda *_: None
        self.unfit = 0
        self.ran = set()
        self.missed = []
        self.forgiven = 0
        self.again = {}

    def program(self, run):
        """Counts one program's run, a line of testlog.json."""
        lines = (run.get('stdout') or '').split('\n')
        planned = None
        seen = 0
        failures = 0
        forgiven = 0
        for number, line in enumerate(lines):
            plan = PLAN.match(line)
            planned = int(plan[1]) if plan else planned
            result = RESULT.match(line)
            if not result:
                continue
            seen += 1
            where = f'{run["name"]}: {result[2].strip()}'
            if result[1] and result[2].strip() in self.again.get(run['name'],
                                                                 ()):
                forgiven += 1
            elif result[1]:
                failures += 1
                self.show(f'FAILED  {where}')
                self.show_comments(lines[number + 1:])
            elif UNFIT.match(result[3] or ''):
                self.unfit += 1
            elif result[3]:
                self.missed.append(where)
                self.show(f'SKIPPED {where} {result[3]}')
            else:
                self.passed += 1
                self.ran.add(where)
        ended_well = run['result'] in ('OK', 'SKIP') or forgiven
        if not failures and (not ended_well or planned != seen or
                             has_report(run)):
            failures = 1
            self.show(f'FAILED  {run["name"]}: {run["result"]}, {seen} of '
                  f'{planned} tests')
            self.show((run.get('stdout') or '')[-2000:])
            self.show((run.get('stderr') or '')[-4000:])
        self.failed += failures
        self.passed += forgiven
        self.forgiven += forgiven

    def skipped_everywhere(self):
        return sum(where not in self.ran for where in self.missed)

    def show_comments(self, lines):
        for line in lines:
            if not line.startswith('#'):
                return
            self.show('    ' + line)


def again_of(path):
    try:
        with open(path + '.again', encoding='utf-8') as again:
            return json.load(again)
    except FileNotFoundError:
        return {}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--total', action='store_true')
    parser.add_argument('--passed', type=int, default=0)
    parser.add_argument('--failed', type=int, default=0)
    parser.add_argument('logs', nargs='+')
    args = parser.parse_args()
    count = Count(args.passed, args.failed, show=not args.total)
    for path in args.logs:
        count.again = again_of(path)
        try:
            with open(path, encoding='utf-8', errors='replace') as log:
                for line in log:
                    count.program(json.loads(line))
        except FileNotFoundError:
            count.failed += 1
            count.show(f'FAILED  {path}: the tests did not run')
    print(f'{count.unfit} do not apply')
    print(f'{count.forgiven} passed when tried again alone')
    print(f'{count.passed} passed, {count.failed} failed, '
          f'{count.skipped_everywhere()} skipped')
    sys.exit(0 if count.passed and not count.failed else 1)


if __name__ == '__main__':
    main()
