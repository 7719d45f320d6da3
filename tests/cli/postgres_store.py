# SPDX-License-Identifier: MIT
"""The command on a PostgreSQL server: check, check --ddl, gc, a schema."""
import json
import os
import subprocess

import harness
from harness import case

URL = os.environ['HOLDFAST_TEST_POSTGRES_URL']
# Nobody is asked where nothing can answer.
NOWHERE = 'postgres://me@127.0.0.1:1/db'


def ask_server(sql):
    """As an administrator would, with the client that comes with the server;
    what it prints, a value a line."""
    return subprocess.run(
        ['psql', '-X', '-q', '-At', '-v', 'ON_ERROR_STOP=1', '-h',
         os.environ['HOLDFAST_TEST_POSTGRES_SOCKET'], '-p',
         os.environ['HOLDFAST_TEST_POSTGRES_PORT'], '-U',
         os.environ['HOLDFAST_TEST_POSTGRES_ADMIN'], URL.rsplit('/', 1)[1]],
        input=sql, text=True, capture_output=True, check=True).stdout


@case
def the_ddl_is_printed_without_a_server(t):
    result = t.run('check', '--ddl', '--url', NOWHERE, code=0)
    t.equal(result.err, '', 'stderr')
    t.equal([line for line in result.out.splitlines() if 'CREATE' in line],
            ['CREATE TABLE IF NOT EXISTS holdfast_lock (',
             'CREATE TABLE IF NOT EXISTS holdfast_beside (',
             'CREATE TABLE IF NOT EXISTS holdfast_ticket (',
             'CREATE TABLE IF NOT EXISTS holdfast_cell ('], 'the tables')
    t.check('-- GRANT SELECT, INSERT, UPDATE, DELETE ON ' in result.out,
            result.out)
    told = json.loads(t.run('check', '--ddl', '--json', '--url', NOWHERE).out)
    t.equal(told, {'store': NOWHERE, 'ddl': result.out}, 'as JSON')


@case
def what_it_prints_makes_the_tables(t):
    ddl = t.run('check', '--ddl', '--url', NOWHERE).out
    grant = ddl[ddl.index('-- GRANT'):].replace('-- ', '').replace(
        '...', 'plain')
    ask_server('CREATE SCHEMA by_hand; CREATE ROLE plain LOGIN;'
               'GRANT USAGE ON SCHEMA by_hand TO plain;'
               'SET search_path = by_hand;' + ddl + grant)
    t.env['HOLDFAST_URL'] = (URL.replace('//holdfast', '//plain') +
                             '?schema=by_hand')
    t.code(t.run('check'), 0)
    t.code(t.run('run', 'job', '--', 'true'), 0)
    (t.dir / 'ten').write_text('ten')
    with (t.dir / 'ten').open('rb') as file:
        t.code(t.run('cell', 'put', 'stock', stdin=file), 0)
    t.equal(t.run('cell', 'get', 'stock').out, 'ten', 'the cell')
    t.equal(ask_server('SELECT count(*) FROM by_hand.holdfast_lock'), '1\n',
            'its row')


@case
def a_check_says_what_it_found(t):
    t.env['HOLDFAST_URL'] = URL
    told = json.loads(t.run('check', '--json', code=0).out)
    t.equal((told['fit'], told['reach']), (True, 'hosts'), 'fit, reach')
    names = [item['name'] for item in told['items']]
    for name in ('version', 'schema', 'create', 'owner', 'privileges', 'fsync',
                 'standbys', 'old_snapshots', 'tls', 'connection',
                 'clock_ahead_of_ours', 'waiting'):
        t.check(name in names, names)


@case
def who_may_not_write_is_told_what_helps(t):
    ask_server('CREATE ROLE reader LOGIN')
    t.env['HOLDFAST_URL'] = URL
    t.code(t.run('run', 'job', '--', 'true'), 0)
    t.env['HOLDFAST_URL'] = URL.replace('//holdfast', '//reader')
    result = t.run('check', code=1)
    t.check('have an administrator grant SELECT, INSERT, UPDATE, DELETE' in
            result.out, result.out)
    result = t.run('run', 'job', '--', 'true', code=77)
    t.check('permission denied' in result.err, result.err)


@case
def names_are_counted_that_are_cleaned_away(t):
    t.env['HOLDFAST_URL'] = URL + '?prefix=gc'
    t.code(t.run('run', 'a', '--', 'true'), 0)
    t.code(t.run('run', 'b', '--', t.holdfast, 'gc', '--idle', '0s'), 0)
    told = json.loads(t.run('gc', '--idle', '0s', '--json').out)
    t.equal((told['removed'], told['cells']), (1, 0), 'of b')


if __name__ == '__main__':
    harness.main()
