# SPDX-License-Identifier: MIT
"""A world to attack in: a folder, users, programs, the log, those who lock.

Nothing here is Holdfast's: it runs the built command and the player, and
writes what it sees to the log that judge.py reads.
"""
import contextlib
import json
import os
import random
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from judge import Found, judge

PASSWORD = 'Pw-in-the-open-9137'
GROUP = 61000
HOLDERS = (65534, 61001)
STRANGER = 61002        # no member of the group
MEMBER = 61003          # attacks as one
SLOW = 5 if os.environ.get('HOLDFAST_TEST_SLOW') else 1
CRASHES = {-s for s in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS,
                        signal.SIGILL, signal.SIGFPE, signal.SIGSYS,
                        signal.SIGPIPE)}
REPORTS = ('Sanitizer', 'runtime error:', 'Assertion', 'core dumped')


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Log:
    def __init__(self, path):
        self.path = path
        self.fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT |
                          os.O_CLOEXEC, 0o666)

    def say(self, event, *words, at=None):
        line = ' '.join(map(str, (at or now(), event, *words)))
        os.write(self.fd, line.replace('\n', '|').encode()[:2000] + b'\n')

    def flaw(self, rule, text):
        self.say('flaw', rule, text)

    @contextlib.contextmanager
    def act(self, what, name='*'):
        """Logged before and after; that it fails is no news."""
        self.say('act', what, name)
        try:
            yield
        except Exception as e:  # pylint: disable=broad-except
            self.say('note', what, type(e).__name__, e)
        finally:
            self.say('did', what, name)


def user(uid):
    """Arguments for Popen; who is not root is itself."""
    if os.geteuid() != 0 or uid is None:
        return {}
    groups = [] if uid == STRANGER else [GROUP]
    return {'user': uid, 'group': groups[0] if groups else uid,
            'extra_groups': groups}


def marked(text):
    """Processes in whose environment the text stands."""
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/environ', 'rb') as f:
                if text.encode() in f.read() and int(pid) != os.getpid():
                    yield int(pid)
        except OSError:
            pass


