#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do with_mariadb, with_postgres, with_redis and with_zookeeper run a program
beside their servers, pass on how it ended, and leave nothing, also when they are killed?
That the servers serve and are killed and started again, the command's tests
see, which run beside them.

    with_test.py COMMAND STORE [OPTION]...
"""
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / 'house'))
from tap import Tap  # noqa: E402

PATIENCE_S = 100
COMMAND, STORE, *OPTIONS = sys.argv[1:]
# Each has servers of its own, of which nothing is left.
os.environ.pop('HOLDFAST_TEST_POOL', None)
# The servers and their folders, and the program itself.
TELL = (f'echo $HOLDFAST_TEST_{STORE}_PID; '
        f'echo ${{HOLDFAST_TEST_{STORE}_FOLDER:-${{HOLDFAST_TEST_{STORE}_SOCKET%/*}}}}; echo $$; ')


def until(condition):
    end = time.monotonic() + PATIENCE_S
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(condition())


def runs(pid):
    try:
        return '\nState:\tZ' not in pathlib.Path(f'/proc/{pid}/status').read_text()
    except OSError:
        return False


def ended_by(number, then):
    """The exit code, when all that was there is gone."""
    with subprocess.Popen([COMMAND, *OPTIONS, '--', 'sh', '-c', TELL + then], text=True,
                          stdout=subprocess.PIPE) as child:
        pids, folders, program = (child.stdout.readline().split() for _ in range(3))
        assert pids and len(pids) == len(folders), (pids, folders)
        if number:
            assert all(map(runs, pids + program))
            child.send_signal(number)
        code = child.wait(PATIENCE_S)
    assert until(lambda: not any(map(runs, pids + program)))
    assert until(lambda: not any(pathlib.Path(folder).exists() for folder in folders))
    return code


def test_the_exit_code_comes_through():
    assert ended_by(0, 'exit 42') == 42
    assert ended_by(0, 'kill -KILL $$') == 128 + signal.SIGKILL


def test_a_signal_is_passed_on():
    assert ended_by(signal.SIGTERM, 'exec sleep 1000') == 128 + signal.SIGTERM


def test_nothing_is_left_when_it_is_killed():
    assert ended_by(signal.SIGKILL, 'exec sleep 1000') == -signal.SIGKILL


# By a part of it that is looked for in PATH only.
if STORE == 'ZOOKEEPER':
    def test_without_a_server_all_is_skipped_and_in_ci_that_fails():
        for more, code, said in (({}, 0, '1..0 # SKIP '), ({'CI': 'true'}, 1, 'Bail out! ')):
            done = subprocess.run([COMMAND, '--', 'true'], check=False, stdout=subprocess.PIPE,
                                  text=True, env={'PATH': '/nonexistent', **more})
            assert done.returncode == code and done.stdout.startswith(said), done


tap = Tap()
for name, test in list(globals().items()):
    if name.startswith('test_'):
        why = ''
        try:
            test()
        except (AssertionError, subprocess.TimeoutExpired) as failure:
            why = repr(failure)
        tap.ok(not why, name[5:], why)
tap.done()
