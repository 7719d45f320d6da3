#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the whole gate several times in a row, beside programs that only
compute, and without a second chance: no test may fail because the machine is
busy.

    prove.py [--loops N] [--logs FOLDER] [RUNS]     (4, build-prove, 3)
    prove.py --read LOG...

Prints what failed in each run, and the minutes of each phase side by side, of
one that failed with a "!"; "--loops 0 1" says what the gate takes on a quiet
machine. --read prints the same of logs of .ci/run. Exits 1 if a run failed.
Who ends this ends the gate and the loops; the loops also who kills it.
"""
import argparse
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PHASE = re.compile(r'=== (.*?)(?:: (ok,|FAILED after)|,) (\d+) s\b')
BAD = re.compile(r'FAILED  |failed step: |AGAIN ALONE: |no second chance')
TOTAL = re.compile(r'\d+ passed, \d+ failed, \d+ skipped$')
# Dies with us, also of what cannot be caught.
LOOP = ['setpriv', '--pdeathsig', 'KILL', 'sh', '-c', 'while :; do :; done']
PATIENCE_S = 60


class Run:
    """What the log of one run says."""

    def __init__(self, path):
        self.phases = {}
        self.bad = []
        self.total = 'did not end'
        for line in path.read_text(errors='replace').splitlines():
            phase = PHASE.match(line)
            if phase:
                mark = '!' if phase[2] == 'FAILED after' else ' '
                self.phases[phase[1]] = f'{int(phase[3]) / 60:6.1f}{mark}'
            elif BAD.match(line):
                self.bad.append(line)
            elif TOTAL.match(line):
                self.total = line


def show(runs):
    for number, run in enumerate(runs, 1):
        print(f'run {number}: {run.total}')
        for line in run.bad:
            print(f'    {line}')
    names = dict.fromkeys(name for run in runs for name in run.phases)
    names = sorted(names, key='all'.__eq__)
    width = max(map(len, names), default=0)
    for name in names:
        minutes = ''.join(run.phases.get(name, '     – ') for run in runs)
        print(f'{name:{width}}{minutes}')


def end(process):
    """Ends the process and its group: asked first, so that it can clean up."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE_S)
            return


@contextlib.contextmanager
def started(command, **how):
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                               start_new_session=True, **how)
    try:
        yield process
    finally:
        end(process)


def run_gate(path):
    env = {**os.environ, 'HOLDFAST_AGAIN': '0'}
    with path.open('w') as log, started(
            [ROOT / '.ci/run'], stdout=log, stderr=subprocess.STDOUT,
            env=env) as gate:
        return gate.wait()


def prove(args):
    args.logs.mkdir(parents=True, exist_ok=True)
    logs = [args.logs / f'run-{number}.log'
            for number in range(1, args.runs + 1)]
    codes = []
    with contextlib.ExitStack() as stack:
        for _ in range(args.loops):
            stack.enter_context(started(LOOP))
        for log in logs:
            print(f'{time.strftime("%H:%M")} {log}', flush=True)
            codes.append(run_gate(log))
    show([Run(log) for log in logs])
    return any(codes)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--loops', type=int, default=4)
    parser.add_argument('--logs', type=pathlib.Path,
                        default=ROOT / 'build-prove')
    parser.add_argument('--read', type=pathlib.Path, nargs='+')
    parser.add_argument('runs', type=int, nargs='?', default=3)
    args = parser.parse_args()
    if args.read:
        show([Run(log) for log in args.read])
        return
    # An end by a signal is an end by an exception, which ends the others.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    sys.exit(prove(args))


if __name__ == '__main__':
    main()
