# SPDX-License-Identifier: MIT
"""Stores whose locks live with a session: its lease is the command's."""
import json

import harness
from harness import case

# A lease of 2 s; more for who is slow.
TIMEOUT = 3 * harness.SLOW
LEASE_MS = TIMEOUT * 2000 // 3
URL = f'memory:?session_timeout={TIMEOUT}s'


def run(t, *args, url=URL):
    return t.run('run', '--reach', 'process', '--url', url, *args)


@case
def the_lease_is_the_sessions(t):
    result = run(t, '--json', 'job', '--', 'true')
    t.code(result, 0)
    t.equal(json.loads(result.err.splitlines()[0])['lease_ms'], LEASE_MS,
            'lease')
    result = t.run('check', '--url', URL, '--json')
    t.equal(json.loads(result.out)['lease_ms'], LEASE_MS, 'told by check')
    t.check('session' in json.loads(result.out)['can'], result.out)
    t.check('lease_ms' not in t.run('check', '--json').out, 'without one')


@case
def another_lease_is_refused(t):
    for verb, command in (('run', ['--', 'true']), ('hold', [])):
        result = t.run(verb, '--reach', 'process', '--url', URL, '--lease',
                       '7s', 'job', *command, code=77)
        t.check('--lease' in result.err and 'session_timeout=' in result.err,
                result.err)
    t.code(run(t, '--lease', f'{LEASE_MS}ms', 'job', '--', 'true'), 0)


@case
def the_grace_is_a_third_of_it_at_most(t):
    result = run(t, '--grace', f'{LEASE_MS // 2}ms', 'job', '--', 'true')
    t.code(result, 64)
    t.check('--grace' in result.err, result.err)
    t.code(run(t, '--lease', f'{LEASE_MS}ms', '--grace', f'{LEASE_MS // 2}ms',
               'job', '--', 'true'), 64)
    t.code(run(t, '--grace', f'{LEASE_MS // 4}ms', 'job', '--', 'true'), 0)


@case
def a_lease_too_short_to_end_a_command_is_refused(t):
    result = run(t, 'job', '--', 'true', url='memory:?session_timeout=1s')
    t.code(result, 64)
    t.check('session_timeout=' in result.err, result.err)


@case
def what_outlives_its_session_is_refused(t):
    t.code(t.run('acquire', '--url', URL, 'job'), 77)
    for option in (('--min-hold', '5s'), ('--once-per', '1h')):
        t.code(run(t, *option, 'job', '--', 'true'), 77)
    for verb in ('renew', 'release'):
        result = t.run(verb, '--url', URL, 'job',
                       env={'HOLDFAST_TOKEN': '0123456789abcdef' * 2}, code=77)
        t.check('session' in result.err, result.err)


@case
def a_command_outlives_many_leases(t):
    result = run(t, 'job', '--', 'sh', '-c',
                 f'sleep {2 * TIMEOUT}; echo done')
    t.code(result, 0)
    t.equal(result.out, 'done\n', 'stdout')


@case
def a_command_ends_with_the_lease_of_the_session(t):
    start = harness.boot_ns()
    url = f'fault+{URL}&fault=lose_request:renew:*'
    result = run(t, 'job', '--', 'sleep', '60', url=url)
    took_ms = (harness.boot_ns() - start) // 1000000
    t.code(result, 76)
    t.check(LEASE_MS / 2 < took_ms < 3 * LEASE_MS, took_ms)


if __name__ == '__main__':
    harness.main()
