# SPDX-License-Identifier: MIT
"""Waiting in a crowd and through an outage: two hundred runs of one user,
waiters that are killed, stopped and cancelled at every step, a store that does
not answer meanwhile, and what a waiter shows."""
import fcntl
import os
import pty
import random
import re
import signal
import sqlite3
import time

import harness
from harness import case

# A process that a sanitizer watches costs ten others.
CROWD = 200 if harness.SLOW == 1 else 40


def turns(t):
    begun = {line.pid: line.ns for line in t.log() if line.text == 'in'}
    return sorted((begun[line.pid], line.ns) for line in t.log()
                  if line.text == 'out')


def alone(t):
    """No two were inside at once; those who were killed there count until
    the next one came."""
    for (_, end), (start, _) in zip(turns(t), turns(t)[1:]):
        t.safe(end < start, f'two at once, for {(end - start) / 1e6} ms')


def member(t, *args, pause=0):
    url = (f'{t.url}?{harness.io_timeout(20000)}&'
           f'connect_timeout={20 * harness.SLOW}s')
    return t.start('run', '--url', url,
                   *args, 'job', '--',
                   *t.actor('say=in', f'pause={pause}', 'say=out', 'exit=0'))


def has_said(t, run, text):
    """It must not end before."""
    if text in run.err:
        return True
    t.check(run.is_running(), f'it ended without {text!r}: {run.err}')
    return False


@case
def two_hundred_waiters_all_get_it_one_at_a_time(t):
    holder = t.hold('job', '--lease', '1h', words=('say=up', 'beat'))
    crowd = [member(t, '--wait', '5m') for _ in range(CROWD)]
    t.until(lambda: all(has_said(t, run, 'waiting for job') for run in crowd),
            'all wait', 60 * harness.SLOW)
    t.equal(turns(t), [], 'who was inside before')
    holder.signal(signal.SIGTERM)
    since = time.monotonic()
    for run in crowd:
        t.code(run.wait(60 * harness.SLOW), 0)
    spent = time.monotonic() - since
    t.equal(len(turns(t)), CROWD, 'turns')
    alone(t)
    t.soon(spent < 40 * harness.SLOW, f'{spent:.1f} s for {CROWD}')
    t.all_gone()
    t.equal(t.json('ls'), [], 'locks that are left')
    print(f'# {CROWD} waiters: {spent:.1f} s', flush=True)


def disturb(t, crowd, dice):
    """Something happens to somebody who still runs."""
    running = [run for run in crowd if run.is_running()]
    if not running:
        return
    run = dice.choice(running)
    what = dice.choice(('KILL', 'INT', 'TERM', 'STOP'))
    run.hits.add(what)
    if what != 'STOP':
        run.signal(getattr(signal, f'SIG{what}'))
        return
    run.signal(signal.SIGSTOP)
    time.sleep(dice.choice((0.01, 0.1)))
    run.signal(signal.SIGCONT)


@case
def waiters_killed_stopped_and_cancelled_hold_nobody_up(t):
    """At moments that fall on every step of starting, waiting, getting and
    releasing; who was left alone gets it, and nobody shares it."""
    seed = random.randrange(1 << 30)
    dice = random.Random(seed)
    print(f'# seed {seed}', flush=True)
    t.code(t.run('run', 'job', '--', 'true'), 0)
    crowd = []
    for _ in range(60):
        crowd.append(member(t, '--wait', '2m', '--lease', '2s',
                            pause=dice.choice((0, 0, 20))))
        crowd[-1].hits = set()
        if dice.random() < 0.5:
            time.sleep(dice.random() * 0.05)
            disturb(t, crowd, dice)
    for run in crowd:
        result = run.wait(60 * harness.SLOW)
        # Below 0: before it had so much as looked at its arguments.
        ends = {'KILL': {-9}, 'INT': {130, -2}, 'TERM': {143, -15},
                'STOP': {76}}
        allowed = {0}.union(*(ends[what] for what in run.hits))
        t.check(result.code in allowed, (run.hits, result))
    alone(t)
    t.code(t.run('run', '-w', '5s', 'job', '--', 'true'), 0)
    t.all_gone()


@case
def a_waiter_stopped_at_each_step_lets_the_others_by(t):
    """The first in the line is stopped while it waits and as it is granted.
    Who is stopped in the middle of a transaction of SQLite keeps everybody
    out until it goes on, which no lock above it can help."""
    for delay in (0.0, 0.003, 0.01, 0.03, 0.1, 0.3):
        t.log_path.unlink(missing_ok=True)
        holder = t.hold('job', words=('say=up', 'pause=100000'))
        first = t.start('run', '--lease', '1s', 'job', '--', 'true')
        time.sleep(delay)
        first.signal(signal.SIGSTOP)
        t.until(lambda f=first: harness.is_stopped(f.pid), 'it is stopped')
        if t.run('run', '-n', '--url', f'{t.url}?io_timeout=2s', 'probe',
                 '--', 'true').code:
            first.signal(signal.SIGCONT)
        others = [member(t, '--wait', '1m') for _ in range(3)]
        t.until(lambda o=others: all('waiting' in run.err for run in o),
                'the others wait')
        holder.signal(signal.SIGTERM)
        for run in others:
            t.code(run.wait(), 0)
        first.signal(signal.SIGCONT)
        # Stopped as it asked for the first time, for longer than an attempt
        # may take, it got no answer in time; it never waited. And what it has
        # at last it may lose, on a machine that lets it stand for a second.
        result = first.wait()
        t.check(result.code in (0, 76) or (result.code == 69 and
                                           'waiting' not in result.err), result)
        alone(t)