class World:
    def __init__(self, programs, seed, url=None, names=3):
        self.folder = tempfile.mkdtemp(prefix='hf-attack-')
        os.chmod(self.folder, 0o755)
        self.mark = f'ATTACK_WORLD={self.folder}'
        self.seed = seed
        self.url = url
        self.names = [f'n{i}' for i in range(names)]
        self.log = Log(self.path('log'))
        os.chmod(self.path('log'), 0o666)
        for place in ('bin', 'out', 'bait'):
            os.mkdir(self.path(place))
        for program in programs:
            shutil.copy(program, self.path('bin'))
            name = os.path.basename(program)
            if '.so.' in name:
                # By the name that programs ask for, libholdfast.so.0.
                os.symlink(name, self.path('bin/' + '.'.join(
                    name.split('.')[:3])))
        self.holdfast = self.path('bin/holdfast')
        self.player = self.path('bin/attack_player')
        self.count = 0
        self.lock = threading.Lock()
        self.live = {}
        self.excuses = None     # by act, other than the attack's
        self.servers = []       # that were started: net.Server
        self.is_over = threading.Event()
        self.is_removed = False
        self.lay_bait()

    def path(self, name):
        return os.path.join(self.folder, name)

    # Files that no store has any business with.
    def lay_bait(self):
        for name in ('secret', 'secret-journal', 'secret.db', 'notes'):
            with open(self.path('bait/' + name), 'w', encoding='ascii') as f:
                f.write('keep ' * 200)
        os.chmod(self.path('bait'), 0o700)
        self.bait = self.look_at_bait()

    def look_at_bait(self):
        return {name: (os.lstat(self.path('bait/' + name)).st_ino,
                       open(self.path('bait/' + name), 'rb').read())
                for name in sorted(os.listdir(self.path('bait')))}

    def next_id(self, kind):
        with self.lock:
            self.count += 1
            return f'{kind}{self.count}'

    def start(self, argv, uid=None, name=None, **more):
        """A process whose words go to files of its own."""
        name = name or self.next_id('p')
        env = {'PATH': os.environ['PATH'], 'ATTACK_WORLD': self.folder}
        env.update({k: v for k, v in os.environ.items()
                    if k.endswith('SAN_OPTIONS')})
        env.update(more.pop('env', {}))
        more.setdefault('stdin', subprocess.DEVNULL)
        with open(self.path(f'out/{name}.err'), 'wb') as err, \
                open(self.path(f'out/{name}.out'), 'wb') as out:
            more.setdefault('stdout', out)
            p = subprocess.Popen(argv, stderr=err, env=env, **user(uid),
                                 start_new_session=True, cwd='/', **more)
        p.name = name
        return p

    def said(self, p, which='err'):
        with open(self.path(f'out/{p.name}.{which}'), errors='replace',
                  encoding='utf-8') as f:
            return f.read()

    def finish(self, p, limit):
        """Waits for its end; a crash or a hang is a flaw."""
        what = ' '.join(map(str, p.args))[-160:]
        try:
            p.wait(limit * SLOW)
        except subprocess.TimeoutExpired:
            self.log.flaw('hang', f'{p.name} over {limit} s: {what}')
            os.kill(p.pid, signal.SIGCONT)
            os.killpg(p.pid, signal.SIGKILL)
            p.wait()
        words = self.said(p)
        if p.returncode in CRASHES or any(r in words for r in REPORTS):
            is_bus = p.returncode == -signal.SIGBUS
            self.log.flaw('bus' if is_bus else 'crash',
                          f'{p.name} {p.returncode}: {what}: {words[-600:]}')
        elif p.returncode == 70:
            self.log.flaw('internal', f'{p.name}: {what}: {words[-300:]}')
        return p.returncode

    def run(self, *args, uid=None, limit=20, **more):
        """holdfast with these arguments, to its end."""
        p = self.start([self.holdfast, *map(str, args)], uid, **more)
        self.finish(p, limit)
        return p

    def command(self, name, ms, mode='x', lease=1000, flags='-'):
        return [self.player, 'cmd', self.log.path, name, mode, str(lease),
                str(ms), flags]

    def end(self):
        """Ends what is left, looks at what is left behind, and judges."""
        self.is_over.set()
        until = time.monotonic() + 6 * SLOW
        left = list(marked(self.mark))
        while left and time.monotonic() < until:
            time.sleep(0.1)
            left = list(marked(self.mark))
        for pid in left:
            with contextlib.suppress(OSError):
                with open(f'/proc/{pid}/cmdline', encoding='utf-8') as f:
                    words = f.read().replace('\0', ' ')[:160]
                os.kill(pid, signal.SIGKILL)
                self.log.flaw('left', f'process {pid}: {words}')
        if self.look_at_bait() != self.bait:
            self.log.flaw('touched', 'files of others in bait/')
        with open(self.log.path, encoding='utf-8', errors='replace') as f:
            found, log = judge(f, self.excuses)
        found += self.secrets(log)
        return found, log

    def secrets(self, log):
        for name in sorted(os.listdir(self.path('out'))):
            with open(self.path('out/' + name), errors='replace',
                      encoding='utf-8') as f:
                text = f.read()
            if PASSWORD in text:
                yield Found('secret', f'password in {name}: {text[:200]}', None)
            for token in log.tokens:
                if token in text and not name.startswith('acquire'):
                    yield Found('secret', f'token in {name}: '
                                f'{text[max(0, text.find(token) - 200):]}',
                                None)

    def keep(self, folder, name):
        """The log, and what each process said."""
        to = os.path.join(folder, name)
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(self.path('out'), to)
        shutil.copy(self.log.path, to)

    def remove(self):
        with self.lock:
            self.is_removed = True
            os.close(self.log.fd)
        shutil.rmtree(self.folder, ignore_errors=True)


