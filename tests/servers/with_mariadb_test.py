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
import sys

import beside
from beside import run, until


def env(name):
    return os.environ['HOLDFAST_TEST_MYSQL_' + name]


def greeting():
    """The first bytes of the server, or None."""
    try:
        with socket.create_connection(('127.0.0.1', int(env('PORT'))), 5) as s:
            return s.recv(64)
    except OSError:
        return None


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
    beside.obeys(signal.SIGUSR1)
    assert until(lambda: greeting() is None)
    beside.obeys(signal.SIGUSR2)
    assert until(lambda: greeting() is not None)
    return 0


def hangs():
    beside.hang(env('PID'), pathlib.Path(env('SOCKET')).parent)


# The tests, besides those of beside.py.
def test_options_go_to_the_server():
    assert run('options', '--after', before=['--max-connections=17', '--']).returncode == 0


def test_the_server_is_killed_and_started_again():
    assert run('restarts').returncode == 0


def test_nothing_is_left_when_it_is_killed():
    assert beside.ended_by(signal.SIGKILL) == -signal.SIGKILL


if __name__ == '__main__':
    sys.exit(beside.main(globals(), (see, options, restarts, hangs)))
