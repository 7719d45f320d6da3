# SPDX-License-Identifier: MIT
"""What a user of the same machine may do to a database or a folder of locks:
the files that a stranger plants, and a member of the group, drawn by seed.
"""
import contextlib
import fcntl
import os
import random
import sqlite3
import struct
import time

ODD = (2 ** 63 - 1, -2 ** 63, -1, 0, 10 ** 17, 'nonsense', 'x' * 70000,
       b'\0' * 16, b'\xff' * 15, None, 1.5, '')
COLUMNS = ('fence', 'token', 'expires', 'keep_until', 'keep_us', 'boot',
           'side', 'acquired_at', 'freed_at', 'broken', 'label', 'host', 'pid',
           'thread', 'note', 'beside', 'line')


def journal(database, super_name):
    """A rollback journal that SQLite takes for hot and plays back: it changes
    nothing of the database, and names a file that it then removes."""
    with open(database, 'rb') as f:
        head = f.read(32)
    page = struct.unpack('>H', head[16:18])[0]
    page = 65536 if page == 1 else page
    pages = os.path.getsize(database) // page
    magic = bytes.fromhex('d9d505f920a163d7')
    text = magic + struct.pack('>IIIII', 0, 7, pages, 512, page)
    name = super_name.encode()
    tail = struct.pack('>I', 2 ** 30 // page + 1) + name + struct.pack(
        '>II', len(name), sum(name)) + magic
    return text.ljust(512, b'\0') + tail


def plant(path, kind, content=b'garbage' * 100, target='/nowhere'):
    """Puts something of that kind at a path where nothing is."""
    if kind == 'file':
        with open(path, 'xb') as f:
            f.write(content)
        os.chmod(path, 0o666)
    elif kind == 'folder':
        os.mkdir(path)
    elif kind == 'fifo':
        os.mkfifo(path)
    elif kind == 'symlink':
        os.symlink(target, path)
    elif kind == 'hardlink':
        os.link(target, path)


KINDS = ('file', 'folder', 'fifo', 'symlink')


class Attack:
    """A member of the group: may read and write all files of the store."""

    def __init__(self, log, seed, path, names):
        self.log = log
        self.random = random.Random(seed)
        self.path = path
        self.names = names

    # ---- both

    def lock_bytes(self, path):
        with open(path, 'r+b') as f, contextlib.suppress(OSError):
            start = self.random.choice((0, 120, 124, 2 ** 30,
                                        self.random.randrange(2 ** 20)))
            how = self.random.choice((fcntl.LOCK_EX, fcntl.LOCK_SH))
            fcntl.lockf(f, how | fcntl.LOCK_NB, self.random.choice((1, 100)),
                        start)
            time.sleep(self.random.uniform(0, 0.4))

    def spoil_file(self, path):
        """Cuts, overwrites, punches: the file stays the same one."""
        with open(path, 'r+b') as f:
            size = os.path.getsize(path)
            how = self.random.randrange(4)
            if how == 0:
                f.truncate(self.random.choice((0, 1, size // 2)))
            elif how == 1:
                f.truncate(size * 2)
            elif how == 2:
                f.seek(self.random.randrange(size or 1))
                f.write(self.random.randbytes(100))
            else:
                f.truncate(0)
                f.truncate(size)

    def replace(self, path):
        if self.random.random() < 0.5:
            os.unlink(path)
        else:
            with open(path + '~', 'wb') as f:
                f.write(b'another' * 50)
            os.rename(path + '~', path)

    def litter(self):
        """Plants things under the names that a store may want."""
        ends = ('-journal', '-wal', '-shm', '-holdfast', '-mj0', '.tmp')
        path = self.path + self.random.choice(ends)
        plant(path, self.random.choice(KINDS), target=self.path)

    # ---- SQLite

    def sql(self, *statements, pause=0):
        db = sqlite3.connect(self.path, timeout=1, isolation_level=None)
        try:
            for text, *values in statements:
                db.execute(text, values)
            time.sleep(pause)
        finally:
            db.close()

    def edit(self, name):
        column = self.random.choice(COLUMNS)
        value = self.random.choice(ODD)
        how = self.random.randrange(4)
        if how == 0:
            self.sql(('delete from holdfast_lock where key like ?',
                      '%' + name))
        elif how == 1:
            table = self.random.choice(('beside', 'ticket'))
            column = self.random.choice(('token', 'mode', 'slots', 'boot'))
            self.sql((f'update or ignore holdfast_{table} set {column} = ? '
                      'where key like ?', value, '%' + name))
        else:
            self.sql((f'update or ignore holdfast_lock set {column} = ? '
                      'where key like ?', value, '%' + name))

    def hold_transaction(self):
        begin = self.random.choice(('begin exclusive', 'begin immediate'))
        self.sql((begin,), ('select count(*) from holdfast_lock',),
                 pause=self.random.uniform(0, 0.7))

    def sqlite_step(self, level):
        name = self.random.choice(self.names)
        side = self.path + '-holdfast'
        acts = [
            ('transaction', '*', self.hold_transaction),
            ('bytes', '*', lambda: self.lock_bytes(self.random.choice(
                (self.path, side, self.path + '-shm')))),
            ('litter', '*', self.litter),
        ]
        if level >= 1:
            acts += [('sqlite-row', name, lambda: self.edit(name))] * 3
        if level >= 2:
            acts += [('side-spoil', '*', lambda: self.spoil_file(side))] * 3
        if level >= 3:
            acts += [('replace', '*', lambda: self.replace(
                self.random.choice((side, self.path + '-wal'))))]
        if level >= 4:
            end = self.random.choice(('', '-wal', '-shm'))
            acts += [('sqlite-shm' if end == '-shm' else 'sqlite-over', '*',
                      lambda: self.spoil_file(self.path + end))]
        return self.random.choice(acts)

    # ---- files

    def file_step(self, level):
        name = self.random.choice(self.names)
        path = f'{self.path}/holdfast:{name}'
        side = self.path + '/.holdfast'
        acts = [
            ('bytes', '*', lambda: self.lock_bytes(self.random.choice(
                (path, side)))),
            ('litter', '*', lambda: plant(
                f'{self.path}/{self.random.choice((".new-1", "x", "y:z"))}',
                self.random.choice(KINDS))),
        ]
        if level >= 1:
            acts += [('file-delete', name, lambda: os.unlink(path))] * 2
        if level >= 2:
            acts += [('side-spoil', '*', lambda: self.spoil_file(side))] * 2
        if level >= 3:
            acts += [('file-spoil', name, lambda: self.spoil_file(path)),
                     ('file-folder', '*', lambda: self.replace(side))]
        return self.random.choice(acts)

    def go(self, scheme, seconds):
        level = self.random.randrange(5)
        until = time.monotonic() + seconds
        step = self.sqlite_step if scheme == 'sqlite' else self.file_step
        while time.monotonic() < until:
            what, name, do = step(level)
            with self.log.act(what, name):
                do()
            time.sleep(self.random.uniform(0, 0.2))
