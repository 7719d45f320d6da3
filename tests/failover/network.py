# SPDX-License-Identifier: MIT
"""The network between those who contend and each store's servers. Every other
process, and one of two holders, is at a site that reaches the servers by links:
slow by 200 ms each way, cut at random, split from the servers, silent. Who is
cut off for less than a lease keeps its locks, but for those that are their
connection's; for longer, it knows of its loss before anybody else can enter."""
import functools
import time

import net
import redlock
import zookeeper
from judge import Excuse
from link import Link
from world import PASSWORD, SLOW

DELAY_S = 0.2


class Network:
    excuses = {}
    free_faults = ('slow', 'cut', 'split', 'silent', 'one-silent')
    lease_ms = 4000 * SLOW  # a renewal waits 667 ms for its answer
    names = 2
    holders = 2

    def __init__(self, world):
        self.world = world
        self.random = world.random
        self.servers = self.start(world)
        self.links = [Link(s.port) for s in self.servers]

    def start(self, world):
        return [self.server(world)]

    def url(self, i):
        ways = self.links if i % 2 else self.servers
        return self.url_by([f'127.0.0.1:{w.port}' for w in ways])

    def faults(self):
        faults = {'slow': self.slow, 'cut': self.cut, 'split': self.split,
                  'silent': self.silent}
        if self.world.is_long:
            faults['cut-off'] = self.cut_off
            if len(self.links) > 1:
                faults['one-silent'] = self.one_silent
        return {name: functools.partial(self.after_a_rest, do)
                for name, do in faults.items()}

    def after_a_rest(self, do):
        """Each fault finds locks that were renewed since the one before: two in
        a row are a longer one."""
        self.sleep(1 / 4)
        do()

    def sleep(self, leases):
        time.sleep(leases * self.lease_ms / 1000)

    def slow(self):
        for link in self.links:
            link.delay = DELAY_S
        self.sleep(2 if self.world.is_long else 3 / 4)
        for link in self.links:
            link.delay = 0

    def cut(self):
        """Each connection some three times a second."""
        until = time.monotonic() + self.lease_ms / 4000
        while time.monotonic() < until:
            for link in self.links:
                link.cut(lambda: self.random.random() < 0.1)
            time.sleep(0.03)

    def split(self):
        for link in self.links:
            link.shut()
        self.sleep(1 / 4)
        for link in self.links:
            link.open()

    def silence(self, links, leases):
        for link in links:
            link.is_silent = True
        self.sleep(leases)
        for link in links:
            link.is_silent = False

    def silent(self):
        self.silence(self.links, 1 / 4)

    def one_silent(self):
        """A member, for longer than a lease."""
        self.silence([self.random.choice(self.links)], 1.2)

    def cut_off(self):
        """The site, for longer than a lease."""
        self.silence(self.links, 1.5)

    def stop(self):
        for link in self.links:
            link.end()
        for server in self.servers:
            server.stop()


class NetworkRedis(Network):
    program = net.Redis.program
    server = net.Redis

    def url_by(self, hosts):
        return f'redis://:{PASSWORD}@{hosts[0]}/0'


class NetworkTable(Network):
    program = net.MariaDB.program
    server = net.MariaDB

    def url_by(self, hosts):
        return f'mysql://hf:{PASSWORD}@{hosts[0]}/hf'


class NetworkPostgres(Network):
    program = net.Postgres.program
    server = net.Postgres

    def url_by(self, hosts):
        return f'postgres://hf:{PASSWORD}@{hosts[0]}/hf'


class NetworkSession(NetworkTable):
    """Locks that are their connection's: what ends it costs them."""
    excuses = {act: [Excuse(
        'what ends the connection ends the grant at that moment, and its '
        'holder hears of it by its socket, a moment later', ms=500)]
               for act in ('cut', 'split')}
    free_faults = ('slow', 'silent')

    def url_by(self, hosts):
        return (super().url_by(hosts) + '?scheme=session&session_timeout='
                f'{self.lease_ms}ms')


class NetworkRedlock(Network):
    program = net.Redis.program

    def start(self, world):
        return [redlock.Member(world, i) for i in range(5)]

    def url_by(self, hosts):
        return (f'redlock://:{PASSWORD}@{",".join(hosts)}/0'
                f'?longest_lease={self.lease_ms}ms')


class NetworkZooKeeper(Network):
    program = net.ZooKeeper.program
    lease_ms = zookeeper.Ensemble.lease_ms

    def start(self, world):
        self.ensemble = zookeeper.Ensemble(world)
        return self.ensemble.members

    def url_by(self, hosts):
        return zookeeper.url_of(hosts)


ALL = (NetworkRedis, NetworkTable, NetworkPostgres, NetworkSession,
       NetworkRedlock, NetworkZooKeeper)
