#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Proves tools/prove.py, on a gate of straw: what it tells of each run, and
that it ends what it started.

    prove.py ROOT
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from tap import Tap

ROOT = pathlib.Path(sys.argv[1])
# Passes at its first run and fails at its second; the third sleeps.
GATE = """#!/bin/sh
cd "$(dirname "$0")" || exit
loops() { ps -eo args | grep -c '^sh -c while :'; }
i=0
while [ "$(loops)" -lt 2 ] && [ $((i += 1)) -lt 100 ]; do sleep 0.1; done
echo "again=$HOLDFAST_AGAIN loops=$(loops)"
echo run >>runs
echo '=== gcc: make test'
case $(wc -l <runs) in
1) echo '=== gcc: make test: ok, 90 s' ;;
2) echo 'FAILED  program: a test'
   echo '=== gcc: make test: FAILED after 120 s' ;;
*) sleep 60 ;;
esac
echo '=== all, 150 s'
echo '7 passed, 0 failed, 0 skipped'
[ "$(wc -l <runs)" = 1 ]
"""
TABLE = """\
run 1: 7 passed, 0 failed, 0 skipped
run 2: 7 passed, 0 failed, 0 skipped
    FAILED  program: a test
gcc: make test   1.5    2.0!
all              2.5    2.5 
"""


def left_of(mark, what=b''):
    """The processes with the mark in their environment and that command."""
    left = []
    for path in pathlib.Path('/proc').glob('[0-9]*'):
        try:
            if (mark in (path / 'environ').read_bytes() and
                    what in (path / 'cmdline').read_bytes()):
                left.append(int(path.name))
        except OSError:
            pass
    return left


def wait_for(wish):
    """Whether it came true within half a minute."""
    until = time.monotonic() + 30
    while not wish() and time.monotonic() < until:
        time.sleep(0.05)
    return wish()


def check_end(tap, command, number, what):
    mark = os.urandom(8).hex()
    with subprocess.Popen(command, env={**os.environ, 'PROVED_BY': mark},
                          stdout=subprocess.DEVNULL) as proof:
        ran = wait_for(lambda: left_of(mark.encode(), b'while :') and
                       left_of(mark.encode(), b'sleep'))
        proof.send_signal(number)
        proof.wait()
    gone = wait_for(lambda: not left_of(mark.encode(), what))
    tap.ok(ran and gone, f'{number.name} ends what it started', (ran, gone))
    for pid in left_of(mark.encode()):
        os.kill(pid, signal.SIGKILL)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / 'tools').mkdir()
        (folder / '.ci').mkdir()
        tool = shutil.copy(ROOT / 'tools/prove.py', folder / 'tools')
        (folder / '.ci/run').write_text(GATE)
        (folder / '.ci/run').chmod(0o755)
        command = [sys.executable, tool, '--loops', '2']
        ran = subprocess.run([*command, '2'],
                             capture_output=True, text=True, check=False)
        said = ''.join(ran.stdout.splitlines(True)[2:])
        tap.ok(ran.returncode == 1 and said == TABLE,
               'each run is told, and its minutes', ran.stdout + ran.stderr)
        log = (folder / 'build-prove/run-1.log').read_text()
        words = dict(word.split('=') for word in log.split('\n')[0].split())
        tap.ok(words['again'] == '0' and int(words['loops']) >= 2,
               'loops ran beside it, without a second chance', log)
        check_end(tap, [*command, '1'], signal.SIGTERM, b'')
        check_end(tap, [*command, '1'], signal.SIGKILL, b'while :')
    tap.done()


main()
