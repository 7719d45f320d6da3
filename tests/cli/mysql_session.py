# SPDX-License-Identifier: MIT
"""The command on the user locks of a MariaDB server: what it says and does
there with a database, and without one."""
import json
import os

import harness
from harness import case

SERVER = os.environ['HOLDFAST_TEST_MYSQL_URL'].rsplit('/', 1)[0]
OPTIONS = '?scheme=session&session_timeout=60s'


@case
def a_lock_is_held_seen_and_broken(t):
    t.env['HOLDFAST_URL'] = os.environ['HOLDFAST_TEST_MYSQL_URL'] + OPTIONS
    t.code(t.run('who', 'job'), 1)
    holder = t.hold('job', '--note', 'night shift')
    t.says(t.run('run', '--try', 'job', '--', 'true', code=75).err, 'held by',
           'holdfast break job --fence')
    t.says(t.run('who', 'job', code=0).out, 'night shift', 'grade S')
    fence = t.json('who', 'job')['fence']
    t.check(['job'] == [lock['name'] for lock in t.json('ls')], 'ls')
    t.code(t.run('break', 'job', '--fence', str(fence - 1)), 1)
    waiter = t.next_waiter('job')
    t.code(t.run('break', 'job', '--fence', str(fence)), 0)
    t.code(holder.wait(), 76)
    t.code(waiter.wait(), 0)
    later = t.run('run', 'job', '--', 'sh', '-c', 'echo $HOLDFAST_FENCE').out
    t.rising([fence, int(later)])


@case
def without_a_database_a_holder_is_a_connection(t):
    t.env['HOLDFAST_URL'] = SERVER + '/' + OPTIONS
    holder = t.hold('bare')
    result = t.run('run', '--try', 'bare', '--', 'true', code=75)
    t.says(result.err, 'held by connection')
    t.says(t.run('who', 'bare', code=0).out, 'connection', '@127.0.0.1')
    t.says(t.run('ls', code=77).err, 'name a database in the URL')
    t.code(t.run('break', 'bare', '--force'), 0)
    t.code(holder.wait(), 76)
    t.code(t.run('run', 'bare', '--', 'true'), 0)
    result = t.run('run', 'bare', '--', 'sh', '-c', 'echo "<$HOLDFAST_FENCE>"')
    t.equal(result.out, '<0>\n', 'no fence')


@case
def a_check_tells_of_the_sessions(t):
    for path, fences, verdict in (
            ('/', 'none', 'warn'),
            ('/' + os.environ['HOLDFAST_TEST_MYSQL_URL'].rsplit('/', 1)[1],
             'holdfast_session', 'fine')):
        told = json.loads(t.run('check', '--json', '--url',
                                SERVER + path + OPTIONS, code=0).out)
        items = {item['name']: item for item in told['items']}
        t.equal(items['session_timeout']['value'], '60 s', 'session_timeout')
        t.equal(items['locks_of_a_connection']['value'], 'several', 'several')
        t.equal((items['fences']['value'], items['fences']['verdict']),
                (fences, verdict), 'fences')


@case
def the_ddl_is_the_table_of_this_scheme(t):
    result = t.run('check', '--ddl', '--url',
                   'mysql://me@127.0.0.1:1/db?scheme=session', code=0)
    t.equal([line for line in result.out.splitlines() if 'CREATE' in line],
            ['CREATE TABLE IF NOT EXISTS holdfast_session ('], 'the tables')


if __name__ == '__main__':
    harness.main()
