# SPDX-License-Identifier: MIT
"""Nobody reads what we write: a full pipe, also one that is not ours, and a
terminal that was stopped with Ctrl-S. Nothing that keeps, ends or awaits a
lock waits for the reader."""
import fcntl
import os
import pty
import shutil
import signal
import termios
import time

import harness
from harness import case

NOBODY = 65534


def close(ends):
    for end in ends:
        os.close(end)


def as_nobody(t):
    """The words before a command that make it somebody who may not open what
    is root's; for anybody else the mode of the pipe is enough."""
    if os.geteuid():
        return [t.holdfast], t.actor_path
    if not shutil.which('setpriv'):
        raise harness.Skipped('no setpriv')
    holdfast, actor = t.copy_for_all()
    store = t.dir / 'store'
    store.mkdir()
    os.chown(store, NOBODY, NOBODY)
    store.chmod(0o700)
    t.env['HOLDFAST_URL'] = f'sqlite:{store}/locks.db'
    t.env['LD_LIBRARY_PATH'] = str(holdfast.parent)
    return ['setpriv', f'--reuid={NOBODY}', f'--regid={NOBODY}',
            '--clear-groups', holdfast], actor


def fault(t, rules):
    path = t.env['HOLDFAST_URL'].partition(':')[2]
    return f'fault+sqlite:{path}?{harness.io_timeout(300)}&fault={rules}'


def await_start(t, holder):
    t.until(lambda: t.log() or not holder.is_running(), 'the command starts')
    t.check(t.log(), f'no command: {holder.argv}')


@case
def failed_renewals_are_logged_without_waiting(t):
    """The thread that renews is the one that would wait."""
    seconds = 3 if harness.SLOW == 1 else 9
    for is_foreign in (False, True):
        words, actor = as_nobody(t) if is_foreign else ([t.holdfast],
                                                        t.actor_path)
        ends = harness.full_pipe(is_foreign)
        t.log_path.write_text('')
        t.log_path.chmod(0o666)
        holder = t.spawn([*words, 'run', '--lease', f'{seconds}s', '--url',
                          fault(t, 'lose_reply:renew:1-2'), 'job', '--',
                          actor, t.log_path, 'catch=TERM', 'beat'],
                         stderr=ends[1])
        await_start(t, holder)
        end = time.monotonic() + 1.5 * seconds
        while time.monotonic() < end:
            t.check(holder.is_running(), 'the lock was lost')
            time.sleep(0.1)
        t.equal(t.pids('got TERM'), [], 'TERM')
        holder.signal(signal.SIGKILL)
        close(ends)


@case
def a_foreign_pipe_that_stalls_does_not_delay_the_end(t):
    words, actor = as_nobody(t)
    for rules in ('lose_request:renew', 'delay:renew:*:9s'):
        ends = harness.full_pipe(is_foreign=True)
        t.log_path.write_text('')
        t.log_path.chmod(0o666)
        holder = t.spawn([*words, 'run', '--lease', harness.lease(2),
                          '--url', fault(t, rules), 'job', '--', actor,
                          t.log_path, 'ignore=TERM', 'beat'], stderr=ends[1])
        await_start(t, holder)
        since = t.log()[0].ns
        t.until(lambda: not harness.state_of(t.command_pid()), 'it ends')
        lived = (t.last_ns() - since) / 1e9
        t.safe(lived < 2 * harness.SLOW, f'the command lived {lived:.2f} s')
        close(ends)
        t.code(holder.wait(), 76)


@case
def a_foreign_pipe_with_a_reader_gets_every_line(t):
    words, actor = as_nobody(t)
    read_end, write_end = os.pipe()
    os.fchmod(write_end, 0)
    result = t.spawn([*words, 'run', '-v', 'job', '--', actor, t.log_path,
                      'exit=3'], stderr=write_end).wait()
    os.close(write_end)
    with os.fdopen(read_end) as lines:
        text = lines.read()
    t.code(result, 3)
    t.says(text, 'is held, fence', 'is released', 'exit code 3')


@case
def a_waiter_hears_signals_though_nobody_reads(t):
    t.hold('job')
    for args in ((), ('--json',)):
        ends = harness.full_pipe()
        waiter = t.start('run', *args, '--status-file', 'status', 'job', '--',
                         'true', stderr=ends[1])
        time.sleep(0.8)
        before = time.monotonic()
        t.code(waiter.end(), 143)
        t.soon(time.monotonic() - before < 5 + 3 * harness.SLOW, 'slow')
        t.equal(t.status()['outcome'], 'interrupted', 'outcome')
        close(ends)


@case
def the_last_words_wait_some_seconds_and_no_longer(t):
    """Who waits for our end before he reads must not wait for ever."""
    t.hold('job')
    ends = harness.full_pipe()
    waiter = t.start('run', '-n', 'job', '--', 'true', stderr=ends[1])
    time.sleep(1)
    t.check(waiter.is_running(), 'it did not wait for its reader')
    os.read(ends[0], 65536)
    t.code(waiter.wait(), 75)
    os.set_blocking(ends[0], False)
    t.says(os.read(ends[0], 65536).decode(), 'job is held by')
    close(ends)
    ends = harness.full_pipe()
    result = t.run('run', '-n', 'job', '--', 'true', stderr=ends[1], code=75)
    t.soon(4 < result.seconds < 6 + 3 * harness.SLOW, result.seconds)
    close(ends)


@case
def the_lock_is_free_before_the_last_words(t):
    ends = harness.full_pipe()
    holder = t.start('run', 'job', '--', './none', stderr=ends[1])
    t.until(lambda: t.run('run', '-n', 'job', '--', 'true').code == 0,
            'it is free')
    t.check(holder.is_running(), 'it did not wait for its reader')
    close(ends)
    t.code(holder.wait(), 127)


@case
def events_for_a_stalled_program_are_dropped(t):
    ends = harness.full_pipe()
    holder = t.start(
        'run', '--lease', harness.lease(1), '--json-fd', str(ends[1]), 'job',
        '--', *t.actor('beat'), pass_fds=(ends[1],))
    t.until(t.log, 'the command starts')
    time.sleep(1.5 * harness.SLOW)
    t.check(holder.is_running(), holder.err)
    holder.signal(signal.SIGTERM)
    t.until(lambda: t.run('run', '-n', 'job', '--', 'true').code == 0,
            'it is free')
    close(ends)
    t.code(holder.wait(), 143)


@case
def a_terminal_stopped_by_ctrl_s_stops_no_wait(t):
    """The live line finds no room; the wait ends when it is told to."""
    t.hold('job')
    master, slave = pty.openpty()
    waiter = t.spawn(['setsid', '-c', t.holdfast, 'run', 'job', '--', 'true'],
                     stdin=slave, stderr=slave)
    fcntl.fcntl(master, fcntl.F_SETFL, os.O_NONBLOCK)

    def read():
        try:
            return os.read(master, 4096)
        except OSError:
            return b''
    t.until(lambda: b'waited' in read(), 'the live line')
    termios.tcflow(slave, termios.TCOOFF)
    time.sleep(1.5)
    t.code(waiter.end(), 143)
    os.close(slave)
    os.close(master)


if __name__ == '__main__':
    harness.main()
