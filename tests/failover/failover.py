#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lets servers fail under those who contend, and has an outsider judge it.

    failover.py [--only WORD] [--seed N] [--seconds N] [--keep FOLDER] BIN...

Each scene starts servers of its own and a crew of eight processes that lock
again and again (crew.py). Faults of the scene follow each other, each until all
is mended and everybody has been served since. What the processes wrote, by one
clock, is judged by tests/attack/judge.py and counted by tally.py: two inside at
once, fences that fall, who waits in vain, losses that were none. Without
--seconds each scene has each of its faults once, in TAP; with it, faults by
chance until the time is up. With --keep the log of a scene that had flaws stays
there, and what its processes said. BIN as for tests/attack/attack.py.
"""
import argparse
import os
import random
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, '../attack'))

# pylint: disable=wrong-import-position
import galera
import namespace
import network
import one_redis
import redlock
import sentinel
import tap
import two_mariadb
import two_postgres
import zookeeper
from crew import Crew
from judge_test import not_in_the_guarantees
from tally import Tally
from tally_test import TESTS
from world import World

# What a machine that is overloaded does to a scene; never two inside.
LOAD_EXCUSES = ('mistaken', 'starved', 'scene')
# A scene has: excuses (as the judge's), free_faults (the acts that may cost
# nobody a lock), lease_ms, names, program (what it needs; falsy: not there),
# lacks (what is said then), holders (how many keep a name of their own), hold_ms
# (how long the others stay inside at most), and of an instance url(i), faults()
# (name: what does it and mends it) and stop().
SCENES = {s.__name__: s for s in (
    galera.Galera, galera.ClusterAsUsual, one_redis.OneRedis,
    redlock.RedlockReplaced, sentinel.SentinelAsync, sentinel.SentinelWait,
    two_mariadb.TwoMariaDB, two_mariadb.SemiSyncMariaDB,
    two_postgres.PostgresPair, two_postgres.PostgresAsync,
    zookeeper.ZooKeeperRolling, zookeeper.ZooKeeperMembers,
    namespace.NetworkNamespace, *network.ALL)}


def turns(scene, rng, until):
    """Each fault once; or by chance until the time is up."""
    faults = sorted(scene.faults().items())
    if not until:
        yield from faults
    while until and time.monotonic() < until:
        yield rng.choice(faults)


def play(args, kind, seed):
    """What was found that nothing excuses, as text."""
    seconds = args.seconds
    world = World(args.binaries, f'{kind.__name__} {seed}', names=kind.names)
    world.excuses = kind.excuses
    world.is_long = bool(seconds)
    world.random = random.Random(world.seed)
    scene = crew = None
    try:
        try:
            scene = kind(world)
            crew = Crew(world, scene.url, kind.lease_ms,
                        getattr(kind, 'hold_ms', 60),
                        getattr(kind, 'holders', 0))
            crew.everyone_is_served()
            until = seconds and time.monotonic() + seconds
            for what, do in turns(scene, world.random, until):
                with crew.fault(what):
                    do()
                crew.everyone_is_served()
        except (OSError, EOFError, RuntimeError):
            world.log.flaw('scene', traceback.format_exc())
        if crew:
            crew.end()
        found, _ = world.end()
        with open(world.log.path, encoding='utf-8', errors='replace') as f:
            tally = Tally(f, kind.free_faults)
        found += tally.mistaken_losses()
        print(f'# {kind.__name__} seed {seed}: {tally.line(found)}')
        for text, count in tally.refused.most_common(6):
            print(f'#   refused {count} times: {text}')
        flaws = [f'{f.rule}: {f.text}' for f in found if not f.excuse]
        if flaws and args.keep:
            world.keep(args.keep, f'failover-{kind.__name__}-{seed}')
        return flaws
    finally:
        for process in crew.processes if crew else ():
            process.kill()  # those that have ended are left alone
        if scene:
            scene.stop()
        for server in world.servers:    # of a scene that did not come to be
            server.stop()
        world.remove()


def each_excuse_stands_in_the_guarantees():
    return [text for kind in SCENES.values()
            for text in not_in_the_guarantees(kind.excuses)]


def short(args):
    tests = [('tally ' + t.__name__, None, t)
             for t in (*TESTS, each_excuse_stands_in_the_guarantees)]
    tests += [(name, None if kind.program else getattr(
        kind, 'lacks', 'its server is not installed'),
               lambda kind=kind: play(args, kind, args.seed or 7))
              for name, kind in SCENES.items()]
    alone = os.environ.get('HOLDFAST_TEST_ONLY')
    tests = [t for t in tests if args.only in t[0] and
             alone in (None, t[0].split()[-1])]
    return tap.run([(name.split()[-1], lacks, do)
                    for name, lacks, do in tests], LOAD_EXCUSES)


def long(args):
    """Each scene for its part of the time, and once at least."""
    kinds = [k for n, k in SCENES.items() if args.only in n]
    for kind in [k for k in kinds if not k.program]:
        kinds.remove(kind)
        print(f'SKIP {kind.__name__}: ' + getattr(
            kind, 'lacks', 'its server is not installed'))
    seed = args.seed or time.time_ns() // 1000
    bad = 0
    args.seconds /= len(kinds) or 1
    for kind in kinds:
        flaws = play(args, kind, seed)
        bad += bool(flaws)
        for flaw in flaws:
            print(f'FLAW --only {kind.__name__} --seed {seed}: {flaw[:1200]}')
        sys.stdout.flush()
    print(f'failover: {len(kinds)} scenes, {bad} with flaws')
    return bad or not kinds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--only', default='')
    parser.add_argument('--seed', type=int)
    parser.add_argument('--seconds', type=float)
    parser.add_argument('--keep')
    parser.add_argument('binaries', nargs='+')
    args = parser.parse_args()
    sys.exit(bool(long(args) if args.seconds else short(args)))


if __name__ == '__main__':
    main()