@case
def an_outage_is_said_once_and_waited_through(t):
    holder = t.hold('job', '--lease', '1h')
    url = (f'fault+sqlite:{t.db}?fault=die:acquire:2-6&'
           f'{harness.io_timeout(6000)}')
    waiter = t.start('run', '--url', url, 'job', '--', 'true')
    plain = t.start('run', '--json', '--url', url, 'job', '--', 'true')
    t.until(lambda: has_said(t, waiter, 'does not answer') and
            has_said(t, plain, '"event":"outage"'), 'the outage is said')
    holder.signal(signal.SIGTERM)
    for run in (waiter, plain):
        result = run.wait(30 * harness.SLOW, code=0)
        t.equal(result.err.count('does not answer'), 1, result.err)
    for event in t.events(plain.err):
        t.check('event' in event, event)


@case
def a_database_that_another_keeps_is_waited_for(t):
    """Longer than one attempt may take; then it goes on as if nothing was."""
    holder = t.hold('job', '--lease', '1h')
    url = f'{t.url}?{harness.io_timeout(1000)}'
    waiter = t.start('run', '--url', url, 'job', '--',
                     *t.actor('say=next', 'exit=0'))
    t.until(lambda: has_said(t, waiter, 'waiting'), 'it waits')
    other = sqlite3.connect(t.db, isolation_level=None)
    other.execute('BEGIN EXCLUSIVE')
    holder.signal(signal.SIGTERM)
    time.sleep(1.5 * harness.SLOW)
    t.check(waiter.is_running(), waiter.err)
    t.equal(t.pids('next'), [], 'what ran')
    other.execute('ROLLBACK')
    other.close()
    t.code(waiter.wait(), 0)
    t.check(waiter.err.count('does not answer') <= 1, waiter.err)


@case
def an_outage_does_not_prolong_the_wait(t):
    t.hold('job', '--lease', '1h')
    url = (f'fault+sqlite:{t.db}?fault=die:acquire:2-&'
           f'{harness.io_timeout(300)}')
    result = t.run('run', '--wait', '1500ms', '--url', url, 'job', '--',
                   'true')
    t.check(result.code in (69, 75), result)
    t.soon(1 < result.seconds < 4 * harness.SLOW, result.seconds)


@case
def a_signal_ends_a_wait_during_an_outage(t):
    t.hold('job', '--lease', '1h')
    url = f'fault+sqlite:{t.db}?fault=delay:acquire:2-:60s&io_timeout=9s'
    waiter = t.waits('run', '--url', url, 'job', '--', 'true')
    before = time.monotonic()
    t.code(waiter.end(), 143)
    t.soon(time.monotonic() - before < 12 * harness.SLOW, 'slow to end')


@case
def no_terminal_one_line_and_no_more_for_a_minute(t):
    holder = t.hold('job', '--owner', 'nightly')
    fence = t.json('who', 'job')['fence']
    waiter = t.waits('run', 'job', '--', 'true')
    plain = t.waits('run', '--json', 'job', '--', 'true')
    time.sleep(2.5)
    said = waiter.err
    t.equal(said.count('\n'), 1, said)
    t.says(said, 'waiting for job', 'nightly', f'pid {holder.pid}',
           str(fence), 'waited', t.url)
    t.check('\r' not in said and '\033' not in said, said)
    t.equal([(event['event'], event['holder']['owner']['pid'])
             for event in t.events(plain.err)], [('waiting', holder.pid)],
            'events')


@case
def the_live_line_counts_and_vanishes(t):
    """Holder, since, left, waited; drawn anew each second, in one line, also
    where the terminal is not that of our session."""
    holder = t.hold('my job', '--owner',
                    'nightly backup of everything there is')
    for columns, words in (200, []), (40, ['setsid', '-c']):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, 0x5414, bytes([50, 0, columns, 0]) + bytes(4))
        waiter = t.spawn([*words, t.holdfast, 'run', 'my job', '--', 'echo',
                          'ran'], stdin=slave, stderr=slave)
        os.close(slave)
        time.sleep(2.6 * harness.SLOW)
        if columns == 40:
            holder.signal(signal.SIGTERM)
            t.code(waiter.wait(), 0)
        else:
            t.code(waiter.end(signal.SIGINT), 130)
        text = read_all(master)
        drawn = re.findall('\r([^\r]*)\033\\[K', text)
        lines = [line for line in drawn if line]
        t.check(len(lines) >= 2, f'{text!r}')
        waits = re.findall(r'waited ([^,]*),', text)
        t.check(len(set(waits)) >= 2, f'{waits} in {text!r}')
        for line in lines:
            t.check(len(line) < columns, f'{line!r} has {len(line)}')
            t.check('\n' not in line, f'{line!r}')
        if columns == 200:
            t.says(lines[-1], 'my job', 'nightly backup', 'pid', 'since',
                   'left')
        t.check('\r\033[K' in text, f'it was not taken away: {text!r}')
        os.close(master)


def read_all(master):
    os.set_blocking(master, False)
    text = b''
    try:
        while True:
            part = os.read(master, 65536)
            if not part:
                break
            text += part
    except OSError:
        pass
    return text.decode()


if __name__ == '__main__':
    harness.main()
