# SPDX-License-Identifier: MIT
"""A PostgreSQL primary and its standby, which has each grant before it is told:
whoever becomes the primary, nobody loses a lock by it, and an old primary that
goes on, or comes back, grants nothing."""
import glob
import shutil
import time

from by_hand import ByHand
from world import SLOW


class PostgresPair:
    program = (shutil.which('postgres') or
               glob.glob('/usr/lib/postgresql/*/bin/postgres'))
    excuses = {}
    free_faults = ('switch', 'kill', 'pause', 'back', 'restart', 'cut')
    lease_ms = 6000 * SLOW
    hold_ms = 1500  # as a server is promoted some are inside, some names free
    names = 8
    holders = 2

    def __init__(self, world):
        self.primary = 0
        self.servers = ByHand(world.path('bin/postgres_pair_by_hand'),
                              '--synchronous')
        self.do = self.servers.do

    def url(self, i):
        return self.servers.urls[i % 2]

    def faults(self):
        return {'switch': self.switch, 'kill': self.kill, 'pause': self.halt,
                'back': self.back, 'restart': self.restart, 'cut': self.cut}

    def rest(self):
        """Long enough for all to be at the new one, and for each lock to be
        renewed."""
        time.sleep(self.lease_ms / 4000)

    def mend(self):
        """The other one follows again, and is waited for."""
        self.do('well', 1 - self.primary)
        self.do('synchronous', self.primary)

    def switch(self):
        for _ in range(2):
            self.primary = 1 - self.primary
            self.do('switch', self.primary)
            self.mend()
            self.rest()

    def promote(self):
        """The other one; gives the old one."""
        old, self.primary = self.primary, 1 - self.primary
        self.do('promote', self.primary)
        return old

    def kill(self):
        self.do('kill', self.primary)
        old = self.promote()
        self.rest()
        self.do('follow', old)
        self.mend()

    def halt(self):
        """The old one goes on beside the new one: nobody follows it, so that
        nothing is granted there."""
        self.do('pause', self.primary)
        old = self.promote()
        self.rest()
        self.do('resume', old)
        self.rest()
        self.do('follow', old)
        self.mend()

    def back(self):
        """The old one comes back as what it was."""
        self.do('kill', self.primary)
        old = self.promote()
        self.do('restart', old)
        self.rest()
        self.do('follow', old)
        self.mend()

    def restart(self):
        self.do('kill', self.primary)
        self.do('restart', self.primary)
        self.mend()

    def cut(self):
        """Nothing is granted or renewed for so long."""
        self.do('cut', 0)
        time.sleep(self.lease_ms / 4000)
        self.do('heal', 0)
        self.do('well', 1 - self.primary)

    def stop(self):
        self.servers.stop()
