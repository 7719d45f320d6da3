# SPDX-License-Identifier: MIT
"""Runs that compete: exclusion, patience, what a waiter sees and says."""
import fcntl
import os
import pty
import re
import signal
import socket
import time

import harness
from harness import case


def turns(t):
    """(start, end) in nanoseconds of each command that said in and out."""
    begun = {line.pid: line.ns for line in t.log() if line.text == 'in'}
    return sorted((begun[line.pid], line.ns) for line in t.log()
                  if line.text == 'out')


def alternate(t, count):
    found = turns(t)
    t.equal(len(found), count, 'commands that ran')
    for (_, end), (start, _) in zip(found, found[1:]):
        t.safe(end < start, f'two at once, for {(end - start) / 1e6} ms')


@case
def two_runs_exclude_each_other(t):
    runs = [t.start('run', 'job', '--',
                    *t.actor('say=in', 'pause=300', 'say=out', 'exit=0'))
            for _ in range(2)]
    for run in runs:
        t.code(run.wait(), 0)
    alternate(t, 2)


@case
def runs_of_other_names_do_not_wait(t):
    t.hold('job')
    for name in ('Job', 'job ', 'job/1', 'jo'):
        t.code(t.run('run', '-n', name, '--', 'true'), 0)


@case
def runs_of_other_prefixes_do_not_wait(t):
    t.hold('job')
    t.code(t.run('run', '-n', '--url', f'{t.url}?prefix=other', 'job', '--',
                 'true'), 0)


@case
def eight_runs_lose_no_count(t):
    script = 'n=$(cat count); sleep 0.01; echo $((n + 1)) >count'
    (t.dir / 'count').write_text('0\n')
    loop = ('for i in 1 2 3 4 5; do "$0" run job -- sh -c "$1" || exit; '
            'done')
    runs = [t.spawn(['sh', '-c', loop, t.holdfast, script])
            for _ in range(8)]
    for run in runs:
        t.code(run.wait(30 * harness.SLOW), 0)
    t.equal((t.dir / 'count').read_text(), '40\n', 'count')


@case
def sixteen_waiters_all_get_their_turn(t):
    holder = t.hold('job')
    runs = [t.start('run', '--wait', '60s', 'job', '--',
                    *t.actor('say=in', 'pause=5', 'say=out', 'exit=0'))
            for _ in range(16)]
    t.until(lambda: all('waiting' in run.err for run in runs), 'all wait')
    holder.signal(signal.SIGTERM)
    for run in runs:
        t.code(run.wait(30 * harness.SLOW), 0)
    alternate(t, 16)


@case
def a_waiter_is_woken_soon_after_the_release(t):
    delays = []
    for _ in range(5):
        holder = t.hold('job', words=('say=up', 'pause=600', 'say=end',
                                      'exit=0'))
        waiter = t.next_holder('job')
        t.code(holder.wait(), 0)
        t.code(waiter.wait(), 0)
        delays.append((t.last_ns('next') - t.last_ns('end')) / 1e6)
    t.soon(min(delays) < 100 * harness.SLOW, f'{delays} ms')


@case
def try_does_not_wait(t):
    t.hold('job')
    result = t.run('run', '--try', 'job', '--', 'true')
    t.code(result, 75)
    t.soon(result.seconds < 10 * harness.SLOW, f'took {result.seconds} s')


@case
def wait_is_bounded(t):
    t.hold('job')
    result = t.run('run', '--wait', '300ms', 'job', '--', 'true')
    t.code(result, 75)
    t.soon(0.3 <= result.seconds < 10 * harness.SLOW,
           f'took {result.seconds} s')
    t.says(result.err, '300ms')


@case
def a_short_wait_is_enough_if_the_holder_ends(t):
    t.start('run', 'job', '--', *t.actor('say=up', 'pause=300', 'exit=0'))
    t.until(t.log, 'the holder starts')
    result = t.run('run', '--wait', '10s', 'job', '--', 'true')
    t.code(result, 0)


@case
def the_busy_line_says_all_that_helps(t):
    holder = t.hold('my job', '--owner', 'nightly backup')
    fence = t.json('who', 'my job')['fence']
    for args in (('--try',), ('--wait', '100ms')):
        said = t.run('run', *args, 'my job', '--', 'true').err
        t.says(said, 'my job', 'nightly backup', socket.gethostname(),
               f'pid {holder.pid}', t.url, 'reach user', str(fence),
               "holdfast who 'my job'", 'holdfast break', str(fence))


@case
def the_lines_to_paste_work(t):
    holder = t.hold('my job', '--lease', harness.lease(3))
    said = t.run('run', '-n', 'my job', '--', 'true').err
    look, end = (re.search(rf'holdfast {verb} [^;\n]*', said)[0]
                 for verb in ('who', 'break'))

    def paste(line):
        return t.spawn(['sh', '-c', line.replace('holdfast', '"$0"', 1),
                        t.holdfast]).wait()
    t.says(paste(look).out, 'my job is held')
    t.code(paste(end), 0)
    t.code(holder.wait(), 76)


