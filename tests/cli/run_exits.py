# SPDX-License-Identifier: MIT
"""Each exit code of `holdfast run` but 64, what is said and what stands in
the status file."""
import signal
import time

import harness
from harness import case


def expect(t, result, code, **fields):
    """The exit code, and the status file with all of its four fields."""
    t.code(result, code)
    status = {'status': code, 'child_exit': None, 'child_signal': None}
    status.update(fields)
    t.equal(t.status(), status, f'status file ({result.err})')


def run(t, *args, **options):
    return t.run('run', '--status-file', 'status', *args, **options)


def fault(t, rules, more=''):
    return f'fault+sqlite:{t.db}?fault={rules}{more}'


@case
def the_codes_of_the_command_are_passed_on(t):
    for code in (0, 1, 75, 76, 124, 125, 127, 255):
        result = run(t, 'job', '--', 'sh', '-c', f'exit {code}')
        expect(t, result, code, outcome='exited', child_exit=code)
        t.equal(result.out + result.err, '', f'said for {code}')


@case
def a_signal_that_ends_the_command_is_128_and_its_number(t):
    for name in ('TERM', 'KILL', 'USR1', 'HUP'):
        number = getattr(signal, f'SIG{name}')
        result = run(t, 'job', '--', 'sh', '-c', f'kill -{name} $$')
        expect(t, result, 128 + number, outcome='signaled',
               child_signal=int(number))


@case
def a_command_that_is_not_there_is_127(t):
    result = run(t, 'job', '--', './no-such-command')
    expect(t, result, 127, outcome='not-found')
    t.says(result.err, './no-such-command', 'No such file')
    expect(t, run(t, 'job', '--', 'no-such-command-in-path'), 127,
           outcome='not-found')


@case
def a_command_that_is_no_program_is_126(t):
    (t.dir / 'plain').write_text('data')
    for path in ('./plain', '/'):
        result = run(t, 'job', '--', path)
        expect(t, result, 126, outcome='not-executable')
        t.says(result.err, path, 'Permission denied')


@case
def a_store_that_cannot_be_opened_is_69(t):
    url = fault(t, 'die:open')
    result = run(t, '--url', url, 'job', '--', 'true')
    expect(t, result, 69, outcome='unavailable')
    t.says(result.err, 'cannot open the store', '--url')
    result = run(t, '--url', f'sqlite:{t.dir}/none/locks.db', 'x', '--', 'true')
    expect(t, result, 69, outcome='unavailable')
    t.says(result.err, f'{t.dir}/none', 'mkdir')


@case
def a_store_that_does_not_answer_is_69_after_its_timeout(t):
    url = fault(t, 'delay:open:*:60s', '&connect_timeout=300ms')
    result = run(t, '--url', url, 'job', '--', 'true')
    expect(t, result, 69, outcome='unavailable')
    t.soon(0.3 <= result.seconds < 5 * harness.SLOW,
           f'took {result.seconds} s')


@case
def a_store_that_falls_silent_is_69_and_nothing_runs(t):
    url = fault(t, 'lose_request:acquire', f'&{harness.io_timeout(500)}')
    result = run(t, '--url', url, 'job', '--', *t.actor('say=ran'))
    t.code(result, 69)
    t.check(t.status()['outcome'] in ('no-answer', 'unavailable'),
            t.status())
    t.equal(t.log(), [], 'what ran')


@case
def a_file_that_is_no_database_is_69(t):
    t.db.write_bytes(b'this is no database, only text. ' * 64)
    result = run(t, 'job', '--', 'true')
    expect(t, result, 69, outcome='protocol')
    t.says(result.err, str(t.db))
    t.check(t.db.read_bytes().startswith(b'this is no'), 'it was changed')


@case
def a_release_without_answer_is_74(t):
    url = fault(t, 'lose_request:release', f'&{harness.io_timeout(500)}')
    result = run(t, '--url', url, '--lease', harness.lease(2), 'job', '--',
                 'true')
    expect(t, result, 74, outcome='unconfirmed', child_exit=0)
    t.says(result.err, 'job', 'release')


@case
def a_failed_command_is_not_hidden_by_an_unconfirmed_release(t):
    url = fault(t, 'lose_request:release', f'&{harness.io_timeout(500)}')
    result = run(t, '--url', url, '--lease', harness.lease(2), 'job', '--',
                 'sh', '-c', 'exit 3')
    expect(t, result, 3, outcome='unconfirmed', child_exit=3)
    t.says(result.err, 'release')


