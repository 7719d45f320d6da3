#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does with_redis run a program beside one Redis or several, pass on how it
ended, and leave nothing, also when it is killed?

    with_redis_test.py WITH_REDIS
"""
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import sys

import beside
from beside import run, until


def env(name):
    return os.environ['HOLDFAST_TEST_REDIS_' + name]


def ask(line, port=None):
    """The beginning of the reply to a command; None: nobody listens."""
    try:
        with socket.create_connection(('127.0.0.1', int(port or env('PORT'))), 5) as s:
            s.sendall(line.encode() + b'\r\n')
            return s.recv(64).decode()
    except OSError:
        return None


# What the program beside the server does, by its name.
def see():
    assert ask('PING') == '+PONG\r\n'
    assert env('URL') == f'redis://127.0.0.1:{env("PORT")}/0', env('URL')
    assert pathlib.Path(env('SOCKET')).is_socket()
    assert 'redis-server' in pathlib.Path(f'/proc/{env("PID")}/cmdline').read_text()
    admin = subprocess.run(['redis-cli', '-s', env('SOCKET'), '--user', env('ADMIN'), '--pass',
                            env('ADMIN_PASSWORD'), '--no-auth-warning', 'ACL', 'WHOAMI'],
                           check=True, stdout=subprocess.PIPE, text=True)
    assert admin.stdout == 'admin\n', admin
    print(env('PID'), env('FOLDER'))
    return 42


def options():
    assert '17' in ask('CONFIG GET maxclients').split(), ask('CONFIG GET maxclients')
    assert sys.argv[3:] == ['--after'], sys.argv
    return 0


def knocks():
    assert env('URL') == f'redis://:twice@127.0.0.1:{env("PORT")}/0', env('URL')
    assert ask('PING').startswith('-NOAUTH')
    assert ask('AUTH twice') == '+OK\r\n'
    return 0


def encrypted():
    context = ssl.create_default_context(cafile=env('FOLDER') + '/tls/ca.crt')
    with socket.create_connection(('127.0.0.1', int(env('TLS_PORT'))), 5) as plain, \
            context.wrap_socket(plain, server_hostname='127.0.0.1') as s:
        s.sendall(b'PING\r\n')
        assert s.recv(64) == b'+PONG\r\n'
    return 0


def restarts(kept='$5\r\nthere\r\n'):
    assert ask('SET k there') == '+OK\r\n'
    beside.obeys(signal.SIGUSR1)
    assert until(lambda: ask('PING') is None)
    beside.obeys(signal.SIGUSR2)
    assert until(lambda: ask('PING') == '+PONG\r\n')
    assert ask('GET k') == kept, ask('GET k')
    return 0


def restarts_empty():
    return restarts('$-1\r\n')


def several():
    ports = env('PORT').split()
    assert len(set(ports)) == len(ports) == int(sys.argv[3])
    members = ','.join('127.0.0.1:' + port for port in ports)
    assert env('URL') == f'redlock://{members}/0', env('URL')
    os.kill(int(env('PID').split()[1]), signal.SIGKILL)
    assert until(lambda: ask('PING', ports[1]) is None)
    assert all(ask('PING', port) for port in ports if port != ports[1])
    beside.obeys(signal.SIGUSR2)
    assert until(lambda: ask('PING', ports[1]))
    return 0


def hangs():
    beside.hang(env('PID'), env('FOLDER'))


def dies():
    os.kill(os.getpid(), signal.SIGKILL)


# The tests, besides those of beside.py.
def test_options_go_to_the_server():
    assert run('options', '--after', before=['--maxclients=17', '--']).returncode == 0


def test_a_password_and_tls_are_there_if_wished():
    assert run('knocks', before=['--requirepass=twice']).returncode == 0
    assert run('encrypted', before=['--tls']).returncode == 0


def test_the_server_is_killed_and_started_again():
    assert run('restarts').returncode == 0
    assert run('restarts_empty', before=['--appendonly=no']).returncode == 0


def test_there_may_be_several():
    assert run('several', '5', before=['--group', '5']).returncode == 0
    assert run('several', '2', before=['--group', '2', '--appendonly=no']).returncode == 0


def test_wrong_usage_is_told():
    for wrong in (['--group', '0', 'true'], ['--group', '99', 'true'], ['--nonsense', 'true'],
                  ['--'], []):
        assert beside.wrong_usage(*wrong), wrong


# What runs the program is the same in each command.
def test_a_program_that_is_killed_shows():
    assert run('dies').returncode == 128 + signal.SIGKILL


def test_a_signal_is_passed_on():
    assert beside.ended_by(signal.SIGTERM) == 128 + signal.SIGTERM


def test_nothing_is_left_when_it_is_killed():
    assert beside.ended_by(signal.SIGKILL, ['--group', '3'], 3) == -signal.SIGKILL


if __name__ == '__main__':
    sys.exit(beside.main(globals(), (see, options, knocks, encrypted, restarts, restarts_empty,
                                     several, dies, hangs)))
