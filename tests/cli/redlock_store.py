# SPDX-License-Identifier: MIT
"""The command on five Redis servers of which a majority decides: what it says
and does there, and what check shows of each member."""
import json
import os
import subprocess
import zlib

import harness
import page
from harness import case

PORTS = os.environ['HOLDFAST_TEST_REDIS_PORT'].split()
SOCKETS = os.environ['HOLDFAST_TEST_REDIS_SOCKET'].split()
ADMIN = ['redis-cli', '--no-auth-warning',
         '--user', os.environ['HOLDFAST_TEST_REDIS_ADMIN'],
         '--pass', os.environ['HOLDFAST_TEST_REDIS_ADMIN_PASSWORD']]


def admin(member, n, *words):
    return subprocess.run(ADMIN + ['-s', SOCKETS[member], '-n', n, *words],
                          check=True, text=True,
                          capture_output=True).stdout.strip()


def fresh(t):
    """A database that this case has to itself; a group that is new there."""
    number = str(1 + zlib.crc32(str(t.dir).encode()) % 9000)
    t.env['HOLDFAST_URL'] = url_of(number)
    return number


def url_of(number, user=''):
    hosts = ','.join(f'127.0.0.1:{port}' for port in PORTS)
    return f'redlock://{user}{hosts}/{number}'


def items_of(t, *words):
    told = json.loads(t.run('check', '--json', *words).out)
    return {item['name']: item for item in told['items']}


@case
def it_is_asked_and_told_as_any_store(t):
    n = fresh(t)
    t.code(t.run('who', 'job'), 1)
    t.hold('job', '--note', 'night shift')
    t.code(t.run('run', '--try', 'job', '--', 'true'), 75)
    t.code(t.run('run', '--wait', '300ms', 'job', '--', 'true'), 75)
    told = t.run('who', 'job', code=0)
    t.says(told.out, 'night shift')
    fence = admin(0, n, 'HGET', 'holdfast:{job}', 'fence')
    for member in range(len(PORTS)):
        t.equal(admin(member, n, 'HGET', 'holdfast:{job}', 'fence'), fence,
                f'the fence on member {member}')
    t.check('job' in json.dumps(t.json('ls')), 'ls')
    t.code(t.run('break', 'job', '--fence', '1'), 1)
    t.code(t.run('break', 'job', '--fence', fence), 0)
    t.code(t.run('who', 'job'), 1)


@case
def starts_and_least_holds_are_kept(t):
    fresh(t)
    t.code(t.run('run', '--once-per', '20s', 'daily', '--', 'true'), 0)
    t.code(t.run('run', '--once-per', '20s', 'daily', '--', 'true'), 75)
    t.code(t.run('run', '--min-hold', '20s', 'short', '--', 'true'), 0)
    t.code(t.run('run', '--try', 'short', '--', 'true'), 75)
    t.code(t.run('run', '--once-per', '20h', 'nightly', '--', 'true'), 0)
    t.code(t.run('run', '--once-per', '20h', 'nightly', '--', 'true'), 75)


@case
def what_it_can_not_is_said(t):
    fresh(t)
    for option in (['--fair'], ['--shared'], ['--slots', '2']):
        t.run('run', *option, 'job', '--', 'true', code=77)
    t.code(t.run('gc'), 77)


@case
def a_check_names_the_grade_of_a_majority(t):
    fresh(t)
    result = t.run('check', code=0)
    t.says(result.out, 'grade C (majority of independent servers)')
    t.says(t.run('check', '--url', 'fault+' + t.env['HOLDFAST_URL']).out,
           'grade C (majority of independent servers)')


@case
def urls_side_by_side_are_the_same(t):
    n = fresh(t)
    urls = ' '.join(f'redis://127.0.0.1:{port}/{n}' for port in PORTS)
    t.hold('job')
    t.code(t.run('run', '--try', '--url', urls, 'job', '--', 'true'), 75)
    t.equal(json.loads(t.run('check', '--json', '--url', urls).out)['store'],
            t.env['HOLDFAST_URL'], 'store')


@case
def a_check_says_since_when_a_member_remembers(t):
    n = fresh(t)
    for item in (items_of(t)[f'member {i} remembers'] for i in range(1, 6)):
        t.equal((item['verdict'], item['value']),
                ('fine', 'all since the group was new (holdfast;member)'),
                'a new group')
    admin(0, n, 'FLUSHDB')
    items = items_of(t)
    item = items['member 1 remembers']
    t.equal(item['verdict'], 'warn', item)
    t.says(item['value'], 'all since 0 s ago (holdfast;member); counts in 3')
    t.says(item['remedy'], 'wait')
    t.equal(items['quorum']['value'],
            '4 of 5 members count, 3 must; 1 can be without', 'quorum')
    t.equal(items['member 2 remembers']['verdict'], 'fine', items)


@case
def who_may_not_see_the_mark_is_told(t):
    n = fresh(t)
    t.code(t.run('run', 'job', '--', 'true'), 0)
    user = f'blind{n}'
    for member in range(len(PORTS)):
        admin(member, n, 'ACL', 'SETUSER', user, 'on', '>knock', '+@all',
              '&*', '~holdfast:*')
    t.env['HOLDFAST_PASSWORD'] = 'knock'
    t.env['HOLDFAST_URL'] = url_of(n, user + '@') + '?longest_lease=2s'
    t.until(lambda: t.run('check').code == 0, 'they are up for long enough')
    item = items_of(t)['member 1 remembers']
    t.says(item['value'], 'this user may not read holdfast;member')
    for member in range(len(PORTS)):
        admin(member, n, 'ACL', 'DELUSER', user)


@case
def the_rule_of_the_page_and_config_suffice(t):
    """Without CONFIG GET nobody sees that a member keeps its data."""
    n = fresh(t)
    user = f'by-the-page{n}'
    for member in range(len(PORTS)):
        admin(member, n, *page.rule_for(user, 'knock'), '+config|get')
    t.env['HOLDFAST_PASSWORD'] = 'knock'
    t.env['HOLDFAST_URL'] = url_of(n, user + '@')
    told = t.run('check', code=0)
    t.check('warn' not in told.out, told.out)
    t.hold('job')
    t.code(t.run('run', '--wait', '300ms', 'job', '--', 'true'), 75)
    t.code(t.run('who', 'job'), 0)
    t.says(t.run('ls').out, 'job')
    t.code(t.run('break', 'job', '--force'), 0)
    for member in range(len(PORTS)):
        told = admin(member, n, 'ACL', 'LOG', '100').split('\n')
        t.check(user not in told, told)
        admin(member, n, 'ACL', 'DELUSER', user)


@case
def a_lock_goes_by_its_token(t):
    fresh(t)
    token = t.run('acquire', 'job', '--lease', '20s').out.strip()
    t.equal(len(token), 32, token)
    t.run('renew', 'job', env={'HOLDFAST_TOKEN': token}, code=0)
    t.run('run', '--try', 'job', '--', 'true', code=75)
    t.run('release', 'job', env={'HOLDFAST_TOKEN': token}, code=0)
    t.run('run', '--try', 'job', '--', 'true', code=0)


if __name__ == '__main__':
    harness.main()
