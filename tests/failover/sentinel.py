# SPDX-License-Identifier: MIT
"""A primary, two replicas and three Sentinels. The primary is killed, stopped,
or cut off from all but its clients; each time a replica is made the primary, and
the old one comes back as a primary, beside it, until it is made a replica. Once
as it is, where a grant that was not replicated is forgotten; and once with each
grant known to a replica, where nobody may lose anything."""
import contextlib
import signal
import time

import net
from judge import Excuse
from world import PASSWORD, SLOW

SERVICE = 'holdfast'
# Sentinels and replicas are users of their own, who can be kept out alone.
USERS = (('replica', '+psync +replconf +ping'),
         ('sentinel', 'allchannels +multi +slaveof +ping +exec +subscribe '
          '+config|rewrite +role +publish +info +client|setname '
          '+client|kill +script|kill'))
FORGOTTEN = 'after a failover a grant may be forgotten and given again'
UNHEARD = ('until a holder has heard of a failover it believes in its lease '
           'by the old primary')


class Watched(net.Redis):
    """One of the servers; a replica of that port, unless it is None."""

    def __init__(self, world, name, of):
        net.Server.__init__(self, world, name)
        conf = self.write(
            'redis.conf',
            f'port {self.port}\nbind 127.0.0.1\ndir {self.folder}\n'
            'save ""\nappendonly yes\nrepl-diskless-sync-delay 0\n'
            f'masteruser replica\nmasterauth {PASSWORD}\n'
            f'user default on >{PASSWORD} ~* &* +@all\n' +
            ''.join(f'user {user} on >{PASSWORD} {rights}\n'
                    for user, rights in USERS))
        more = ['--replicaof', '127.0.0.1', str(of)] if of else []
        self.spawn(['redis-server', conf, *more], executable=self.program)

    def greet(self):
        if self.ask('PING') != 'PONG':
            raise OSError('it still loads its data')

    def ask(self, *words):
        return net.Resp(self.port).ask(*words)

    def fact(self, name):
        return self.ask('INFO', 'replication').split(f'{name}:')[1].split()[0]

    def keep_out(self, is_out):
        for user, _ in USERS:
            self.ask('ACL', 'SETUSER', user, 'off' if is_out else 'on')
            if is_out:
                self.ask('CLIENT', 'KILL', 'USER', user)


class Watcher(net.Redis):
    """One of the Sentinels."""

    def __init__(self, world, name, port):
        net.Server.__init__(self, world, name)
        conf = self.write(
            'sentinel.conf',
            f'port {self.port}\nbind 127.0.0.1\ndir {self.folder}\n'
            f'sentinel monitor {SERVICE} 127.0.0.1 {port} 2\n'
            f'sentinel down-after-milliseconds {SERVICE} 500\n'
            f'sentinel failover-timeout {SERVICE} 3000\n'
            f'sentinel auth-user {SERVICE} sentinel\n'
            f'sentinel auth-pass {SERVICE} {PASSWORD}\n')
        self.spawn(['redis-sentinel', conf], executable=self.program)

    def ask(self, *words):
        return net.Resp(self.port).ask('SENTINEL', *words)

    def sees(self, name):
        said = self.ask('MASTER', SERVICE)
        return dict(zip(said[::2], said[1::2]))[name]


def until(condition, what, limit=40):
    end = time.monotonic() + limit * SLOW
    while True:
        with contextlib.suppress(OSError, EOFError, IndexError, KeyError):
            if condition():
                return
        if time.monotonic() > end:
            raise RuntimeError(f'{what}: not in {limit} s')
        time.sleep(0.02)


class SentinelAsync:
    program = net.Redis.program
    excuses = {act: [Excuse(FORGOTTEN, ms=2000), Excuse(UNHEARD, ms=2000)]
               for act in ('kill', 'stop', 'cut')}
    free_faults = ()
    options = ''
    lease_ms = 8000
    names = 2
    holders = 2

    def __init__(self, world):
        first = Watched(world, 'r0', None)
        self.servers = [first] + [Watched(world, f'r{i}', first.port)
                                  for i in (1, 2)]
        until(lambda: first.fact('connected_slaves') == '2', 'replicas')
        self.watchers = [Watcher(world, f's{i}', first.port)
                         for i in range(3)]
        self.wait_till_all_is_well()

    def url(self, _):
        return (f'redis+sentinel://:{PASSWORD}@' + ','.join(
            f'127.0.0.1:{w.port}' for w in self.watchers) +
            f'/{SERVICE}{self.options}')

    def faults(self):
        return {'kill': self.kill, 'stop': self.halt, 'cut': self.cut}

    def primary(self, watcher=0):
        port = self.watchers[watcher].ask('GET-MASTER-ADDR-BY-NAME', SERVICE)[1]
        return next(s for s in self.servers if s.port == int(port))

    def wait_till_all_is_well(self):
        until(lambda: self.are_agreed() and
              all(w.sees('num-other-sentinels') == '2' and
                  w.sees('num-slaves') == '2' for w in self.watchers) and
              self.primary().fact('connected_slaves') == '2',
              'Sentinels, primary and replicas know each other')

    def another_is_primary(self, old):
        until(lambda: all(self.primary(i) != old for i in range(3)), 'failover')

    def are_agreed(self):
        return (all(w.sees('flags') == 'master' for w in self.watchers) and
                len({self.primary(i).port for i in range(3)}) == 1)

    def follow(self):
        """Who does not follow the one that all Sentinels name is made to, as
        they would in ten seconds. That is longer than a lease, for which a
        primary may have nobody that confirms: after a second failover, which a
        busy machine makes of one, or where a replica met the old one again."""
        if not self.are_agreed():
            return False
        new = self.primary()
        for s in self.servers:
            if s != new and (s.fact('role') == 'master' or
                             s.fact('master_port') != str(new.port)):
                s.ask('REPLICAOF', '127.0.0.1', new.port)
        return new.fact('connected_slaves') == '2'

    def mend(self, old):
        """The old one is a primary for a while, whom nobody names; then it is
        made a replica."""
        until(lambda: old.fact('role') == 'master' or
              old.fact('master_link_status') == 'up', 'the old one is back')
        time.sleep(1)
        until(self.follow, 'replicas of the new one')
        self.wait_till_all_is_well()

    def kill(self):
        old = self.primary()
        old.stop()
        self.another_is_primary(old)
        argv, more = old.command
        old.command = argv[:2], more
        old.start()
        self.mend(old)

    def halt(self):
        old = self.primary()
        old.signal(signal.SIGSTOP)
        self.another_is_primary(old)
        old.signal(signal.SIGCONT)
        self.mend(old)

    def cut(self):
        old = self.primary()
        old.keep_out(True)
        self.another_is_primary(old)
        time.sleep(1)
        old.keep_out(False)
        self.mend(old)

    def stop(self):
        for s in [*getattr(self, 'watchers', ()), *self.servers]:
            s.signal(signal.SIGCONT)
            s.stop()


class SentinelWait(SentinelAsync):
    """A replica has what is granted, and the one that has most is promoted: so
    a grant may be stood beside only until its holder has heard of that."""
    excuses = {act: [Excuse(UNHEARD, ms=2000)]
               for act in ('kill', 'stop', 'cut')}
    free_faults = ('kill', 'stop', 'cut')
    options = '?wait_replicas=1'