class Client(threading.Thread):
    """One after the other: locks by run, hold, acquire or the library."""
    KINDS = ('run', 'run', 'lib', 'lib', 'hold', 'acquire')

    def __init__(self, world, number):
        super().__init__(daemon=True)
        self.world = world
        self.random = random.Random(f'{world.seed} {number}')
        self.uid = self.random.choice(HOLDERS)

    def run(self):
        while not self.world.is_over.is_set():
            kind = self.random.choice(self.KINDS)
            if kind == 'acquire' and not self.lease():
                kind = 'lib'    # a store of sessions has no detached grants
            name = self.random.choice(self.world.names)
            ms = self.random.choice((20, 100, 300, 800))
            getattr(self, 'by_' + kind)(self.world.next_id(kind), name, ms)

    def mode(self):
        if 'scheme=' in self.world.url:
            return 'x'  # the server's own locks have one holder
        return self.random.choice(('x', 'x', 'x', 's', '2'))

    def live(self, p, limit=15):
        world = self.world
        with world.lock:
            world.live[p.name] = p
        world.finish(p, limit)
        with world.lock:
            del world.live[p.name]

    def by_run(self, gid, name, ms):
        mode = self.mode()
        flags = self.random.choice(('-', '-', 't', 'd', 'td'))
        options = {'x': [], 's': ['--shared']}.get(mode, ['--slots', mode])
        self.live(self.world.start(
            [self.world.holdfast, 'run', '--url', self.world.url,
             *self.lease(), '--wait', '2', '-v', *options, name, '--',
             *self.world.command(gid, ms, mode, 1000, flags)],
            self.uid, gid))

    def lease(self):
        is_session = 'session_timeout=' in self.world.url
        return [] if is_session else ['--lease', '1']

    def by_lib(self, gid, name, ms):
        self.live(self.world.start(
            [self.world.player, 'lib', self.world.log.path, gid, self.mode(),
             '1000', str(ms), self.world.url, name, '2000'], self.uid, gid))

    def by_hold(self, gid, name, ms):
        world = self.world
        p = world.start([world.holdfast, 'hold', '--url', world.url,
                         *self.lease(), '--wait', '2', name], self.uid, gid,
                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        ready, _, _ = select.select([p.stdout], [], [], 12 * SLOW)
        line = p.stdout.readline().decode() if ready else ''
        if 'fence=' in line:
            fence = line.split('fence=')[1].split()[0]
            self.inside(gid, name, fence, ms, lambda t: p.poll() is None)
        p.stdin.close()
        p.stdout.close()
        world.finish(p, 12)

    def inside(self, gid, name, fence, ms, is_held):
        log = self.world.log
        begin = t = now()
        while is_held(t) and t < begin + ms * 10 ** 6:
            if t == begin:
                log.say('in', gid, name, fence, 'x', '-', 1000, at=t)
            log.say('beat', gid, at=t)
            time.sleep(0.004)
            t = now()

    def by_acquire(self, gid, name, ms):
        world = self.world
        sent = now()
        args = ('--url', world.url, name)
        p = world.run('acquire', '--json', '--wait', 0, *self.lease(), *args,
                      uid=self.uid, name='acquire-' + gid)
        if p.returncode != 0:
            time.sleep(0.05)
            return
        grant = json.loads(world.said(p, 'out'))
        world.log.say('token', gid, grant['token'])
        env = {'HOLDFAST_TOKEN': grant['token']}
        end = sent + int(0.99 * 10 ** 9) - 5 * 10 ** 6
        self.inside(gid, name, grant['fence'], ms, lambda t: t < end)
        for verb in self.random.choice((('release',), ('renew', 'release'),
                                        ())):
            sent = now()
            more = self.lease() if verb == 'renew' else []
            p = world.run(verb, *more, *args, uid=self.uid, env=env)
            if verb == 'renew' and p.returncode == 0:
                self.go_on(gid, sent)

    def go_on(self, gid, sent):
        end = sent + int(0.99 * 10 ** 9) - 5 * 10 ** 6
        until = min(end, now() + 100 * 10 ** 6)
        while (t := now()) < until:
            self.world.log.say('beat', gid, at=t)
            time.sleep(0.004)


class Tormentor(threading.Thread):
    """Stops, continues and kills those who hold and wait."""

    def __init__(self, world):
        super().__init__(daemon=True)
        self.world = world
        self.random = random.Random(f'{world.seed} tormentor')

    def run(self):
        world = self.world
        while not world.is_over.wait(self.random.uniform(0.02, 0.3)):
            with world.lock:
                live = sorted(world.live)
                name = self.random.choice(live) if live else None
                if name:
                    self.hit(world.live[name])

    def hit(self, p):
        world = self.world
        how = self.random.choice(('stop', 'stop', 'kill', 'term'))
        world.log.say('hit', how, p.name)
        p.send_signal({'kill': signal.SIGKILL, 'term': signal.SIGTERM,
                       'stop': signal.SIGSTOP}[how])
        if how == 'stop':
            timer = threading.Timer(self.random.choice((0.05, 0.5, 1.5, 2.5)),
                                    self.go_on, [p])
            timer.daemon = True
            timer.start()

    def go_on(self, p):
        # Of what was waited for, the number may be another's by now, and
        # send_signal() then sends nothing.
        with self.world.lock:   # said in the order in which it is sent
            if self.world.is_removed:   # the log's number is another's
                return
            self.world.log.say('hit', 'cont', p.name)
            p.send_signal(signal.SIGCONT)
