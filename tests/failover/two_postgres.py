# SPDX-License-Identifier: MIT
"""A PostgreSQL primary and its standby. Where that has each grant before it is
told, nobody loses a lock by whoever becomes the primary, and an old primary that
goes on, or comes back, grants nothing; else the last grants are forgotten."""
import time

import net
from by_hand import ByHand
from judge import Excuse
from world import SLOW

BESIDE = ('an old primary that stood still while another was promoted, and '
          'goes on, where standbys are not waited for')
FORGOTTEN = ('until then somebody else can be granted the lock, with a higher '
             'fence (grade C)')


class PostgresPair:
    program = net.Postgres.program
    excuses = {}
    free_faults = ('switch', 'kill', 'pause', 'back', 'restart', 'cut')
    lease_ms = 6000 * SLOW
    hold_ms = 1500  # as a server is promoted some are inside, some names free
    names = 8
    holders = 2
    words = ('--synchronous',)

    def __init__(self, world):
        self.primary = 0
        self.servers = ByHand(world.path('bin/postgres_pair_by_hand'),
                              *self.words)
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


class PostgresAsync(PostgresPair):
    """The standby is not waited for: what it lacks as it is promoted is
    forgotten, and who hears nothing of that is granted more by an old primary
    that goes on; but not by one that comes back."""
    excuses = {'lose': [Excuse(FORGOTTEN, ms=2000)],
               'pause': [Excuse(BESIDE)]}
    free_faults = ('switch', 'kill', 'back', 'restart', 'cut',
                   'cut_then_kill')
    words = ()

    def __init__(self, world):
        super().__init__(world)
        self.log = world.log

    def faults(self):
        return {**super().faults(), 'cut_then_kill': self.cut_then_kill}

    def promote(self):
        """An act of its own: what is granted by the old one after it has no
        excuse."""
        self.log.say('act', 'lose', '*')
        old = super().promote()
        self.log.say('did', 'lose', '*')
        return old

    def mend(self):
        self.do('well', 1 - self.primary)

    def cut_then_kill(self):
        """What was granted since the cut is forgotten."""
        self.do('cut', 0)
        self.rest()
        self.do('kill', self.primary)
        old = self.promote()
        self.do('heal', 0)
        self.rest()
        self.do('follow', old)
        self.mend()
