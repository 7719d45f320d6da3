# SPDX-License-Identifier: MIT
"""Servers started by their own commands, and clients of them by hand: RESP,
ZooKeeper's protocol, SQL through the programs mariadb and psql.
"""
import contextlib
import glob
import os
import shutil
import signal
import socket
import struct
import subprocess
import time

from world import HOLDERS, PASSWORD, SLOW, user


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def find(*names):
    """Debian has PostgreSQL's in a folder of their version."""
    path = ':'.join([os.environ['PATH'], '/usr/sbin:/sbin',
                     *glob.glob('/usr/lib/postgresql/*/bin')[-1:]])
    return next(filter(None, (shutil.which(n, path=path) for n in names)),
                None)


class Server:
    def __init__(self, world, name='server'):
        self.world = world
        self.folder = world.path(name)
        os.mkdir(self.folder)
        self.port = free_port()
        self.process = None
        world.servers.append(self)

    def write(self, name, text):
        """A file of its own; gives where it is."""
        path = f'{self.folder}/{name}'
        with open(path, 'w', encoding='ascii') as f:
            f.write(text)
        return path

    def spawn(self, argv, **more):
        self.command = argv, more
        self.start()

    def begin(self):
        """Also again, with the command of the first time, once it was ended."""
        argv, more = self.command
        with open(self.folder + '/said', 'ab') as out:
            # Without the mark of the world: it outlives what is looked for.
            self.process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                cwd=self.folder, start_new_session=True, **more)

    def start(self):
        """Begins, and waits until it serves."""
        self.begin()
        until = time.monotonic() + 20 * SLOW
        while True:
            with contextlib.suppress(OSError, EOFError):
                return self.greet()
            if self.process.poll() is not None or time.monotonic() > until:
                self.stop()
                with open(self.folder + '/said', errors='replace',
                          encoding='utf-8') as f:
                    raise RuntimeError('the server does not start: ' +
                                       f.read()[-1000:])
            time.sleep(0.05)

    def stop(self):
        if self.process:
            self.signal(signal.SIGKILL)
            self.process.wait()

    def signal(self, number):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)


class Redis(Server):
    program = find('redis-server', 'redis-check-rdb')

    def __init__(self, world, name='server', options=()):
        super().__init__(world, name)
        self.url = f'redis://:{PASSWORD}@127.0.0.1:{self.port}/0'
        self.spawn(['redis-server', '--port', str(self.port), '--bind',
                    '127.0.0.1', '--dir', self.folder, '--save', '',
                    '--appendonly', 'yes', '--requirepass', PASSWORD,
                    *options], executable=self.program)

    def greet(self):
        if Resp(self.port).ask('PING') != 'PONG':
            raise OSError('it is still loading')

    def asked(self):
        info = Resp(self.port).ask('INFO', 'stats')
        return int(info.split('total_commands_processed:')[1].split()[0])


class Resp:
    """A client of Redis."""

    def __init__(self, port):
        self.socket = socket.create_connection(('127.0.0.1', port), 5)
        self.file = self.socket.makefile('rb')
        self.ask('AUTH', PASSWORD)

    def send(self, *words):
        words = [str(w).encode() for w in words]
        self.socket.sendall(b'*%d\r\n' % len(words) + b''.join(
            b'$%d\r\n%s\r\n' % (len(w), w) for w in words))

    def ask(self, *words):
        self.send(*words)
        return self.reply()

    def reply(self):
        line = self.file.readline()
        if not line:
            raise EOFError
        kind, rest = line[:1], line[1:-2]
        if kind == b'*':
            return [self.reply() for _ in range(int(rest))]
        if kind == b'$':
            n = int(rest)
            return None if n < 0 else self.file.read(n + 2)[:-2].decode(
                errors='replace')
        return int(rest) if kind == b':' else rest.decode(errors='replace')


class MariaDB(Server):
    program = find('mariadbd') and find('mariadb')
    root = ['--user=root'] if os.geteuid() == 0 else []
    habits = 'set innodb_lock_wait_timeout=1; set sql_mode="";'
    sessions = ('select id from information_schema.processlist '
                'where id <> connection_id()')

    def __init__(self, world):
        super().__init__(world)
        self.url = f'mysql://hf:{PASSWORD}@127.0.0.1:{self.port}/hf'
        os.mkdir(self.folder + '/tmp')
        common = [f'--datadir={self.folder}/data', *self.root,
                  f'--tmpdir={self.folder}/tmp', '--innodb-log-file-size=4M']
        subprocess.run([find('mariadb-install-db'), '--no-defaults', *common,
                        '--skip-test-db', '--skip-name-resolve',
                        '--auth-root-authentication-method=normal'],
                       check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=120)
        self.spawn([find('mariadbd'), '--no-defaults', *common,
                    f'--port={self.port}', '--bind-address=127.0.0.1',
                    f'--socket={self.folder}/socket', '--skip-name-resolve',
                    '--innodb-buffer-pool-size=16M'])
        self.sql('create database hf; create user hf@127.0.0.1 identified by '
                 f"'{PASSWORD}'; grant all on hf.* to hf@127.0.0.1;")

    def greet(self):
        assert self.sql('select 1') == '1\n'

    def sql(self, text, user='root'):
        own = [] if user == 'root' else [f'-p{PASSWORD}', '-h127.0.0.1',
                                         f'-P{self.port}']
        r = subprocess.run(
            [find('mariadb'), '--no-defaults', '-N', '-u', user, *own,
             '--force', f'--socket={self.folder}/socket',
             *(['-Dhf'] if user != 'root' else [])], input=text.encode(),
            capture_output=True, timeout=30)
        if r.returncode and not r.stdout:
            raise OSError(r.stderr.decode(errors='replace')[:300])
        return r.stdout.decode(errors='replace')

    def asked(self):
        return int(self.sql("show global status like 'Questions'").split()[1])


