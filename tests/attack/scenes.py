# SPDX-License-Identifier: MIT
"""Attacks that are the same each time: each makes one thing that was once
broken, or would be worst, and logs a flaw where it is not withstood.
"""
import contextlib
import os
import resource
import socket
import subprocess
import threading
import time

import local
import net
from world import GROUP, HOLDERS, MEMBER, PASSWORD, STRANGER


def expect(world, is_fine, rule, text):
    if not is_fine:
        world.log.flaw(rule, text)


def folder(world, name, owner, group, mode):
    """A folder of locks, which its owner opens to whom the mode says."""
    path = world.path(name)
    os.mkdir(path)
    os.chown(path, owner, group)
    os.chmod(path, mode)
    return path


def fork_as(uid, do):
    """A child that is that user, where we may make one, and does that."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(GROUP if uid == MEMBER else uid)
                os.setuid(uid)
            os.umask(0)
            do()
            code = 0
        finally:
            os._exit(code)
    return pid


def as_user(uid, do):
    return os.waitpid(fork_as(uid, do), 0)[1] == 0


def acquire(world, url, name='held', lease='1m', uid=None):
    p = world.run('acquire', '--try', '--lease', lease, '--url', url, name,
                  uid=uid, name=world.next_id('acquire'))
    token = world.said(p, 'out').strip()
    if token:
        world.log.say('token', p.name, token)
    return token


def is_held(world, url, name='held', uid=None):
    p = world.run('run', '--try', '--url', url, name, '--', 'true', uid=uid)
    return p.returncode == 75


def planted(world, where, attacker, victim, kind):
    """Something stands at the journal's name of a database in use."""
    path = f'{where}/{kind}.db'
    url = 'sqlite:' + path
    token = acquire(world, url, uid=victim)
    expect(world, token, 'broken', f'no lock before anything: {kind}')
    secret = world.path('bait/secret')
    content = (local.journal(path, secret) if kind == 'super' else
               b'\0' * 512 if kind == 'empty' else b'garbage' * 100)
    how = kind if kind in local.KINDS else 'file'
    expect(world, as_user(attacker, lambda: local.plant(
        path + '-journal', how, content, secret)), 'broken',
        f'could not plant {kind}')
    p = world.run('run', '--try', '--url', url, 'other', '--', 'true',
                  uid=victim)
    expect(world, p.returncode == 0, 'denied',
           f'a journal that is a {kind} keeps others out: {p.returncode} '
           f'{world.said(p)}')
    expect(world, is_held(world, url, uid=victim), 'two',
           f'a journal that is a {kind} made a held lock free')


def journal_in_sticky_folder(world):
    where = folder(world, 'sticky', 0, 0, 0o1777)
    for kind in ('super', 'empty', 'garbage', *local.KINDS[1:]):
        planted(world, where, STRANGER, None, kind)


def journal_in_group_folder(world):
    where = folder(world, 'group', HOLDERS[0], GROUP, 0o2770)
    for kind in ('super', 'empty', 'garbage', *local.KINDS[1:]):
        planted(world, where, MEMBER, HOLDERS[0], kind)


def names_taken_before(world):
    """Whatever stands at any of the names when the store is first made."""
    where = folder(world, 'sticky', 0, 0, 0o1777)
    secret = world.path('bait/secret')
    for end in ('', '-journal', '-wal', '-shm', '-holdfast'):
        for kind in ('file', 'folder', 'fifo', 'symlink'):
            path = f'{where}/{kind}{end}.db'
            as_user(STRANGER, lambda p=path, e=end, k=kind: local.plant(
                p + e, k, target=secret))
            world.run('run', '--try', '--url', 'sqlite:' + path, 'a', '--',
                      'true')
    path = f'{where}/made.db'
    as_user(STRANGER, lambda: local.Attack(None, 1, path, []).sql(
        ('pragma journal_mode = wal',), ('create table t(a)',)))
    p = world.run('run', '--try', '--url', 'sqlite:' + path, 'a', '--', 'true')
    expect(world, p.returncode, 'trusted', "root took a stranger's database")


