# SPDX-License-Identifier: MIT
"""Two MariaDB servers that replicate each other, of which an operator makes one
writable. Who is switched to in order has all, and costs nobody a lock; after a
loss what had not been replicated is lost, its holder is told so, and nobody has
it before that one's lease is over. Never does a row of ours stop the
replication."""
import os
import shutil
import time

from by_hand import ByHand
from world import SLOW

LONGEST_S = 8 * SLOW


class TwoMariaDB:
    program = shutil.which('mariadbd', path=os.environ['PATH'] + ':/usr/sbin')
    excuses = {}
    free_faults = ('switch', 'cut', 'restart')
    lease_ms = 6000 * SLOW
    hold_ms = 1500  # as a server is promoted some are inside, some names free
    names = 8
    holders = 2
    words = ()

    def __init__(self, world):
        self.primary = 0
        self.servers = ByHand(world.path('bin/mariadb_pair_by_hand'),
                              *self.words)
        self.do = self.servers.do

    def url(self, i):
        return f'{self.servers.urls[i % 2]}?longest_lease={LONGEST_S}s'

    def faults(self):
        return {'switch': self.switch, 'kill': self.kill, 'pause': self.halt,
                'back_writable': self.back_writable, 'cut': self.cut,
                'restart': self.restart, 'cut_then_kill': self.cut_then_kill}

    def rest(self):
        """Long enough for all to be at the new one, and for each lock to be
        renewed."""
        time.sleep(self.lease_ms / 4000)

    def both_are_well(self):
        for server in range(2):
            self.do('caught_up', server)
            self.do('well', server)

    def switch(self):
        for _ in range(2):
            self.primary = 1 - self.primary
            self.do('switch', self.primary)
            self.rest()
        self.both_are_well()

    def promote(self):
        """The other one, with what it has got; gives the old one."""
        old, self.primary = self.primary, 1 - self.primary
        self.do('applied', self.primary)
        self.do('writable', self.primary)
        return old

    def kill(self):
        self.do('kill', self.primary)
        old = self.promote()
        self.rest()
        self.do('restart', old)
        self.both_are_well()

    def halt(self):
        """The old one is writable for an instant when it goes on, in which no
        lease may begin that is not over when the new one grants."""
        self.do('pause', self.primary)
        old = self.promote()
        time.sleep(self.lease_ms / 8000)
        self.do('resume', old)
        self.do('readonly', old)
        self.both_are_well()

    def back_writable(self):
        self.do('kill', self.primary)
        old = self.promote()
        self.rest()
        self.do('restart_writable', old)
        self.rest()
        self.do('readonly', old)
        self.both_are_well()

    def cut(self):
        self.do('cut', 0)
        time.sleep(self.lease_ms / 2000)
        self.do('heal', 0)
        self.both_are_well()

    def restart(self):
        self.do('kill', self.primary)
        self.do('restart_writable', self.primary)
        self.both_are_well()

    def cut_then_kill(self):
        """What was granted since the cut is forgotten until the old one is
        back."""
        self.do('cut', 0)
        self.rest()
        self.do('kill', self.primary)
        old = self.promote()
        self.rest()
        self.do('heal', 0)
        self.do('restart', old)
        self.both_are_well()

    def stop(self):
        self.servers.stop()


class SemiSyncMariaDB(TwoMariaDB):
    """The other one has got what is granted before it is told: a loss costs
    nobody a lock."""
    free_faults = ('switch', 'kill')
    words = ('--semi-sync',)

    def faults(self):
        return {'switch': self.switch, 'kill': self.kill}
