#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The second chance of tests that failed in a crowd, once the crowd is gone.

    again.py [--failed N] BUILD LOG

LOG is what "meson test" left in BUILD, which called N programs failed. A
test may be tried again if it failed by an ordinary expectation: the harness
marks those, and marks no crash, no hang and no EXPECT_SAFE() (t.safe() for
the command). No process of the test may have failed an assertion, and its
program must have ended otherwise as it should, without any report of a
sanitizer. Such a test is run three times, with nothing beside it, and passes
if it passes each time. A few tests may be unlucky; if it is more of them, none
is tried again.

HOLDFAST_BESIDE is a process group that is stopped meanwhile, if its leader is
there and of the same HOLDFAST_CI: its number may have become another's.

HOLDFAST_AGAIN=0 gives none at all, as tools/prove.py wants it.

Writes LOG.again for count_tap.py and exits 0 if nothing failed after all.
"""
import argparse
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys

import count_tap

MARK = '# may be tried again alone'
ASSERTION = ': assertion failed: '
RUNS = 3
MOST_PROGRAMS = 4
MOST_TESTS = 8
LIMIT_S = 600


class Refused(Exception):
    pass


def failed_tests(run):
    """The names of a program's failed tests, if each may be tried again."""
    lines = (run.get('stdout') or '').split('\n')
    results = [(at, count_tap.RESULT.match(line))
               for at, line in enumerate(lines)]
    results = [(at, found) for at, found in results if found]
    plans = [count_tap.PLAN.match(line) for line in lines]
    plans = [int(plan[1]) for plan in plans if plan]
    if run.get('returncode') != 1:
        raise Refused(f'it ended with {run.get("returncode")}')
    if plans != [len(results)]:
        raise Refused(f'{len(results)} results of {plans} tests')
    if count_tap.has_report(run):
        raise Refused('a sanitizer or memcheck reports something')
    failed = [(at, found[2].strip()) for at, found in results if found[1]]
    if not failed:
        raise Refused('no test of it failed')
    for at, name in failed:
        comments = comments_of(lines, at)
        if MARK not in comments or any(ASSERTION in line for line in comments):
            raise Refused(f'{name} failed in a way that no load excuses')
    return [name for _, name in failed]


def comments_of(lines, at):
    comments = []
    for line in lines[at + 1:]:
        if not line.startswith('#'):
            break
        comments.append(line)
    return comments


def why_of(run, name):
    lines = (run.get('stdout') or '').split('\n')
    for at, line in enumerate(lines):
        found = count_tap.RESULT.match(line)
        if found and found[1] and found[2].strip() == name:
            return [text for text in comments_of(lines, at) if text != MARK]
    return []


def passes(output, name):
    lines = output.split('\n')
    results = [found for found in map(count_tap.RESULT.match, lines) if found]
    return ('1..1' in lines and len(results) == 1 and not results[0][1]
            and not results[0][3] and results[0][2].strip() == name)


def run_alone(build, run, name):
    """What is wrong with one run of the test; nothing: ''."""
    env = {**run['env'], 'HOLDFAST_TEST_ONLY': name}
    try:
        ran = subprocess.run(run['command'], cwd=build, env=env, text=True,
                             stdin=subprocess.DEVNULL, capture_output=True,
                             errors='replace', timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return f'still running after {LIMIT_S} s'
    if (ran.returncode == 0 and passes(ran.stdout, name) and
            not count_tap.has_report(vars(ran))):
        return ''
    return f'exit {ran.returncode}\n{ran.stdout}{ran.stderr}'


def try_again(build, run, name):
    print(f'AGAIN ALONE: {run["name"]}: {name} failed in a crowd:')
    for line in why_of(run, name):
        print(f'    {line}')
    for number in range(1, RUNS + 1):
        wrong = run_alone(build, run, name)
        if wrong:
            print(f'AGAIN ALONE: {run["name"]}: {name} failed in a crowd, '
                  f'and alone (run {number} of {RUNS}): {wrong}')
            return False
    print(f'AGAIN ALONE: {run["name"]}: {name} failed in a crowd, passed '
          f'{RUNS} of {RUNS} alone', flush=True)
    return True


def is_ours(leader):
    mark = f'HOLDFAST_CI={os.environ.get("HOLDFAST_CI")}'.encode()
    try:
        environ = pathlib.Path(f'/proc/{leader}/environ').read_bytes()
        return mark in environ.split(b'\0')
    except OSError:
        return False


@contextlib.contextmanager
def nothing_beside():
    group = int(os.environ.get('HOLDFAST_BESIDE') or 0)
    stopped = group > 1 and is_ours(group)
    try:
        if stopped:
            os.killpg(group, signal.SIGSTOP)
        yield
    finally:
        if stopped:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGCONT)


def choose(failed):
    """(run, name) of what may be tried again, and whether that is all."""
    chosen = []
    is_all = True
    for run in failed:
        try:
            chosen += [(run, name) for name in failed_tests(run)]
        except Refused as reason:
            print(f'no second chance for {run["name"]}: {reason}')
            is_all = False
    if (len({run['name'] for run, _ in chosen}) > MOST_PROGRAMS or
            len(chosen) > MOST_TESTS):
        print(f'no second chance: {len(chosen)} tests failed, not a few')
        return [], False
    return chosen, is_all


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--failed', type=int)
    parser.add_argument('build')
    parser.add_argument('log')
    args = parser.parse_args()
    if os.environ.get('HOLDFAST_AGAIN') == '0':
        print('no second chance: HOLDFAST_AGAIN=0')
        sys.exit(1)
    with open(args.log, encoding='utf-8', errors='replace') as log:
        runs = [json.loads(line) for line in log]
    failed = [run for run in runs if run['result'] not in ('OK', 'SKIP')]
    chosen, is_all = choose(failed)
    passed = {}
    with nothing_beside():
        for run, name in chosen:
            if try_again(args.build, run, name):
                passed.setdefault(run['name'], []).append(name)
            else:
                is_all = False
    with open(args.log + '.again', 'w', encoding='utf-8') as again:
        json.dump(passed, again)
    is_known = args.failed in (None, len(failed))
    sys.exit(0 if is_all and is_known else 1)


if __name__ == '__main__':
    main()
