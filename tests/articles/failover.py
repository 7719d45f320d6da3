# SPDX-License-Identifier: MIT
"""A master and a replica are not enough for a lock: on two real servers, what
the master has confirmed and not yet copied is granted again by the replica
that takes its place; and what Holdfast says of it, before and after."""
import json
import os
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / 'cli'))
import harness  # noqa: E402
from harness import case  # noqa: E402

PORTS = os.environ['HOLDFAST_TEST_REDIS_PORT'].split()
PIDS = os.environ['HOLDFAST_TEST_REDIS_PID'].split()
MASTER, REPLICA = 0, 1
NOWHERE = ('127.0.0.1', '1')


def ask(member, *words):
    return subprocess.run(['redis-cli', '-p', PORTS[member], *words],
                          check=True, capture_output=True,
                          text=True).stdout.strip()


def take(member, value):
    return ask(member, 'SET', 'job', value, 'NX', 'PX', '600000')


def acquire(t):
    """The token of a grant, and its fence."""
    token = t.run('acquire', '--try', '--lease', '10m', 'job', code=0)
    return token.out.strip(), t.json('who', 'job')['fence']


def renew(t, token):
    return t.run('renew', 'job', env={'HOLDFAST_TOKEN': token}).code


@case
def a_replica_that_lags_grants_again_what_its_master_granted(t):
    hosts = ','.join(f'127.0.0.1:{port}' for port in PORTS)
    t.env['HOLDFAST_URL'] = f'redis://{hosts}/0'
    ask(MASTER, 'CONFIG', 'SET', 'repl-diskless-sync-delay', '0')
    ask(REPLICA, 'REPLICAOF', '127.0.0.1', PORTS[MASTER])
    ask(MASTER, 'SET', 'copied', 'yes')
    t.until(lambda: ask(REPLICA, 'GET', 'copied') == 'yes', 'it copies')
    told = json.loads(t.run('check', '--json').out)
    t.equal(told['grade'], 'C', 'the grade, with a replica')
    alone = f'redis://127.0.0.1:{PORTS[MASTER]}/0'
    told = json.loads(t.run('check', '--json', '--url', alone).out)
    t.equal(told['grade'], 'C', 'the grade, if the replica is not named')

    ask(REPLICA, 'REPLICAOF', *NOWHERE)  # what comes now, it does not have
    t.equal(take(MASTER, 'one'), 'OK', 'the first is told')
    late, fence = acquire(t)
    t.equal(renew(t, late), 0, 'the first one holds')
    os.kill(int(PIDS[MASTER]), signal.SIGKILL)
    ask(REPLICA, 'REPLICAOF', 'NO', 'ONE')
    t.equal(take(REPLICA, 'two'), 'OK', 'the second is told the same')

    # Holdfast can't help it, either. But the grade has said so, the second
    # one's fence is higher, and the first one hears of it.
    own, higher = acquire(t)
    t.rising([fence, higher])
    t.equal(renew(t, late), 1, 'the first one learns that it is lost')
    t.equal(renew(t, own), 0, 'the second one holds')


if __name__ == '__main__':
    harness.main()
