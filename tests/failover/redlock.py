# SPDX-License-Identifier: MIT
"""Redlock: one of five members is replaced by an empty one in place, as an
operator does it: the old one ended, its folder emptied, the new one started at
the same address. One after the other costs nobody a lock; two at once are a
minority still, and so are no second holder."""
import os
import shutil
import signal
import time

import net
from link import Link
from world import PASSWORD, SLOW

LONGEST_S = 3 * SLOW


class Member(net.Redis):
    """One of a group: folder of its own, and what it has kept to itself."""

    def __init__(self, world, number):
        super().__init__(world, f'member{number}',
                         ('--appendfsync', 'always'))

    def replace(self):
        """By one that has nothing, at the same address."""
        self.stop()
        for entry in os.scandir(self.folder):
            if entry.name != 'said':
                (shutil.rmtree if entry.is_dir() else os.unlink)(entry.path)
        self.start()


class RedlockReplaced:
    program = net.Redis.program
    excuses = {}
    free_faults = ('replace', 'replace-two', 'stop', 'cut')
    lease_ms = 1000 * LONGEST_S
    names = 2
    holders = 2

    def __init__(self, world):
        self.world = world
        self.members = [Member(world, i) for i in range(5)]
        self.links = [Link(m.port) for m in self.members]
        self.turn = 0

    def url(self, i):
        """Half of them come by links that can be cut."""
        ports = [(self.links if i % 2 else self.members)[n].port
                 for n in range(5)]
        hosts = ','.join(f'127.0.0.1:{p}' for p in ports)
        return (f'redlock://:{PASSWORD}@{hosts}/0'
                f'?longest_lease={1000 * LONGEST_S}ms')

    def faults(self):
        return {'replace': self.replace, 'replace-two': self.replace_two,
                'stop': self.halt, 'cut': self.cut}

    def next(self):
        self.turn += 1
        return self.members[self.turn % 5]

    def replace(self):
        """And waits as the operator does, until the new one counts."""
        self.next().replace()
        time.sleep(1.02 * LONGEST_S)

    def replace_two(self):
        self.next().replace()
        self.replace()

    def halt(self):
        member = self.next()
        member.signal(signal.SIGSTOP)
        time.sleep(0.5)
        member.signal(signal.SIGCONT)

    def cut(self):
        for link in self.links * 2:
            link.cut()
            time.sleep(0.05)

    def stop(self):
        for link in self.links:
            link.end()
        for member in self.members:
            member.stop()
