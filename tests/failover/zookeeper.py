# SPDX-License-Identifier: MIT
"""A ZooKeeper ensemble: restarted member by member, one member away for longer
than a session, its members changed while clients name the old ones. None of it
may cost anybody a lock, for a majority is there all the time."""
import base64
import contextlib
import hashlib
import os
import signal
import socket
import struct
import time

import net
from world import SLOW

SESSION_MS = 6000 * SLOW
TICK_MS = 100
PASSWORD = 'operator'
ADMINISTRATOR = base64.b64encode(
    hashlib.sha1(f'super:{PASSWORD}'.encode()).digest()).decode()
JAVA = ['-cp', '/usr/share/java/slf4j-simple.jar:'
        '/usr/share/java/zookeeper.jar', '-XX:+UseSerialGC',
        '-XX:TieredStopAtLevel=1', '-XX:-UsePerfData', '-Xmx96m',
        '-Dzookeeper.forceSync=no', '-Dzookeeper.preAllocSize=512',
        '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
        '-Dzookeeper.fastleader.minNotificationInterval=50',
        '-Dzookeeper.fastleader.maxNotificationInterval=500',
        '-Dzookeeper.leaderConnectDelayDuringRetryMs=100',
        '-Dzookeeper.DigestAuthenticationProvider.superDigest=super:'
        + ADMINISTRATOR]


class Member(net.Server):
    """One of an ensemble, by its number; started when its group is known."""

    def __init__(self, world, number):
        super().__init__(world, f'zoo{number}')
        self.number = number
        self.quorum, self.election = net.free_port(), net.free_port()
        os.mkdir(self.folder + '/data')
        self.write('data/myid', str(number))

    def line(self):
        return (f'127.0.0.1:{self.quorum}:{self.election}:participant;'
                f'127.0.0.1:{self.port}')

    def configure(self, group, is_dynamic):
        """Of this group; a dynamic one is the servers' own from then on."""
        servers = ''.join(f'server.{m.number}={m.line()}\n' for m in group)
        text = (f'dataDir={self.folder}/data\ntickTime={TICK_MS}\n'
                'initLimit=100\nsyncLimit=20\nmaxClientCnxns=0\n'
                'maxSessionTimeout=600000\nstandaloneEnabled=false\n'
                'admin.enableServer=false\n4lw.commands.whitelist=srvr\n')
        if is_dynamic:
            self.write('members', servers)
            servers = ('reconfigEnabled=true\n'
                       f'dynamicConfigFile={self.folder}/members\n')
        self.write('zoo.cfg', text + servers)

    def launch(self):
        """Begins: it serves when enough others do."""
        self.command = ([net.ZooKeeper.program, *JAVA, 'org.apache.zookeeper.'
                         'server.quorum.QuorumPeerMain',
                         self.folder + '/zoo.cfg'], {})
        self.begin()

    def mode(self):
        with contextlib.suppress(OSError), socket.create_connection(
                ('127.0.0.1', self.port), 2) as s:
            s.settimeout(2)
            s.sendall(b'srvr')
            said = b''
            while data := s.recv(4096):
                said += data
            for line in said.decode(errors='replace').splitlines():
                if line.startswith('Mode: '):
                    return line[6:]
        return None

    def await_serving(self):
        until = time.monotonic() + 30 * SLOW
        while not self.mode():
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f'member {self.number} does not serve')
            time.sleep(0.05)

    def end(self):
        """As a service manager does."""
        self.signal(signal.SIGTERM)
        self.process.wait()

    def restart(self):
        self.end()
        self.launch()
        self.await_serving()


def url_of(hosts):
    return (f'zookeeper://{",".join(hosts)}/locks'
            f'?session_timeout={SESSION_MS}ms')


class Operator(net.Zoo):
    """Who may change the members: by this member."""

    def __init__(self, member):
        super().__init__(member.port)
        words = b''.join(struct.pack('>i', len(w)) + w for w in
                         (b'digest', f'super:{PASSWORD}'.encode()))
        self.send(struct.pack('>iii', -4, 100, 0) + words)
        self.take()

    def reconfigure(self, joining='', leaving=''):
        leaving = leaving.encode()
        self.ask(16, joining, struct.pack('>i', len(leaving)) + leaving +
                 struct.pack('>iq', -1, -1))


class Ensemble:
    """Three members, which clients name; others may come."""
    program = net.ZooKeeper.program
    excuses = {}
    lease_ms = SESSION_MS * 2 // 3
    names = 2
    holders = 2
    is_dynamic = False

    def __init__(self, world):
        self.world = world
        self.random = world.random
        self.members = [Member(world, i) for i in (1, 2, 3)]
        self.named = list(self.members)
        self.gone = []
        for member in self.members:
            member.configure(self.members, self.is_dynamic)
            member.launch()
        for member in self.members:
            member.await_serving()

    def url(self, _):
        return url_of(f'127.0.0.1:{m.port}' for m in self.named)

    def leader_last(self):
        return sorted(self.members, key=lambda m: m.mode() == 'leader')

    def add(self):
        member = Member(self.world, 1 + max(
            m.number for m in self.members + self.gone))
        self.members.append(member)
        return member

    def drop(self):
        """The next to go: so many that clients name stay at least."""
        named = [m for m in self.members if m in self.named]
        others = [m for m in self.members if m not in self.named]
        return named[0] if len(named) > self.kept else others[0]

    def stop(self):
        for member in self.members + self.gone:
            member.stop()


class ZooKeeperRolling(Ensemble):
    """Its members are in each one's configuration. Clients know two, at last,
    for one may be away."""
    kept = 2
    free_faults = ('rolling', 'away', 'roll-members')

    def faults(self):
        faults = {'rolling': self.rolling}
        if self.world.is_long:
            faults.update({'away': self.away, 'roll-members': self.roll})
        return faults

    def rolling(self):
        for member in self.leader_last():
            member.restart()

    def away(self):
        """One is killed, and back when its sessions would be over."""
        member = self.random.choice(self.members)
        member.stop()
        time.sleep(1.2 * SESSION_MS / 1000)
        member.launch()
        member.await_serving()

    def roll(self):
        """A new one joins and an old one goes, by a new configuration for each
        in turn: each two majorities on the way have a member in common. The
        new one comes while all others serve: who is restarted then needs its
        vote to find the leader."""
        new = self.add()
        new.configure(self.members, False)
        new.launch()
        new.await_serving()
        for member in [m for m in self.leader_last() if m is not new]:
            member.configure(self.members, False)
            member.restart()
        old = self.drop()
        if old.mode() == 'leader':
            old.restart()
        self.members.remove(old)
        self.gone.append(old)
        for member in self.leader_last():
            member.configure(self.members, False)
            member.restart()
        old.end()


class ZooKeeperMembers(Ensemble):
    """Its members are changed by reconfig, until clients name one of them."""
    kept = 1
    free_faults = ('exchange-1', 'exchange-2')
    is_dynamic = True

    def faults(self):
        return {'exchange-1': self.exchange, 'exchange-2': self.exchange}

    def exchange(self):
        """One joins, then one of the old ones goes, and is ended."""
        first = self.members[-1]
        new = self.add()
        new.configure(self.members, True)
        new.launch()
        Operator(first).reconfigure(f'server.{new.number}={new.line()}')
        new.await_serving()
        old = self.drop()
        Operator(new).reconfigure(leaving=str(old.number))
        self.members.remove(old)
        self.gone.append(old)
        old.end()