@case
def the_lines_to_paste_name_the_store_if_the_call_did(t):
    other = f'sqlite:{t.dir}/other one.db'
    holder = t.hold('job', '--url', other)
    said = t.run('run', '-n', '--url', other, 'job', '--', 'true').err
    t.says(said, f"holdfast who --url '{other}' job")
    t.check(holder.is_running(), holder.err)


@case
def a_wait_that_is_no_terminal_says_one_line(t):
    holder = t.hold('job', '--owner', 'nightly')
    waiter = t.start('run', 'job', '--', 'true')
    t.until(lambda: '\n' in waiter.err, 'a line')
    time.sleep(1.5)
    said = waiter.err
    t.equal(said.count('\n'), 1, f'lines in {said!r}')
    t.says(said, 'waiting for job', 'nightly', str(holder.pid), t.url)
    t.check('\r' not in said and '\033' not in said, said)
    holder.signal(signal.SIGTERM)
    t.code(waiter.wait(), 0)


@case
def a_short_wait_says_nothing(t):
    """A busy machine makes it long, but not each time."""
    for number in range(1, 11):
        holder = t.start('run', 'job', '--',
                         *t.actor('say=in', 'pause=150', 'exit=0'))
        t.until(lambda n=number: len(t.pids('in')) == n, 'the lock is held')
        result = t.run('run', 'job', '--', 'true')
        t.code(result, 0)
        t.code(holder.wait(), 0)
        if result.err == '':
            return
    t.check(False, f'each of them says something: {result.err}')


@case
def a_wait_is_an_event(t):
    holder = t.hold('job', '--owner', 'nightly')
    waiter = t.start('run', '--json', 'job', '--', 'true')
    t.until(lambda: '\n' in waiter.err, 'an event')
    event = t.events(waiter.err)[0]
    t.equal((event['event'], event['holder']['owner']['label'],
             event['holder']['owner']['pid']),
            ('waiting', 'nightly', holder.pid), 'event')
    holder.signal(signal.SIGTERM)
    t.code(waiter.wait(), 0)


@case
def a_wait_at_a_terminal_has_one_live_line(t):
    holder = t.hold('job', '--owner', 'nightly')
    master, slave = pty.openpty()
    waiter = t.start('run', 'job', '--', 'true', stderr=slave)
    os.close(slave)
    fcntl.fcntl(master, fcntl.F_SETFL, os.O_NONBLOCK)
    seen = ''

    def read():
        nonlocal seen
        try:
            seen += os.read(master, 4096).decode()
        except OSError:
            pass
        return seen
    t.until(lambda: len(set(re.findall(r'waited \d+s', read()))) >= 2,
            'the time goes on')
    t.says(seen, 'job', 'nightly')
    t.equal(seen.count('\n'), 0, f'new lines in {seen!r}')
    holder.signal(signal.SIGTERM)
    t.code(waiter.wait(), 0)
    t.check(read().endswith('\r\033[K'), f'the line stays: {seen!r}')
    os.close(master)


@case
def an_ended_waiter_leaves_nothing(t):
    holder = t.hold('job')
    waiter = t.start('run', 'job', '--', *t.actor('say=ran'))
    t.until(lambda: 'waiting' in waiter.err, 'it waits')
    waiter.signal(signal.SIGTERM)
    t.code(waiter.wait(), 143)
    holder.signal(signal.SIGTERM)
    t.code(holder.wait(), 143)
    t.equal(t.json('who', 'job')['state'], 'free', 'state')
    t.equal(t.json('ls'), [], 'list')
    t.all_gone()


@case
def an_outage_while_waiting_is_waited_through(t):
    holder = t.hold('job', '--lease', '20s')
    url = (f'fault+sqlite:{t.db}?fault=die:acquire:2-3&'
           f'{harness.io_timeout(300)}')
    waiter = t.start('run', '--url', url, 'job', '--', 'true')
    t.until(lambda: '\n' in waiter.err, 'it says something')
    holder.signal(signal.SIGTERM)
    t.code(holder.wait(), 143)
    t.code(waiter.wait(), 0)


@case
def a_dead_holder_is_followed_long_before_its_lease(t):
    holder = t.hold('job', '--lease', '1h')
    holder.signal(signal.SIGKILL)
    result = t.run('run', '--wait', '10s', 'job', '--', 'true')
    t.code(result, 0)
    t.soon(result.seconds < 5 * harness.SLOW, f'took {result.seconds} s')


if __name__ == '__main__':
    harness.main()
