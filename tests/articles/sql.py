# SPDX-License-Identifier: MIT
"""Sessions on the MariaDB server of a test, by its own client program, for
what a person would type there: they stay open, and may be left waiting."""
import os
import re
import subprocess
import zlib

URL = os.environ['HOLDFAST_TEST_MYSQL_URL']
SOCKET = os.environ['HOLDFAST_TEST_MYSQL_SOCKET']
ADMIN = (os.environ['HOLDFAST_TEST_MYSQL_ADMIN'],
         os.environ['HOLDFAST_TEST_MYSQL_ADMIN_PASSWORD'])
# Of whom the command is told: an ordinary user.
USER = tuple(re.match(r'mysql://([^:@]*):([^@]*)@', URL).groups())


def errors(rows):
    """The numbers of the errors among the rows."""
    return [int(row[0].split()[1]) for row in rows
            if re.match(r'ERROR \d', row[0])]


class Session:
    """One connection; statements are answered in their order."""

    def __init__(self, t, database=None, user=ADMIN):
        self.t = t
        self.read = 0  # of what it has said
        self.count = 0
        read_end, self.stdin = os.pipe()
        words = ['mariadb', '--no-defaults', '--batch', '--raw', '--force',
                 '--skip-column-names', '--unbuffered', '--skip-reconnect',
                 f'--socket={SOCKET}', f'--user={user[0]}']
        self.process = t.spawn(words + ([database] if database else []),
                               env={'MYSQL_PWD': user[1]}, stdin=read_end,
                               stderr=subprocess.STDOUT)
        os.close(read_end)
        self.id = self.one('SELECT CONNECTION_ID()')

    def send(self, *statements):
        """What answer() will have the answer to."""
        self.count += 1
        text = '\n'.join(f'{sql};' for sql in statements)
        os.write(self.stdin, f"{text}\nSELECT 'end {self.count}';\n".encode())

    def answer(self):
        """The rows of what was sent, as lists; an error is a row, too."""
        end = f'end {self.count}\n'
        self.t.until(lambda: end in self.said(), f'{end} of a session: '
                     f'{self.said()}')
        text = self.said().partition(end)[0]
        self.read += len(text) + len(end)
        return [line.split('\t') for line in text.splitlines()]

    def said(self):
        return self.process.out[self.read:]

    def ask(self, *statements):
        self.send(*statements)
        return self.answer()

    def one(self, *statements):
        """The first column of the last row."""
        rows = self.ask(*statements)
        self.t.check(rows and not errors(rows), f'{statements}: {rows}')
        return rows[-1][0]

    def run(self, *statements):
        """That go well, and say nothing."""
        self.t.equal(self.ask(*statements), [], str(statements))

    def changed(self, sql):
        """How many rows the statement changed."""
        return int(self.one(sql, 'SELECT ROW_COUNT()'))

    def error(self, sql):
        """The number of the error that it ends with, 0 if there is none."""
        return (errors(self.ask(sql)) or [0])[0]

    def close(self):
        """As the end of a program: the server ends its connection."""
        os.close(self.stdin)
        self.process.wait()


def fresh(t):
    """A database for the case's own tables; the command has a prefix of its
    own for its names. Gives a session there, and how to open more."""
    number = zlib.crc32(str(t.dir).encode())
    t.env['HOLDFAST_URL'] = f'{URL}?prefix=case{number}'
    admin = Session(t)
    admin.run(f'CREATE DATABASE articles_{number}')

    def session(user=ADMIN):
        return Session(t, None if user == USER else f'articles_{number}', user)
    return session(), session


def prefix_of(t):
    return t.env['HOLDFAST_URL'].rpartition('=')[2]


def locks_table(session):
    """The lock table as the articles have it: a unique index on the name."""
    session.run('CREATE TABLE named_lock ('
                ' id BIGINT AUTO_INCREMENT PRIMARY KEY,'
                ' lock_key VARCHAR(100) NOT NULL,'
                ' lock_value VARCHAR(255) NOT NULL,'
                ' create_time DATETIME, update_time DATETIME,'
                ' expire_time DATETIME, UNIQUE (lock_key)) ENGINE=InnoDB')


def take(key, value, end='NULL'):
    """The statement by which value takes key, until end."""
    return ('INSERT INTO named_lock'
            ' (lock_key, lock_value, create_time, update_time, expire_time)'
            f" VALUES ('{key}', '{value}', NOW(), NOW(), {end})")


CLEAN = 'DELETE FROM named_lock WHERE expire_time < NOW()'
