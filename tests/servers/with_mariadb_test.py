#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does with_mariadb run a program beside a server, pass on how it ended, and
leave nothing, also when it is killed?

    with_mariadb_test.py WITH_MARIADB
"""
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

PATIENCE_S = 50
NAMES = ('URL', 'PORT', 'PID', 'SOCKET', 'ADMIN', 'ADMIN_PASSWORD')


def env(name):
    return os.environ['HOLDFAST_TEST_MYSQL_' + name]


def greeting():
    """The first bytes of the server, or None."""
    try:
        with socket.create_connection(('127.0.0.1', int(env('PORT'))), 5) as s:
            return s.recv(64)
    except OSError:
        return None


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


# What the program beside the server does, by its name.
def see():
    assert b'MariaDB' in greeting(), greeting()
    assert env('URL').startswith(f'mysql://holdfast:knock-twice@127.0.0.1:{env("PORT")}/hf_')
    assert pathlib.Path(env('SOCKET')).is_socket()
    assert 'mariadbd' in pathlib.Path(f'/proc/{env("PID")}/cmdline').read_text()
    print(env('PID'), pathlib.Path(env('SOCKET')).parent)
    return 42


def options():
    line = pathlib.Path(f'/proc/{env("PID")}/cmdline').read_text()
    assert '--max-connections=17' in line, line
    assert sys.argv[3:] == ['--after'], sys.argv
    return 0


def restarts():
    os.kill(os.getppid(), signal.SIGUSR1)
    assert until(lambda: greeting() is None)
    os.kill(os.getppid(), signal.SIGUSR2)
    assert until(lambda: greeting() is not None)
    return 0


def hangs():
    print(env('PID'), pathlib.Path(env('SOCKET')).parent, os.getpid(), flush=True)
    signal.pause()


def dies():
    os.kill(os.getpid(), signal.SIGKILL)


BESIDE = {f.__name__: f for f in (see, options, restarts, hangs, dies)}


# The tests.
def command(*what, before=()):
    return [sys.argv[1], *before, sys.executable, __file__, sys.argv[1], *what]


def run(*what, before=()):
    return subprocess.run(command('--beside', *what, before=before), check=False,
                          stdout=subprocess.PIPE, text=True, timeout=PATIENCE_S)


def test_the_program_finds_a_server_and_its_code_comes_through():
    done = run('see')
    assert done.returncode == 42, done
    pid, folder = done.stdout.split()
    assert not runs(pid)
    assert not pathlib.Path(folder).exists()


def test_options_go_to_the_server():
    assert run('options', '--after', before=['--max-connections=17', '--']).returncode == 0


def test_the_server_is_killed_and_started_again():
    assert run('restarts').returncode == 0


def test_a_program_that_is_killed_shows():
    assert run('dies').returncode == 128 + signal.SIGKILL


def ended_by(number):
    with subprocess.Popen(command('--beside', 'hangs'), stdout=subprocess.PIPE,
                          text=True) as child:
        pid, folder, program = child.stdout.readline().split()
        assert runs(pid) and runs(program)
        child.send_signal(number)
        code = child.wait(PATIENCE_S)
    assert until(lambda: not runs(pid))
    assert until(lambda: not runs(program))
    assert until(lambda: not pathlib.Path(folder).exists())
    return code


def test_a_signal_is_passed_on():
    assert ended_by(signal.SIGTERM) == 128 + signal.SIGTERM


def test_nothing_is_left_when_it_is_killed():
    assert ended_by(signal.SIGKILL) == -signal.SIGKILL


def main():
    failed = 0
    tests = [(n, f) for n, f in globals().items() if n.startswith('test_')]
    for number, (name, test) in enumerate(tests, 1):
        try:
            test()
            print(f'ok {number} - {name[5:]}', flush=True)
        except (AssertionError, subprocess.TimeoutExpired) as why:
            failed += 1
            print(f'not ok {number} - {name[5:]}\n# {why!r}', flush=True)
    print(f'1..{len(tests)}')
    return 1 if failed else 0


if __name__ == '__main__':
    if sys.argv[2:3] == ['--beside']:
        del sys.argv[2]
        sys.exit(BESIDE[sys.argv[2]]())
    sys.exit(main())