def side_file_is_cut(world):
    where = folder(world, 'group', HOLDERS[0], GROUP, 0o2770)
    for scheme, name, side in (('sqlite', '/x.db', '-holdfast'),
                               ('file', '/f', '/.holdfast')):
        path = where + name
        url = f'{scheme}:{path}'
        if scheme == 'file':
            folder(world, 'group/f', HOLDERS[0], GROUP, 0o2770)
        holder = world.start([world.holdfast, 'run', '--lease', '2', '--url',
                              url, 'a', '--', 'sleep', '3'], HOLDERS[0])
        while not is_held(world, url, 'a', HOLDERS[0]):
            time.sleep(0.02)
        waiter = world.start([world.holdfast, 'run', '--wait', '6', '--url',
                              url, 'a', '--', 'true'], HOLDERS[1])
        time.sleep(0.5)
        expect(world, as_user(MEMBER, lambda p=path + side: os.truncate(
            p, 0)), 'broken', 'the side file could not be cut')
        for p in (holder, waiter):
            world.finish(p, 20)


def disk_is_full(world):
    """Each block that is freed is taken by somebody else at once."""
    where = world.path('small')
    os.mkdir(where)
    url = f'sqlite:{where}/x.db'
    # In a mount namespace of its own: nothing of it is seen outside.
    script = (f'mount -t tmpfs -o size=4m,mode=755 none {where} && '
              f'{world.holdfast} run --lease 2s --url {url} a -- sh -c "'
              f'cat /dev/zero >{where}/fill 2>/dev/null; end=\\$((\\$(date '
              f'+%s) + 7)); i=0; while [ \\$(date +%s) -lt \\$end ]; do '
              f'i=\\$((i+1)); cat /dev/zero >>{where}/fill 2>/dev/null; '
              f'{world.holdfast} acquire --try --url {url} b\\$i '
              f'--token-file {world.path("t")} 2>/dev/null; done; true"')
    p = world.start(['unshare', '-m', 'sh', '-c', script])
    world.finish(p, 30)
    said = world.said(p)
    if p.returncode == 1 and 'unshare' in said or 'mount' in said:
        world.log.say('note', 'no-namespace', said)
        return
    expect(world, p.returncode == 0, 'disk',
           f'a held lock was lost on a full disk: {p.returncode} {said}')


def secrets_in_texts(world):
    """Wherever somebody may put a password by mistake, none is shown."""
    w = PASSWORD
    world.run('run', '--url', 'sqlite:' + world.path('x.db'), 'a', '--', 'env',
              env={'HOLDFAST_PASSWORD': w})
    for scheme in ('mysql', 'postgres', 'redis', 'rediss', 'redlock',
                   'zookeeper'):
        for rest in (f'//root:{w}/db', f'//root:{w}@/db', f'//u:{w}@h:x/db',
                     f'//u:{w}@127.0.0.1:1/db?io_timeout=50ms',
                     f'//u@h/db?pasword={w}',
                     f'//u:{w}%zz@h/db', f'//:{w}', f'//u:{w}@h:99999/d',
                     f'//u:{w}@[::1/d', f'/u:{w}@h/d', f':{w}@h',
                     f'//h/db?password={w}', f'//a:{w}@b:{w}@c/db'):
            world.run('run', '--url', f'{scheme}:{rest}', 'a', '--', 'true',
                      env={'HOLDFAST_PASSWORD': w})


def files_that_are_no_store(world):
    path = world.path('plain')
    with open(path, 'w', encoding='ascii') as f:
        f.write('some text\n' * 900)
    before = sorted(os.listdir(world.folder))
    p = world.run('run', '--url', 'sqlite:' + path, 'a', '--', 'true')
    expect(world, p.returncode, 'trusted', 'a text was taken for a database')
    expect(world, sorted(os.listdir(world.folder)) == before, 'left',
           'files beside what is no database: ' +
           str(set(os.listdir(world.folder)) - set(before)))