@case
def a_held_lock_is_75(t):
    t.hold('job')
    expect(t, run(t, '--try', 'job', '--', 'true'), 75, outcome='busy')
    expect(t, run(t, '-n', 'job', '--', 'true'), 75, outcome='busy')
    expect(t, run(t, '-w0', 'job', '--', 'true'), 75, outcome='busy')
    result = run(t, '--wait', '300ms', 'job', '--', 'true')
    expect(t, result, 75, outcome='timed-out')
    t.says(result.err, 'job', '300ms')


@case
def the_code_for_busy_can_be_chosen(t):
    t.hold('job')
    for args, code in ((('--busy-exit', '0'), 0), (('-E', '9'), 9),
                       (('-E255',), 255), (('--busy-exit=1',), 1)):
        result = run(t, '--try', *args, 'job', '--', 'true')
        expect(t, result, code, outcome='busy')
        result = run(t, '--wait', '100ms', *args, 'job', '--', 'true')
        expect(t, result, code, outcome='timed-out')


@case
def a_broken_lock_is_76_although_the_command_ended_well(t):
    script = '"$0" break job --force >/dev/null && exit 0'
    result = run(t, 'job', '--', 'sh', '-c', script, t.holdfast)
    t.code(result, 76)
    t.equal(t.status()['outcome'], 'lost', 'outcome')
    t.equal(t.status()['status'], 76, 'status')
    t.says(result.err, 'job', 'lost', 'broken')
    script = '"$0" break job --force >/dev/null && exit 3'
    result = run(t, '--lost-exit', '5', 'job', '--', 'sh', '-c', script,
                 t.holdfast)
    t.code(result, 5)
    t.equal(t.status()['status'], 5, 'status')
    result = run(t, '--lost-exit=0', 'job', '--', 'sh', '-c', script,
                 t.holdfast)
    t.code(result, 0)
    t.equal(t.status()['outcome'], 'lost', 'outcome')


@case
def a_store_that_excludes_nobody_is_77(t):
    for url in ('memory:x', 'fault+memory:', 'memory:?session_timeout=3s'):
        command = ('--', *t.actor('say=ran', 'exit=0'))
        result = run(t, '--url', url, 'job', *command)
        t.code(result, 77)
        t.says(result.err, 'this process', 'another store', '--reach process')
        t.equal(t.status()['outcome'], 'unsafe', 'outcome')
        for verb, words in (('acquire', ()), ('hold', ()),
                            ('acquire', ('--reach', 'process'))):
            result = t.run(verb, '--url', url, *words, 'job', code=77)
            t.equal(result.out, '', 'stdout')
            t.says(result.err, 'another store')
        t.equal(t.log(), [], 'what ran')
        t.code(t.run('check', '--url', url), 0)
        t.code(t.run('who', '--url', url, 'job'), 1)
    t.code(run(t, '--reach', 'process', '--url', 'memory:', 'job', *command), 0)
    t.equal(len(t.pids('ran')), 1, 'what ran')


@case
def a_signal_ends_the_wait(t):
    t.hold('job')
    for name in ('TERM', 'INT', 'HUP', 'QUIT'):
        number = getattr(signal, f'SIG{name}')
        waiter = t.waits('run', '--status-file', 'status', 'job', '--',
                         *t.actor('say=ran'))
        waiter.signal(number)
        before = time.monotonic()
        result = waiter.wait()
        expect(t, result, 128 + number, outcome='interrupted')
        t.soon(time.monotonic() - before < 3 * harness.SLOW, 'slow to end')
        t.says(result.err, 'job', str(int(number)))
    t.equal(t.pids('ran'), [], 'what ran')


@case
def each_of_our_codes_has_one_line_on_stderr(t):
    t.hold('job')
    for args, code in ((('--try', 'job', '--', 'true'), 75),
                       (('--reach', 'hosts', 'x', '--', 'true'), 77),
                       (('x', '--', './none'), 127),
                       (('x', '--', '/'), 126),
                       (('x', 'true'), 64),
                       (('--url', fault(t, 'die:open'), 'x', '--', 'true'),
                        69)):
        result = t.run('run', *args, code=code)
        t.equal(result.err.count('\n'), 1, f'lines of {result.err!r}')
        t.check(result.err.startswith('holdfast: '), result.err)
        t.equal(result.out, '', 'stdout')


if __name__ == '__main__':
    harness.main()
