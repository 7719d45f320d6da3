# SPDX-License-Identifier: MIT
"""Processes that contend for a few names while servers fail around them.

Each is `player loop` of tests/attack: a client that locks again and again and
writes what it sees to the log. Faults are acts of that log.
"""
import contextlib
import signal
import time

from world import SLOW

WORKERS = 8


class Crew:
    def __init__(self, world, url_of, lease_ms, hold_ms=60, holders=0):
        """url_of(i) is where the worker i goes: not all have one way there.
        Holders have a name for each, which nobody else wants, and keep it for
        up to ten leases: what renewals live through, they do."""
        self.world = world
        self.faults = 0
        self.workers = [self.start(f'w{i}', lease_ms, hold_ms, url_of(i),
                                   ','.join(world.names))
                        for i in range(WORKERS)]
        self.processes = self.workers + [
            self.start(f'h{i}', lease_ms, 10 * lease_ms, url_of(i), f'kept{i}')
            for i in range(holders)]

    def start(self, name, lease_ms, hold_ms, url, names):
        return self.world.start(
            [self.world.player, 'loop', self.world.log.path, name, 'x',
             str(lease_ms), str(hold_ms), url, names, '2000'], name=name)

    @contextlib.contextmanager
    def fault(self, what):
        """From before the first damage until all is mended. What a scene can't
        do is no news of the attack's, but the scene's end."""
        self.faults += 1
        self.world.log.say('act', what, '*')
        try:
            yield
        finally:
            self.world.log.say('did', what, '*')

    def everyone_is_served(self, limit=60):
        """Waits until each has been granted something since this call began;
        who is not within the limit is a flaw."""
        log = open(self.world.log.path, encoding='utf-8', errors='replace')
        with log:
            log.seek(0, 2)
            missing = {p.name for p in self.workers}
            until = time.monotonic() + limit * SLOW
            while missing and time.monotonic() < until:
                for line in iter(log.readline, ''):
                    words = line.split()
                    if len(words) > 2 and words[1] == 'in':
                        missing.discard(words[2].split('-')[0])
                self.look()
                time.sleep(0.02)
        for name in sorted(missing):
            self.world.log.flaw('starved', f'{name} got nothing in {limit} s')

    def look(self):
        for p in self.processes:
            if p.poll() is not None:
                raise RuntimeError(f'{p.name} ended with {p.returncode}: '
                                   f'{self.world.said(p)[-600:]}')

    def end(self, limit=40):
        for p in self.processes:
            p.send_signal(signal.SIGTERM)
        for p in self.processes:
            if self.world.finish(p, limit):
                self.world.log.flaw('end', f'{p.name} ended with '
                                    f'{p.returncode}: '
                                    f'{self.world.said(p)[-300:]}')
