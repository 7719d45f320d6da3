# SPDX-License-Identifier: MIT
"""Counts what the crew wrote, beside what the judge finds in it.

A loss is none if no fault that may cost a lock was under way within a lease
and a second before it was told. The longest time without a grant is of all
names together, from the first grant on; so a store that grants nobody
anything for a while is seen, and not that one of the names is held.
"""
import collections

from judge import Found, MS, NS


class Tally:
    def __init__(self, lines, free_faults=()):
        """free_faults are the acts that may cost nobody a lock."""
        self.free = set(free_faults)
        self.acts = collections.Counter()
        self.spans = []
        self.open = {}
        self.grants = []
        self.lost = []
        self.refused = collections.Counter()
        self.lease = {}
        for line in lines:
            words = line.split()
            if len(words) > 2 and words[0].isdigit():
                self.take(int(words[0]), words[1], words[2:])

    def take(self, at, event, words):
        if event == 'in' and len(words) == 6:
            self.grants.append((at, words[1], words[0].split('-')[0]))
            self.lease[words[0]] = int(words[5]) * MS
        elif event == 'lost':
            self.lost.append((at, *words[:2]))
        elif event == 'refused':
            self.refused[' '.join(words[1:])[:160]] += 1
        elif event == 'act':
            self.acts[words[0]] += 1
            self.open[words[0]] = at
        elif event == 'did':
            self.spans.append((self.open.pop(words[0], at), at, words[0]))

    def hand_overs(self):
        """Grants that came after one of another process."""
        last = {}
        count = 0
        for _, name, worker in sorted(self.grants):
            count += last.get(name, worker) != worker
            last[name] = worker
        return count

    def longest_gap(self):
        times = sorted(at for at, _, _ in self.grants)
        return max((b - a for a, b in zip(times, times[1:])), default=0) / NS

    def mistaken_losses(self):
        spans = self.spans + [(at, at + 3600 * NS, act)
                              for act, at in self.open.items()]
        for at, grant, why in self.lost:
            since = at - self.lease.get(grant, 0) - NS
            if not any(begun <= at and done >= since and act not in self.free
                       for begun, done, act in spans):
                yield Found('mistaken', f'{grant} was told that it is lost '
                            f'({why}), and nothing had failed', None)

    def line(self, found):
        bad = [f for f in found if not f.excuse]
        admitted = len(found) - len(bad)
        mistaken = sum(f.rule == 'mistaken' for f in bad)
        return (f'{sum(self.acts.values())} faults, {len(self.grants)} grants, '
                f'{self.hand_overs()} hand-overs, {len(bad)} violations, '
                f'{admitted} admitted, {len(self.lost)} losses told, '
                f'{mistaken} of them none, longest without a grant '
                f'{self.longest_gap():.2f} s')
