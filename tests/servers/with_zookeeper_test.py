#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does with_zookeeper run a program beside one ZooKeeper or an ensemble, pass
on how it ended, and leave nothing, also when it is killed? And does
zookeeper_ask look and strike as it says?

    with_zookeeper_test.py WITH_ZOOKEEPER
"""
import os
import pathlib
import signal
import subprocess
import sys

import beside
from beside import run, until

def env(name):
    return os.environ['HOLDFAST_TEST_ZOOKEEPER_' + name]

def ask(*words, member=0, code=0):
    done = subprocess.run([env('ASK'), env('PORT').split()[member], *words], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert code is None or done.returncode == code, (words, done)
    return done.stdout.strip()

def mode(member=0):
    for line in ask('word', 'srvr', member=member, code=None).split('\n'):
        if line.startswith('Mode: '):
            return line[6:]
    return None

# What the program beside the servers does, by its name.
def see():
    assert env('URL') == f'zookeeper://127.0.0.1:{env("PORT")}', env('URL')
    assert 'QuorumPeerMain' in pathlib.Path(f'/proc/{env("PID")}/cmdline').read_text()
    assert mode() == 'standalone'
    print(env('PID'), env('FOLDER'))
    return 42

def works():
    assert 'maxClientCnxns=17' in ask('word', 'conf')
    assert '-Dhf.test=here' in pathlib.Path(f'/proc/{env("PID")}/cmdline').read_text()
    assert sys.argv[3:] == ['--after'], sys.argv
    ask('get', '/a/b', code=1)
    ask('ls', '/a', code=1)
    ask('put', '/a/b', 'two words')
    ask('put', '/a/c', '')
    assert ask('get', '/a/b') == 'two words'
    assert ask('ls', '/a') == 'b\nc'
    stat = dict(line.split() for line in ask('stat', '/a').split('\n'))
    assert (stat['children'], stat['owner']) == ('2', '0x0'), stat
    assert int(stat['pzxid']) > int(stat['czxid']) > 0, stat
    assert ask('acl', '/a') == 'world:anyone:rwcda'
    ask('setacl', '/a', 'world:anyone:r')
    assert ask('acl', '/a') == 'world:anyone:r'
    ask('rm', '/a/b')
    ask('rm', '/a/b', code=1)
    ask('expire', '0x1234', code=1)
    assert ask('sessions') == '0'
    for wrong in ([], ['ls'], ['nonsense', '/'], ['sessions', '/']):
        ask(*wrong, code=2)
    beside.obeys(signal.SIGUSR1)
    assert until(lambda: ask('word', 'ruok', code=None) == '')
    beside.obeys(signal.SIGUSR2)
    assert until(lambda: mode() == 'standalone')
    assert ask('ls', '/a') == 'c'
    return 0

def several():
    ports = env('PORT').split()
    n = int(sys.argv[3])
    assert len(set(ports)) == len(ports) == n
    assert env('URL') == 'zookeeper://' + ','.join('127.0.0.1:' + port for port in ports)
    ask('put', '/k', 'there', member=0)
    assert ask('get', '/k', member=n - 1) == 'there'
    assert {mode(member) for member in range(n)} == {'leader', 'follower'}
    return hangs()

def hangs():
    beside.hang(env('PID'), env('FOLDER'))

# The tests, besides those of beside.py.
def test_options_count_and_it_is_asked_killed_and_started_again():
    options = ['--maxClientCnxns=17', '-Dhf.test=here', '--on-disk', '--']
    assert run('works', '--after', before=options).returncode == 0

def test_there_may_be_several_and_nothing_is_left_when_it_is_killed():
    ensemble = ['--ensemble', '2']
    assert beside.ended_by(signal.SIGKILL, ensemble, 2, 'several', '2') == -signal.SIGKILL

def test_wrong_usage_is_told():
    for wrong in (['--ensemble', '1', 'true'], ['--ensemble', '99', 'true'], ['--nonsense', 'true'],
                  ['--'], []):
        assert beside.wrong_usage(*wrong), wrong

def test_without_java_all_is_skipped_and_in_ci_that_fails():
    for more, code, said in (({}, 0, '1..0 # SKIP zookeeper is not installed'),
                             ({'CI': 'true'}, 1, 'Bail out! zookeeper is not installed')):
        done = subprocess.run([sys.argv[1], '--', 'true'], check=False, stdout=subprocess.PIPE,
                              text=True, env={'PATH': '/nonexistent', **more})
        assert done.returncode == code and done.stdout.startswith(said), done

if __name__ == '__main__':
    sys.exit(beside.main(globals(), (see, works, several, hangs)))