class UserLocks(MariaDB):
    def __init__(self, world):
        super().__init__(world)
        self.url += '?scheme=session&session_timeout=2s'


class Postgres(Server):
    program = find('postgres') and find('psql')
    habits = "set lock_timeout = '1s';"
    sessions = ("select pid from pg_stat_activity where usename = 'hf' "
                'and pid <> pg_backend_pid()')

    def __init__(self, world):
        super().__init__(world)
        self.url = f'postgres://hf:{PASSWORD}@127.0.0.1:{self.port}/hf'
        nobody = user(HOLDERS[0])   # it refuses to be root
        if nobody:
            os.chown(self.folder, nobody['user'], nobody['group'])
        data = self.folder + '/data'
        subprocess.run([find('initdb'), '-D', data, '-U', 'postgres', '-A',
                        'scram-sha-256', '--auth-local=trust', '--locale=C',
                        '--encoding=UTF8', '--no-sync'], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       timeout=120, cwd=self.folder, **nobody)
        self.spawn([find('postgres'), '-D', data, '-h', '127.0.0.1', '-p',
                    str(self.port), '-k', self.folder], **nobody)
        self.sql(f"create role hf login password '{PASSWORD}';"
                 'create database hf owner hf;')

    def greet(self):
        self.sql('select 1')

    def sql(self, text, user='postgres'):
        where = (self.url if user != 'postgres' else
                 f'postgres://{user}@:{self.port}/?host={self.folder}')
        r = subprocess.run([find('psql'), '-XqAt', where], input=text.encode(),
                           capture_output=True, timeout=30)
        if r.returncode:
            raise OSError(r.stderr.decode(errors='replace')[:300])
        return r.stdout.decode(errors='replace')

    def asked(self):
        return int(self.sql('select sum(xact_commit + xact_rollback)'
                            'from pg_stat_database'))

    def stop(self):
        """At once, but by itself: what is killed leaves memory behind."""
        if self.process:
            self.signal(signal.SIGQUIT)
            self.process.wait()


class ZooKeeper(Server):
    program = os.path.exists('/usr/share/java/zookeeper.jar') and find('java')

    def __init__(self, world):
        super().__init__(world)
        self.url = (f'zookeeper://127.0.0.1:{self.port}/locks'
                    '?session_timeout=1500ms')
        self.write('zoo.cfg',
                   f'clientPort={self.port}\nclientPortAddress=127.0.0.1\n'
                   f'dataDir={self.folder}/data\ntickTime=200\n'
                   'maxClientCnxns=0\nadmin.enableServer=false\n')
        self.spawn([self.program, '-cp', '/usr/share/java/slf4j-simple.jar:'
                    '/usr/share/java/zookeeper.jar', '-XX:+UseSerialGC',
                    '-XX:TieredStopAtLevel=1', '-Xmx96m',
                    'org.apache.zookeeper.server.quorum.QuorumPeerMain',
                    self.folder + '/zoo.cfg'])

    def greet(self):
        Zoo(self.port).children('/')


class Zoo:
    """A client of ZooKeeper: connects, lists, makes, changes, deletes."""
    OPEN = struct.pack('>ii', 1, 31) + b'\0\0\0\5world\0\0\0\6anyone'

    def __init__(self, port):
        self.socket = socket.create_connection(('127.0.0.1', port), 5)
        self.xid = 0
        self.send(struct.pack('>iqiqi', 0, 0, 4000, 0, 16) + b'\0' * 16)
        self.take()

    def send(self, data):
        self.socket.sendall(struct.pack('>i', len(data)) + data)

    def read(self, n):
        data = b''
        while len(data) < n:
            more = self.socket.recv(n - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def take(self):
        return self.read(struct.unpack('>i', self.read(4))[0])

    def ask(self, kind, path, rest=b''):
        self.xid += 1
        path = path.encode()
        self.send(struct.pack('>iii', self.xid, kind, len(path)) + path + rest)
        reply = self.take()
        code = struct.unpack('>i', reply[12:16])[0]
        if code:
            raise OSError(f'ZooKeeper says {code}')
        return reply[16:]

    def create(self, path, flags=0):
        return self.ask(1, path, struct.pack('>i', 4) + b'junk' + self.OPEN +
                        struct.pack('>i', flags))

    def delete(self, path):
        return self.ask(2, path, struct.pack('>i', -1))

    def put(self, path, data):
        return self.ask(5, path, struct.pack('>i', len(data)) + data +
                        struct.pack('>i', -1))

    def children(self, path):
        reply = self.ask(8, path, b'\0')
        at, names = 4, []
        for _ in range(struct.unpack('>i', reply[:4])[0]):
            n = struct.unpack('>i', reply[at:at + 4])[0]
            names.append(reply[at + 4:at + 4 + n].decode())
            at += 4 + n
        return names

    def tree(self, path):
        for name in self.children(path):
            below = f'{path.rstrip("/")}/{name}'
            if below != '/zookeeper':
                yield from self.tree(below)
                yield below
