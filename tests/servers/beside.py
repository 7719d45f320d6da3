# SPDX-License-Identifier: MIT
"""What the tests of with_mariadb, with_redis and with_zookeeper share: they
run themselves beside the servers, and see what is left of all. Each has see(),
which prints a server's process and folder and gives 42, and hangs().

    NAME_test.py COMMAND                    runs the tests
    NAME_test.py --beside COMMAND WHAT …    runs beside the servers
"""
import os
import pathlib
import signal
import subprocess
import sys
import time

PATIENCE_S = 100
# Each command has servers of its own, of which nothing is left.
os.environ.pop('HOLDFAST_TEST_POOL', None)

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

def obeys(number):
    """What the program's parent is told."""
    os.kill(os.getppid(), number)

# What each program beside the servers may do.
def hang(pids, folders):
    print(pids, folders, os.getpid(), sep='\n', flush=True)
    signal.pause()

def command(*what, before=()):
    script = sys.argv[0]
    return [sys.argv[1], *before, sys.executable, script, '--beside', sys.argv[1], *what]

def run(*what, before=()):
    return subprocess.run(command(*what, before=before), check=False, stdout=subprocess.PIPE,
                          text=True, timeout=PATIENCE_S)

def wrong_usage(*options):
    """Is it told?"""
    done = subprocess.run([sys.argv[1], *options], check=False, stderr=subprocess.PIPE)
    return done.returncode == 2 and done.stderr.startswith(b'usage')

def ended_by(number, before=(), servers=1, *what):
    """The exit code, when all that was left by a signal is gone."""
    with subprocess.Popen(command(*(what or ['hangs']), before=before), stdout=subprocess.PIPE,
                          text=True) as child:
        pids = child.stdout.readline().split()
        folders = child.stdout.readline().split()
        program = child.stdout.readline().strip()
        assert len(pids) == len(folders) == servers, (pids, folders)
        assert all(runs(pid) for pid in pids) and runs(program)
        child.send_signal(number)
        code = child.wait(PATIENCE_S)
    assert until(lambda: not any(runs(pid) for pid in pids))
    assert until(lambda: not runs(program))
    assert until(lambda: not any(pathlib.Path(folder).exists() for folder in folders))
    return code

# A test that is the same for each command.
def test_the_program_finds_a_server_and_its_code_comes_through():
    done = run('see')
    assert done.returncode == 42, done
    pid, folder = done.stdout.split()
    assert not runs(pid)
    assert not pathlib.Path(folder).exists()

def run_tests(names):
    failed = 0
    tests = [(n, f) for n, f in names.items() if n.startswith('test_')]
    for number, (name, test) in enumerate(tests, 1):
        try:
            test()
            print(f'ok {number} - {name[5:]}', flush=True)
        except (AssertionError, subprocess.TimeoutExpired) as why:
            failed += 1
            print(f'not ok {number} - {name[5:]}\n# {why!r}', flush=True)
    print(f'1..{len(tests)}')
    return 1 if failed else 0

def main(names, beside):
    if sys.argv[1:2] == ['--beside']:
        del sys.argv[1]
        return {f.__name__: f for f in beside}[sys.argv[2]]()
    return run_tests({**globals(), **names})
