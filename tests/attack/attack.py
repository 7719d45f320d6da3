#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Attacks Holdfast with all that is permitted to those around it: members of
the group, strangers in a sticky folder, clients of the same server.

    attack.py [--only WORD] [--seed N] [--seconds N] [--keep FOLDER] BIN...

Without --seconds: a short run with fixed seeds, in TAP. With it: rounds with
fresh seeds until the time is up; each prints its seed, and "--only sqlite
--seed N" does that round again. With --keep the log of one that had flaws stays
in that folder. BIN are the files that are attacked: the command, its library
and modules, and the player.
"""
import argparse
import os
import signal
import sys
import time

import local
import mischief
import net
import scenes
import tap
from judge_test import TESTS
from world import (Client, GROUP, HOLDERS, MEMBER, SLOW, Tormentor, World)

SERVERS = {'mysql': net.MariaDB, 'mysql-session': net.UserLocks,
           'postgres': net.Postgres, 'redis': net.Redis,
           'zookeeper': net.ZooKeeper}
STORES = ('sqlite', 'file', *SERVERS)


def report(world, found, log):
    """What is no excuse, as text."""
    excused = [f for f in found if f.excuse]
    print(f'# {world.url or "scene"} seed {world.seed}: '
          f'{len(log.grants)} grants, {len(log.acts)} acts, '
          f'{len(excused)} excused')
    for f in excused:
        print(f'#   {f.rule}: {f.text}, by: {f.excuse}')
    return [f'{f.rule}: {f.text}' for f in found if not f.excuse]


def local_store(world, scheme):
    """The documented place for a group: a setgid folder that it may write."""
    owner, group = (HOLDERS[0], GROUP) if os.geteuid() == 0 else (-1, -1)
    where = scenes.folder(world, 'store', owner, group, 0o2770)
    path = where + ('/x.db' if scheme == 'sqlite' else '')
    world.url = f'{scheme}:{path}'
    return path


def attack_local(world, scheme, path, seconds):
    """A member of the group, in a child: python may be root's alone."""
    attack = local.Attack(world.log, world.seed, path, world.names)
    return scenes.fork_as(MEMBER, lambda: attack.go(scheme, seconds))


def end_child(pid):
    """It may wait for ever, in a fifo of its own."""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def melee(args, scheme, seed, seconds, clients=5):
    """Clients of one store among attackers, for so long."""
    world = World(args.binaries, seed)
    server = attacker = None
    try:
        if scheme in SERVERS:
            server = SERVERS[scheme](world)
            world.url = server.url
        else:
            path = local_store(world, scheme)
        world.run('run', '--url', world.url, 'first', '--', 'true',
                  uid=HOLDERS[0])
        if not server:
            attacker = attack_local(world, scheme, path, seconds)
        threads = [Client(world, i) for i in range(clients)]
        threads.append(Tormentor(world))
        if server:
            threads.append(mischief.Mischief(world, server))
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        world.is_over.set()
        for thread in threads:
            thread.join(60)
        if attacker:
            end_child(attacker)
            attacker = None
        found, log = world.end()
        flaws = report(world, found, log)
        if not log.grants:
            flaws.append('vacuous: nobody was granted anything')
        if flaws and args.keep:
            world.keep(args.keep, f'attack-{scheme}-{seed}')
        return flaws
    finally:
        if attacker:
            end_child(attacker)
        if server:
            server.stop()
        world.remove()


def scene(binaries, do, scheme=None, **more):
    world = World(binaries, do.__name__)
    server = None
    try:
        if scheme:
            server = SERVERS[scheme](world)
            world.url = server.url
            do(world, server, **more)
        else:
            do(world, **more)
        return report(world, *world.end())
    finally:
        if server:
            server.stop()
        world.remove()


def plan(args):
    """Name, whether it can be done here, and how, of the short run."""
    is_root = os.geteuid() == 0
    for test in TESTS:
        yield 'judge ' + test.__name__, True, test
    for name, do in scenes.LOCAL.items():
        yield f'scene {name}', is_root or name not in scenes.OF_ROOT, \
            lambda do=do: scene(args.binaries, do)
    for scheme, several in scenes.OF_SERVER.items():
        # A sanitizer has threads and memory of its own, beyond any limit.
        for do in several[:None if SLOW == 1 else -1]:
            yield f'scene {do.__name__}_of_{scheme}', SERVERS[scheme].program, \
                lambda do=do, s=scheme: scene(args.binaries, do, s)
    for scheme in STORES:
        there = scheme not in SERVERS or SERVERS[scheme].program
        yield f'melee melee_of_{scheme}', there, \
            lambda s=scheme: melee(args, s, args.seed or 12, 3)


def short(args):
    return tap.run([(name.split()[1],
                     None if is_possible else 'needs root or a server', do)
                    for name, is_possible, do in plan(args)
                    if args.only in name])


def long(args):
    """Rounds until the time is up; the first flaw does not end it."""
    until = time.monotonic() + args.seconds
    seed = args.seed or time.time_ns() // 1000
    bad = 0
    rounds = 0
    while time.monotonic() < until or not rounds:
        for scheme in STORES:
            if args.only not in scheme or (
                    scheme in SERVERS and not SERVERS[scheme].program):
                continue
            if rounds and time.monotonic() > until:
                break
            flaws = melee(args, scheme, seed, 8)
            rounds += 1
            bad += bool(flaws)
            for flaw in flaws:
                print(f'FLAW --only {scheme} --seed {seed}: {flaw[:1200]}')
            sys.stdout.flush()
        if args.seed:
            break
        seed += 1
    print(f'attack: {rounds} rounds, {bad} with flaws')
    return bad


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
