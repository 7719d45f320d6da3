# SPDX-License-Identifier: MIT
"""What the tests of the command on a ZooKeeper share: a part of the tree for
each case, looks at it by zookeeper_ask, and servers of a case's own."""
import os
import pathlib
import signal
import subprocess

import harness

ASK = os.environ['HOLDFAST_TEST_ZOOKEEPER_ASK']
PORT = os.environ['HOLDFAST_TEST_ZOOKEEPER_PORT']
# A session of 3 s, so a lease of 2; more for who is slow.
TIMEOUT_S = 3 * harness.SLOW
LEASE_MS = TIMEOUT_S * 2000 // 3
SHORT = f'session_timeout={TIMEOUT_S}s'


def ask(*words, port=PORT):
    """What is found, or '' if it is not there."""
    done = subprocess.run([ASK, port, *words], text=True, capture_output=True,
                          check=False)
    if done.returncode > 1:
        raise harness.Failed(f'{words}: {done.stderr}')
    return done.stdout.strip() if done.returncode == 0 else ''


def url(chroot, options='', user='', port=PORT):
    return (f'zookeeper://{user}127.0.0.1:{port}{chroot}' +
            (f'?{options}' if options else ''))


def fresh(t, options=''):
    """The path of a part of the tree that this case has to itself; the
    command uses it from now on."""
    chroot = f'/{t.dir.name}'
    t.env['HOLDFAST_URL'] = url(chroot, options)
    return chroot


def children(path, port=PORT):
    return ask('ls', path, port=port).split()


def stat(path, port=PORT):
    return dict(line.split() for line in
                ask('stat', path, port=port).splitlines())


def only_child(t, path):
    found = children(path)
    t.equal(len(found), 1, found)
    return f'{path}/{found[0]}'


def waiting(t, name, *args, count=1):
    """A run that waits; returns when the line has that many."""
    process = t.next_holder(name, *args)
    t.until(lambda: len(t.json('who', name)['waiters']) >= count,
            'it stands in line')
    return process


class Server:
    """One of the case's own, or an ensemble: it may be killed and paused."""

    def __init__(self, t, *options):
        beside = pathlib.Path(ASK).with_name('with_zookeeper')
        told = [f'HOLDFAST_TEST_ZOOKEEPER_{name}' for name in
                ('URL', 'PORT', 'PID')]
        words = ' '.join(f'"${name}"' for name in told)
        # It ends with the case: `sleep` is killed by its mark.
        self.process = t.spawn([beside, *options, '--', 'sh', '-c',
                                f'printf "%s\\n" {words}; exec sleep 1000'])
        t.until(lambda: self.process.out.count('\n') == 3, 'a server starts')
        self.url, ports, pids = self.process.out.splitlines()
        self.ports = ports.split()
        self.pids = [int(pid) for pid in pids.split()]
        t.env['HOLDFAST_URL'] = f'{self.url}/own?{SHORT}'

    def mode(self, member=0):
        said = ask('word', 'srvr', port=self.ports[member])
        return next((line[6:] for line in said.splitlines()
                     if line.startswith('Mode: ')), '')

    def kill(self, t):
        self.process.signal(signal.SIGUSR1)
        t.until(lambda: not any(map(self.mode, range(len(self.ports)))),
                'it is gone')

    def start_again(self):
        self.process.signal(signal.SIGUSR2)
