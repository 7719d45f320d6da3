# SPDX-License-Identifier: MIT
"""One Redis with an append-only file, which is what each other scene is
compared with: killed, stopped and cut off for less than a lease, it costs
nobody a lock."""
import signal
import time

import net
from link import Link


class OneRedis:
    program = net.Redis.program
    excuses = {}
    free_faults = ('kill', 'stop', 'cut', 'silent')
    lease_ms = 6000
    names = 2

    def __init__(self, world):
        self.server = net.Redis(world)
        self.link = Link(self.server.port)
        self.through = self.server.url.replace(f':{self.server.port}/',
                                               f':{self.link.port}/')

    def url(self, i):
        return self.through if i % 2 else self.server.url

    def faults(self):
        return {'kill': self.kill, 'stop': self.halt, 'cut': self.cut,
                'silent': self.silence}

    def kill(self):
        self.server.stop()
        self.server.start()

    def halt(self):
        self.server.signal(signal.SIGSTOP)
        time.sleep(0.5)
        self.server.signal(signal.SIGCONT)

    def cut(self):
        for _ in range(5):
            self.link.cut()
            time.sleep(0.1)

    def silence(self):
        self.link.is_silent = True
        time.sleep(0.5)
        self.link.is_silent = False

    def stop(self):
        self.link.end()
        self.server.stop()
