# SPDX-License-Identifier: MIT
"""The command on a MariaDB server: check, check --ddl, secrets, gc."""
import json
import os
import subprocess

import harness
from harness import case

URL = os.environ['HOLDFAST_TEST_MYSQL_URL']
PASSWORD = URL.split(':')[2].split('@')[0]
BARE = URL.replace(':' + PASSWORD + '@', '@')
# Nobody is asked where nothing can answer.
NOWHERE = 'mysql://me@127.0.0.1:1/db'


@case
def the_ddl_is_printed_without_a_server(t):
    result = t.run('check', '--ddl', '--url', NOWHERE, code=0)
    t.equal(result.err, '', 'stderr')
    t.equal([line for line in result.out.splitlines() if 'CREATE' in line],
            ['CREATE TABLE IF NOT EXISTS holdfast_lock (',
             'CREATE TABLE IF NOT EXISTS holdfast_beside (',
             'CREATE TABLE IF NOT EXISTS holdfast_ticket (',
             'CREATE TABLE IF NOT EXISTS holdfast_cell ('], 'the tables')
    told = json.loads(t.run('check', '--ddl', '--json', '--url', NOWHERE).out)
    t.equal(told, {'store': NOWHERE, 'ddl': result.out}, 'as JSON')


@case
def a_store_without_tables_has_no_ddl(t):
    result = t.run('check', '--ddl', '--url', 'memory:', code=77)
    t.check('"memory" has no tables' in result.err, result.err)
    t.code(t.run('check', '--ddl', '--url', 'mysql://h:x/db'), 64)
    t.code(t.run('check', '--ddl', '--url', 'nonsense://x/y'), 64)


@case
def the_ddl_never_shows_a_password(t):
    result = t.run('check', '--ddl', '--json', '--url',
                   NOWHERE.replace('me@', 'me:sesame@'), code=0)
    t.check('sesame' not in result.out + result.err, result.out)
    result = t.run('check', '--ddl', '--url', 'memory://me:sesame@x/y')
    t.check('sesame' not in result.out + result.err, result.err)


@case
def what_it_prints_makes_the_tables(t):
    """As an administrator would, with the client that comes with the
    server; without that, by the tests of the store alone."""
    env = dict(os.environ, MYSQL_PWD=os.environ[
        'HOLDFAST_TEST_MYSQL_ADMIN_PASSWORD'])
    admin = ['mariadb', '--no-defaults', '--user=' + os.environ[
        'HOLDFAST_TEST_MYSQL_ADMIN'], '--socket=' + os.environ[
            'HOLDFAST_TEST_MYSQL_SOCKET']]
    ddl = t.run('check', '--ddl', '--url', NOWHERE).out
    sql = ('CREATE DATABASE hf_by_hand; USE hf_by_hand;\n' + ddl +
           "CREATE USER plain@'127.0.0.1' IDENTIFIED BY 'pw';"
           'GRANT SELECT, INSERT, UPDATE, DELETE ON hf_by_hand.* '
           "TO plain@'127.0.0.1';")
    made = subprocess.run(admin, input=sql, text=True, env=env,
                          capture_output=True, check=False)
    t.equal(made.stderr, '', 'the server says')
    url = 'mysql://plain@' + BARE.split('@')[1].rsplit('/', 1)[0] + '/hf_by_hand'
    t.env['HOLDFAST_PASSWORD'] = 'pw'
    t.env['HOLDFAST_URL'] = url
    t.code(t.run('check'), 0)
    t.code(t.run('run', 'job', '--', 'true'), 0)


@case
def a_check_says_what_it_found(t):
    t.env['HOLDFAST_URL'] = URL
    result = t.run('check', '--json', code=0)
    told = json.loads(result.out)
    t.equal((told['fit'], told['reach']), (True, 'hosts'), 'fit, reach')
    names = [item['name'] for item in told['items']]
    for name in ('version', 'privileges', 'read_only', 'galera', 'replicas',
                 'innodb_flush_log_at_trx_commit', 'isolation', 'connection',
                 'clock_ahead_of_ours', 'waiting', 'worst_takeover'):
        t.check(name in names, names)
    t.check(PASSWORD not in result.out, result.out)


@case
def a_password_by_file_or_environment_does_not_warn(t):
    path = t.dir / 'password'
    path.write_text(PASSWORD + '\n')
    path.chmod(0o600)
    result = t.run('run', '--url', f'{BARE}?password_file={path}', 'file',
                   '--', 'true', code=0)
    t.equal(result.err, '', 'stderr')
    t.env['HOLDFAST_PASSWORD_FILE'] = str(path)
    result = t.run('run', '--url', BARE, 'file', '--', 'true', code=0)
    t.equal(result.err, '', 'stderr')
    path.chmod(0o644)
    result = t.run('run', '--url', BARE, 'file', '--', 'true', code=77)
    t.check('chmod 600' in result.err, result.err)
    del t.env['HOLDFAST_PASSWORD_FILE']
    t.env['HOLDFAST_PASSWORD'] = PASSWORD
    t.code(t.run('run', '--url', BARE, 'file', '--', 'true'), 0)


@case
def who_is_not_let_in_hears_so(t):
    t.env['HOLDFAST_PASSWORD'] = 'not-the-word'
    result = t.run('run', '--url', BARE, 'job', '--', 'true', code=77)
    t.check('check user and password' in result.err, result.err)
    t.check('not-the-word' not in result.err, result.err)


if __name__ == '__main__':
    harness.main()