class Rogue(threading.Thread):
    """A MySQL server, or who stands before it, that asks for the password."""

    def __init__(self, plugin):
        super().__init__(daemon=True)
        self.plugin = plugin.encode()
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        self.heard = b''
        self.start()

    @staticmethod
    def packet(number, body):
        return len(body).to_bytes(3, 'little') + bytes([number]) + body

    def run(self):
        capabilities = 0x008ff7df & ~0x800      # no TLS
        greeting = (b'\x0a8.0.30\0' + b'\1\0\0\0' + b'saltsalt\0' +
                    (capabilities & 0xffff).to_bytes(2, 'little') +
                    b'\x21\2\0' + (capabilities >> 16).to_bytes(2, 'little') +
                    b'\x15' + b'\0' * 10 + b'saltsaltsalt\0' +
                    b'mysql_native_password\0')
        while True:
            s, _ = self.listener.accept()
            s.settimeout(1)
            with contextlib.suppress(OSError):
                s.sendall(self.packet(0, greeting))
                self.heard += s.recv(4096)
                s.sendall(self.packet(2, b'\xfe' + self.plugin + b'\0' +
                                      (b'\2say it:' if self.plugin ==
                                       b'dialog' else b'')))
                while data := s.recv(4096):
                    self.heard += data
            s.close()


def server_that_asks_for_the_password(world):
    for plugin in ('mysql_clear_password', 'dialog'):
        for tls in ('', '&tls=off', '&tls=require'):
            rogue = Rogue(plugin)
            p = world.start(
                [world.holdfast, 'run', '--try', '--url',
                 f'mysql://root:{PASSWORD}@127.0.0.1:{rogue.port}/d?'
                 f'connect_timeout=2s{tls}', 'a', '--', 'true'],
                stdin=subprocess.PIPE)
            with contextlib.suppress(BrokenPipeError):
                p.stdin.write(b'a-line-of-the-command\n')
                p.stdin.close()
            world.finish(p, 15)
            for secret in (PASSWORD, 'a-line-of-the-command'):
                expect(world, secret.encode() not in rogue.heard, 'secret',
                       f'{plugin} {tls}: the server got {secret}')
            expect(world, 'require' not in tls or b'root' not in rogue.heard,
                   'secret', f'{plugin} {tls}: user sent without TLS')


# ---- with a server

def huge_expires(world, server):
    """A record that never ends is waited for as quietly as any other."""
    url = world.url
    acquire(world, url, 'a')
    for odd in ('9223372036854775807', '20000000000000000'):
        if isinstance(server, net.Redis):
            net.Resp(server.port).ask('HSET', 'holdfast:{a}', 'expires', odd)
        else:
            server.sql(f"update holdfast_lock set expires = {odd} where "
                       "name_key like '%a'", 'hf')
        p = world.start([world.holdfast, 'run', '--wait', '2', '--url', url,
                         'a', '--', 'true'])
        before = server.asked()
        world.finish(p, 20)
        asked = server.asked() - before
        expect(world, p.returncode in (69, 75), 'two',
               f'expires = {odd}: exit {p.returncode}')
        expect(world, asked < 1500, 'flood',
               f'expires = {odd}: {asked} requests in 2 s')


def without_resources(world, _=None, steps=5):
    """No thread, no memory, no descriptor: an error, never a crash."""
    limits = [(resource.RLIMIT_NPROC, 1), (resource.RLIMIT_NOFILE, 6),
              (resource.RLIMIT_NOFILE, 12)]
    limits += [(resource.RLIMIT_AS, (8 + 40 * i // steps) << 20)
               for i in range(steps)]
    for what, limit in limits:
        def less(what=what, limit=limit):
            # A user that nobody else is: the limit counts all of a user's.
            if what == resource.RLIMIT_NPROC and os.geteuid() == 0:
                os.setgroups([])
                os.setgid(GROUP)
                os.setuid(STRANGER + 7)
            resource.setrlimit(what, (limit, limit))
        p = world.start([world.holdfast, 'check', '--url', world.url],
                        preexec_fn=less)
        world.finish(p, 20)
        p = world.start([world.player, 'lib', world.log.path,
                         world.next_id('less'), 'x', '1000', '100', world.url,
                         'a', '0'], preexec_fn=less)
        world.finish(p, 20)


LOCAL = {f.__name__: f for f in (
    journal_in_sticky_folder, journal_in_group_folder, names_taken_before,
    side_file_is_cut, disk_is_full, secrets_in_texts, files_that_are_no_store,
    server_that_asks_for_the_password)}
OF_ROOT = ('journal_in_sticky_folder', 'journal_in_group_folder',
           'names_taken_before', 'side_file_is_cut', 'disk_is_full')
OF_SERVER = {'mysql': (huge_expires, without_resources),
             'postgres': (huge_expires, without_resources),
             'redis': (huge_expires, without_resources),
             'zookeeper': (without_resources,)}
