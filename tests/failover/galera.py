# SPDX-License-Identifier: MIT
"""Three nodes of a Galera cluster, each named first by a third of the crew.
One that is killed, stopped, cut off or need not keep up costs nobody a lock;
of two that are killed the third grants nothing until they are back."""
import os
import shutil
import time

from by_hand import ByHand

NODES = 3


class Galera:
    program = os.path.exists('/usr/lib/galera/libgalera_smm.so') and \
        shutil.which('mariadbd', path=os.environ['PATH'] + ':/usr/sbin')
    excuses = {}
    free_faults = ('kill', 'pause', 'cut', 'desync', 'alter')
    lease_ms = 8000
    names = 2
    words = ()

    def __init__(self, world):
        self.node = 0
        self.nodes = ByHand(world.path('bin/galera_by_hand'), *self.words)
        self.do = self.nodes.do

    def url(self, i):
        return self.nodes.urls[i % NODES]

    def all_in_step(self):
        for node in range(NODES):
            self.do('await', node, NODES)

    def next_node(self):
        self.node = (self.node + 1) % NODES
        return self.node

    def faults(self):
        return {'kill': self.kill, 'pause': self.halt, 'cut': self.cut,
                'desync': self.desync, 'alter': self.alter, 'two': self.two}

    def kill(self):
        node = self.next_node()
        self.do('kill', node)
        time.sleep(1)
        self.do('restart', node)
        self.all_in_step()

    def halt(self):
        node = self.next_node()
        self.do('pause', node)
        self.do('await', (node + 1) % NODES, NODES - 1)
        self.do('resume', node)
        self.all_in_step()

    def cut(self):
        node = self.next_node()
        self.do('cut', node)
        self.do('alone', node)
        time.sleep(1)
        self.do('back', node)
        self.all_in_step()

    def desync(self):
        node = self.next_node()
        self.do('desync', node)
        time.sleep(1)
        self.do('sync', node)
        self.all_in_step()

    def alter(self):
        self.do('ddl', self.next_node())

    def two(self):
        first, second = self.next_node(), self.next_node()
        self.do('kill', first)
        self.do('kill', second)
        self.do('alone', self.next_node())
        self.do('relaunch', first)
        self.do('relaunch', second)
        self.all_in_step()

    def stop(self):
        self.nodes.stop()


class ClusterAsUsual(Galera):
    """With the provider's own limits, by which a node is missed after 5 s."""
    lease_ms = 24000
    words = ('--usual',)
