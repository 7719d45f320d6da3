# SPDX-License-Identifier: MIT
"""Judges what the attack has logged: who was inside when, what went wrong.

A log has a line for each event: time (ns of CLOCK_BOOTTIME), event, whose.

    T in ID NAME FENCE MODE SLOT LEASE_MS   it is inside; MODE x, s or N slots
    T beat ID, T out ID                     it still was, at T
    T lost ID WHY                           it was told that it is not
    T cut ID                                it is stopped: nothing later counts
    T hit HOW ID                            its process is stopped (stop), or
                                            goes on (cont)
    T token ID TOKEN                        the secret of its grant
    T act ACT NAME, T did ACT NAME          a permitted act began, has ended
    T flaw RULE TEXT                        seen by the attack itself: bus is a
                                            crash by SIGBUS

NAME "*" of an act is all names. An act excuses what the sentence of
docs/guarantees.md says that stands beside it in EXCUSES, until the lease of
who held meanwhile is over, and nothing else.
"""
import collections

MS = 10 ** 6
NS = 10 ** 9
Found = collections.namedtuple('Found', 'rule text excuse')
# The sentence that admits two holders; whether fences may fall, too; whether a
# detached grant alone is meant; the longest, where that is not the lease. Of
# "a moment" that is less than from one renewal to the next, for a busy machine
# may keep who has its answer from reading it; a client of the library that is
# stopped meanwhile reads nothing, and has its moment as it goes on.
Excuse = collections.namedtuple('Excuse', 'sentence fence detached ms',
                                defaults=(False, False, None))

EXCUSES = {
    'sqlite-row': [Excuse(
        'a row that was deleted ends what it stood for, and whoever had it '
        'learns at its next renewal', fence=True)],
    'sqlite-over': [Excuse(
        'the database and *all* its side files deleted at once, or the '
        'database copied over in place', fence=True)],
    'sqlite-shm': [Excuse(
        'the database and *all* its side files deleted at once, or the '
        'database copied over in place', fence=True)],
    'file-delete': [
        Excuse("a lock's file deleted by hand while a *detached* grant runs",
               detached=True),
        Excuse('the name is free as the store answers that renewal, a moment '
               'before the holder has read it', ms=300)],
    'file-folder': [Excuse(
        'or together with the side file, or the whole folder replaced')],
    'mysql-delete': [Excuse(
        'until then somebody else can be granted the lock, with a higher '
        'fence')],
    'mysql-edit': [Excuse(
        'a fence that fell is not believed by who knows better', fence=True)],
    'mysql-kill': [Excuse(
        'what ends the connection ends the grant at that moment, and its '
        'holder hears of it by its socket, a moment later', ms=500)],
    'redis-delete': [Excuse('keys are deleted by hand, or FLUSHALL')],
    'redis-edit': [Excuse(
        "something else is at a lock's key, or nonsense in a record",
        fence=True)],
    'zookeeper-delete': [Excuse(
        'a node, or the whole tree, is deleted by hand', ms=500)],
}
for act in ('delete', 'edit'):
    EXCUSES[f'postgres-{act}'] = EXCUSES[f'mysql-{act}']
# The act after which a process may end by SIGBUS.
MAPPED = 'sqlite-shm'
BUS = 'cut off, `-shm` is a SIGBUS within SQLite, which maps it'


class Grant:
    def __init__(self, at, words):
        self.id, self.name, fence, self.mode, self.slot, lease = words
        self.fence = int(fence)
        self.is_detached = self.id.startswith('acquire')
        self.lease = int(lease) * MS
        self.start = self.end = at
        self.is_over = False

    def agrees(self, other):
        if self.mode != other.mode or self.mode == 'x':
            return False
        return self.mode == 's' or self.slot != other.slot

    def __str__(self):
        beside = '' if self.mode == 'x' else f' ({self.mode} {self.slot})'
        return f'{self.id}/{self.fence}{beside}'


