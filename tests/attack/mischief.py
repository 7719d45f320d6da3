# SPDX-License-Identifier: MIT
"""What a client with ordinary rights may do at a server, drawn by seed."""
import random
import threading

from net import MariaDB, Postgres, Redis, Resp, UserLocks, Zoo, ZooKeeper

ODD = ('9223372036854775807', '-9223372036854775808', '-1', '0', '',
       '99999999999999999', 'nonsense', 'x' * 60000, '1e999', '\0' * 16)


class Mischief(threading.Thread):
    """A client with ordinary rights."""

    def __init__(self, world, server):
        super().__init__(daemon=True)
        self.world = world
        self.server = server
        self.random = random.Random(f'{world.seed} mischief')
        # Some seeds only disturb, and change nothing of what is held.
        self.edits = self.random.random() < 0.6
        self.steps = {Redis: self.redis, MariaDB: self.mysql,
                      UserLocks: self.user_locks, Postgres: self.postgres,
                      ZooKeeper: self.zookeeper}[type(server)]

    def run(self):
        while not self.world.is_over.wait(self.random.uniform(0.01, 0.25)):
            what, name, do = self.random.choice(self.steps(
                self.random.choice(self.world.names)))
            with self.world.log.act(what, name):
                do()

    # ---- Redis

    def redis(self, name):
        key = 'holdfast:{%s}%s' % (name, self.random.choice(('', '', ':b',
                                                             ':q', ':w')))
        field = self.random.choice((
            'token', 'fence', 'expires', 'acquired', 'owner', 'keep', 'more',
            'crowd', 'offer', 'offer_until', 'void', 'top', 'was', 't', 's'))
        odd = self.random.choice(ODD)

        def ask(*words):
            return lambda: Resp(self.server.port).ask(*words)

        def flood():
            r = Resp(self.server.port)
            for channel in r.ask('PUBSUB', 'CHANNELS', '*')[:20] * 20:
                r.ask('PUBLISH', channel, odd)
        acts = [
            ('kill', '*', ask('CLIENT', 'KILL', 'TYPE', 'normal')),
            ('kill', '*', ask('CLIENT', 'KILL', 'TYPE', 'pubsub')),
            ('flush', '*', ask('SCRIPT', 'FLUSH')),
            ('flood', '*', flood),
            ('pause', '*', ask('CLIENT', 'PAUSE', '200', 'ALL')),
        ]
        if self.edits:
            acts += [
                ('redis-delete', name, ask('DEL', key)),
                ('redis-edit', name, ask('HSET', key, field, odd)),
                ('redis-edit', name, ask('HDEL', key, field)),
                ('redis-edit', name, ask('SET', key, odd)),
                ('redis-edit', name, ask('ZADD', key + ':q', '1', odd)),
                ('redis-edit', name, ask('PEXPIRE', key, '100')),
                ('redis-edit', name, ask('DEL', key, key + ':b')),
            ]
        return acts

    # ---- SQL

    def sql(self, text):
        """By who does not wait for long, and gets what is odd stored."""
        return lambda: self.server.sql(self.server.habits + text, 'hf')

    def each(self, text):
        """Of about half of the sessions."""
        return lambda: self.server.sql(''.join(
            text.format(i) for i in self.server.sql(
                self.server.sessions, 'hf').split()
            if self.random.random() < 0.5), 'hf')

    # ---- MySQL

    def mysql(self, name):
        column = self.random.choice((
            'fence', 'token', 'freed', 'expires', 'keep_until', 'changed_at',
            'broken', 'detached', 'crowd', 'revision', 'label', 'pid'))
        table = self.random.choice(('lock', 'lock', 'beside', 'ticket'))
        odd = self.random.choice(ODD[:8]).replace('\0', '')
        where = f"where name_key like '%{name}'"
        pause = self.random.uniform(0.05, 0.8)
        sql = self.sql
        acts = [
            ('kill', '*', self.each('kill {};')),
            ('lock-rows', name, sql(
                f'begin; select * from holdfast_lock {where} for update;'
                f'select sleep({pause}); rollback')),
            ('lock-table', '*', sql(
                f'lock tables holdfast_{table} write; select sleep({pause})')),
            ('user-lock', name, sql(
                f"select get_lock('{name}', 0), get_lock('holdfast:{name}',"
                f'0), sleep({pause})')),
        ]
        if self.edits:
            acts += [
                ('mysql-delete', name, sql(
                    f'delete from holdfast_{table} {where}')),
                ('mysql-edit', name, sql(
                    f"update ignore holdfast_lock set {column} = '{odd}' "
                    f'{where}')),
                ('mysql-edit', name, sql(
                    f"update ignore holdfast_beside set slots = '{odd}', "
                    f"mode = {self.random.randrange(4)} {where}")),
            ]
        return acts

    # ---- MySQL's own locks

    def user_locks(self, name):
        column = self.random.choice((
            'fence', 'token', 'broken', 'connection', 'lock_name',
            'acquired_at', 'label', 'pid'))
        odd = self.random.choice(ODD[:8]).replace('\0', '')
        pause = self.random.uniform(0.05, 0.8)
        where = f"where name_key like '%{name}'"
        sql = self.sql
        acts = [
            ('kill-query', '*', self.each('kill query {};')),
            ('lock-rows', name, sql(
                f'begin; select * from holdfast_session {where} for update;'
                f'select sleep({pause}); rollback')),
            ('user-lock', name, sql(
                f"select get_lock('hf:hf:holdfast:{name}', 0),"
                f'sleep({pause})')),
        ]
        if self.edits:
            acts += [
                ('mysql-kill', '*', self.each('kill connection {};')),
                ('mysql-edit', name, sql(
                    f"update ignore holdfast_session set {column} = '{odd}' "
                    f'{where}')),
                ('mysql-delete', name, sql(
                    f'delete from holdfast_session {where}')),
            ]
        return acts

    # ---- PostgreSQL

    def postgres(self, name):
        column = self.random.choice((
            'fence', 'token', 'broken_token', 'expires', 'keep_until',
            'changed_at', 'broken', 'detached', 'crowd', 'revision', 'label',
            'pid'))
        table = self.random.choice(('lock', 'lock', 'beside', 'ticket'))
        odd = self.random.choice(ODD[:8])
        where = f"where name_key like '%{name}'"
        pause = f'select pg_sleep({self.random.uniform(0.05, 0.8)});'
        sql = self.sql
        acts = [
            ('kill', '*', self.each('select pg_terminate_backend({});')),
            ('cancel', '*', self.each('select pg_cancel_backend({});')),
            ('lock-rows', name, sql(
                f'begin; select * from holdfast_lock {where} for update;'
                f'{pause} rollback')),
            ('lock-table', '*', sql(
                f'begin; lock table holdfast_{table}; {pause} rollback')),
            # Each bell that there is, or whoever has one is waited for.
            ('bells', '*', sql(
                'select pg_advisory_lock((classid::bigint << 32) | '
                "objid::bigint) from pg_locks where locktype = 'advisory'"
                f' order by random() limit 1; {pause}')),
            ('flood', '*', sql(
                'select pg_notify(\'holdfast\', substr(md5(i::text), 1, 16)) '
                'from generate_series(1, 2000) i')),
        ]
        if self.edits:
            acts += [
                ('postgres-delete', name, sql(
                    f'delete from holdfast_{table} {where}')),
                ('postgres-edit', name, sql(
                    f"update holdfast_lock set {column} = '{odd}' {where}")),
                ('postgres-edit', name, sql(
                    f"update holdfast_beside set slots = '{odd}', "
                    f"mode = {self.random.randrange(4)} {where}")),
            ]
        return acts

    # ---- ZooKeeper

    def zookeeper(self, name):
        zoo = Zoo(self.server.port)

        def any_node():
            return self.random.choice([p for p in zoo.tree('/')])

        def below():
            return self.random.choice([p for p in zoo.tree('/')
                                       if name in p]) + '/' + \
                self.random.choice(('junk', 'x-0000000000', 'é', 'y' * 300))
        acts = [
            ('foreign', name, lambda: zoo.create(below())),
            ('foreign', name, lambda: zoo.create(below(), 3)),
            ('data', '*', lambda: [zoo.put(any_node(), b'\xff' * n)
                                   for n in (0, 9, 70000)]),
        ]
        if self.edits:
            acts += [('zookeeper-delete', '*', lambda: zoo.delete(any_node())),
                     ('zookeeper-delete', '*', lambda: [
                         zoo.delete(p) for p in zoo.tree('/')])]
        return acts
