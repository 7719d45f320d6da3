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
import time

PATIENCE_S = 50


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
    os.kill(os.getppid(), signal.SIGUSR1)
    assert until(lambda: ask('PING') is None)
    os.kill(os.getppid(), signal.SIGUSR2)
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
    os.kill(os.getppid(), signal.SIGUSR2)
    assert until(lambda: ask('PING', ports[1]))
    return 0


def hangs():
    print(env('PID'), env('FOLDER'), os.getpid(), sep='\n', flush=True)
    signal.pause()


def dies():
    os.kill(os.getpid(), signal.SIGKILL)


BESIDE = {f.__name__: f for f in (see, options, knocks, encrypted, restarts, restarts_empty,
                                  several, hangs, dies)}


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
        done = subprocess.run([sys.argv[1], *wrong], check=False, stderr=subprocess.PIPE)
        assert done.returncode == 2 and done.stderr.startswith(b'usage'), done


def test_a_program_that_is_killed_shows():
    assert run('dies').returncode == 128 + signal.SIGKILL


def ended_by(number):
    with subprocess.Popen(command('--beside', 'hangs', before=['--group', '3']),
                          stdout=subprocess.PIPE, text=True) as child:
        pids = child.stdout.readline().split()
        folders = child.stdout.readline().split()
        program = child.stdout.readline().strip()
        assert len(pids) == len(folders) == 3
        assert all(runs(pid) for pid in pids) and runs(program)
        child.send_signal(number)
        code = child.wait(PATIENCE_S)
    assert until(lambda: not any(runs(pid) for pid in pids))
    assert until(lambda: not runs(program))
    assert until(lambda: not any(pathlib.Path(folder).exists() for folder in folders))
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