class Log:
    def __init__(self, lines, excuses):
        self.excuses = excuses
        self.grants = {}
        self.acts = []
        self.flaws = []
        self.tokens = set()
        self.open = {}
        self.stops = collections.defaultdict(list)   # [from, to] by process
        for line in lines:
            words = line.split()
            if len(words) > 2 and words[0].isdigit():
                self.take(int(words[0]), words[1], words[2:])
        for (act, name), at in self.open.items():
            self.acts.append((at, at + 3600 * NS, act, name))

    def take(self, at, event, words):
        if event == 'in' and len(words) == 6:
            self.grants.setdefault(words[0], Grant(at, words))
        elif event in ('beat', 'out', 'cut'):
            self.extend(self.grants.get(words[0]), at, event)
        elif event == 'token' and words[1] != '-':
            self.tokens.add(words[1])
        elif event == 'hit' and words[1].startswith('lib'):
            self.hit(at, self.stops[words[1]], words[0])
        elif event == 'act':
            self.open[tuple(words)] = at
        elif event == 'did':
            self.acts.append((self.open.pop(tuple(words), at), at, *words))
        elif event == 'flaw':
            self.flaws.append(Found(
                words[0], ' '.join(words[1:]),
                BUS if words[0] == 'bus' and self.is_cut() else None))

    def hit(self, at, stops, how):
        is_stopped = bool(stops) and stops[-1][1] is None
        if how == 'stop' and not is_stopped:
            stops.append([at, None])
        elif how == 'cont' and is_stopped:
            stops[-1][1] = at

    def awake(self, grant, since, until):
        """For how long of that its holder was not stopped."""
        return until - since - sum(
            max(0, min(until, end or until) - max(since, begin))
            for begin, end in self.stops[grant.id])

    def is_cut(self):
        return any(MAPPED in act for act in (*self.acts, *self.open))

    def extend(self, grant, at, event):
        if grant and not grant.is_over:
            grant.end = max(grant.end, at)
            grant.is_over = event == 'cut'

    def acts_on(self, name, until):
        """Acts that had begun by then, each with an excuse it is."""
        for begun, done, act, whom in self.acts:
            if whom in (name, '*') and begun <= until:
                for excuse in self.excuses.get(act, ()):
                    yield begun, done, excuse

    def excuse(self, since, until, two):
        """The sentence by which two may be inside from since to until: the
        one is mistaken until its lease is over, the other came after."""
        mistaken, other = sorted(two, key=lambda g: g.fence)
        for begun, done, excuse in self.acts_on(other.name, since):
            if excuse.ms and self.awake(
                    mistaken, since, until) > excuse.ms * MS:
                continue
            pairs = [(mistaken, other)]
            if excuse.fence:
                pairs.append((other, mistaken))
            # A grant is older than its first line, by a start of a process.
            if any(m.start <= done + NS and until <= done + m.lease and
                   begun <= o.start and (m.is_detached or not excuse.detached)
                   for m, o in pairs):
                return excuse.sentence
        return None

    def excuse_fall(self, g, other):
        """The sentence by which g comes after other with no higher fence: it
        fell, or g is mistaken and the other has left already."""
        for _, _, excuse in self.acts_on(g.name, g.start):
            if excuse.fence:
                return excuse.sentence
        if g.fence < other.fence:
            return self.excuse(g.start, g.start, (g, other))
        return None


def overlaps(log, grants):
    """Each two that were inside at once and do not agree."""
    inside = []
    for g in grants:
        inside = [o for o in inside if o.end > g.start]
        for o in inside:
            until = min(o.end, g.end)
            if until > g.start and not g.agrees(o):
                ms = (until - g.start) / MS
                yield Found('two', f'{o} and {g} in {g.name} for {ms:.1f} ms',
                            log.excuse(g.start, until, (o, g)))
        inside.append(g)


def falls(log, grants):
    """Each fence that is not above that of one who had left before. Of those
    who may be inside at once the first to be granted need not be the first to
    be seen inside, nor the last to leave: they are told apart by their fences,
    and in no order."""
    left = sorted(grants, key=lambda g: g.end)
    tops = {}   # of those who have left, by manner
    seen = {}
    for g in grants:
        while left and left[0].end < g.start:
            gone = left.pop(0)
            manner = gone.mode, gone.slot
            tops[manner] = max(gone, tops.get(manner, gone),
                               key=lambda o: o.fence)
        other = seen.setdefault(g.fence, g)
        if other is g:
            before = [o for o in tops.values() if not g.agrees(o)]
            other = max(before, key=lambda o: o.fence, default=g)
        if other is not g and g.fence <= other.fence:
            yield Found('fence', f'{g} after {other} in {g.name}',
                        log.excuse_fall(g, other))


def judge(lines, excuses=None):
    """What was found, and the log as it was read."""
    log = Log(lines, EXCUSES if excuses is None else excuses)
    found = list(log.flaws)
    by_name = collections.defaultdict(list)
    for grant in sorted(log.grants.values(), key=lambda g: g.start):
        by_name[grant.name].append(grant)
    for grants in by_name.values():
        found.extend(overlaps(log, grants))
        found.extend(falls(log, grants))
    return found, log
