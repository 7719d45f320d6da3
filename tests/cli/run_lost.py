# SPDX-License-Identifier: MIT
"""The lock is taken away under a running command: an operator breaks it, the
store's files are deleted or replaced, the store falls silent."""
import os
import signal
import sqlite3
import time

import harness
from harness import case

TREE = ('say=up', 'ignore=TERM', 'fork=setsid', 'beat')


@case
def a_broken_lock_kills_the_command(t):
    holder = t.hold('job', '--status-file', 'status', words=TREE)
    before = harness.boot_ns()
    t.code(t.run('break', 'job', '--force'), 0)
    result = holder.wait(code=76)
    t.says(result.err, 'job', 'lost', 'broken', '76')
    t.equal(t.status(), {'outcome': 'lost', 'status': 76, 'child_exit': None,
                         'child_signal': int(signal.SIGKILL)}, 'status')
    lived = (t.last_ns() - before) / 1e9
    t.soon(lived < 8, f'the command lived {lived:.2f} s')
    t.all_gone()


@case
def a_break_of_one_lock_leaves_the_others(t):
    t.hold('one', '--lease', '3s')
    other = t.hold('two', '--lease', '3s')
    t.code(t.run('break', 'one', '--force'), 0)
    time.sleep(1.5)
    t.check(other.is_running(), other.err)
    t.code(t.run('who', 'two'), 0)


def delete(path):
    path.unlink()


def replace(path):
    """By an empty file of its own, as a restore or a clumsy copy would."""
    path.rename(f'{path}.old')
    path.touch()


def under_the_holder(t, change, suffixes):
    """Whatever happens to the files: either the lock lives on, or the command
    ends before its lease and the run says why. Nobody starts before."""
    holder = t.hold('job', '--lease', '3s', words=TREE)
    for suffix in suffixes:
        change(t.dir / f'locks.db{suffix}')
    before = harness.boot_ns()  # there was no renewal since
    waiter = t.start('run', '--wait', '20s', 'job', '--',
                     *t.actor('say=next', 'exit=0'))
    t.until(lambda: not holder.is_running() or
            harness.boot_ns() - before > 5e9, 'a lease has passed')
    if holder.is_running():
        t.safe(not t.pids('next'), 'two holders')
        t.check(t.run('run', '--try', 'job', '--', 'true').code in
                (75, 69, 77), 'a third holder')
        holder.signal(signal.SIGKILL)
    else:
        result = holder.wait(code=76)
        t.says(result.err, 'job')
        lived = (t.last_ns() - before) / 1e9
        t.safe(lived < 3, f'the command lived {lived:.2f} s of 3 s')
    after = waiter.wait()
    t.check(after.code in (0, 69, 77), after)
    if t.pids('next'):
        t.excluded()
    t.all_gone()


@case
def a_deleted_database_makes_no_second_holder(t):
    under_the_holder(t, delete, ('',))


@case
def a_replaced_database_makes_no_second_holder(t):
    under_the_holder(t, replace, ('',))


@case
def a_deleted_side_file_makes_no_second_holder(t):
    under_the_holder(t, delete, ('-holdfast',))


@case
def a_deleted_log_makes_no_second_holder(t):
    under_the_holder(t, delete, ('-wal', '-shm'))


@case
def all_files_deleted_is_noticed_at_the_next_renewal(t):
    """To a newcomer this is a new store: as a break, it is on him who did
    it until the holder's next renewal."""
    holder = t.hold('job', '--lease', '3s', words=TREE)
    for path in t.dir.glob('locks.db*'):
        path.unlink()
    waiter = t.next_holder('job', '--wait', '20s')
    t.code(holder.wait(), 76)
    t.code(waiter.wait(), 0)
    overlap = (t.last_ns() - t.last_ns('next')) / 1e9
    t.soon(overlap < 1.5 * harness.SLOW, f'both ran for {overlap:.2f} s')
    t.all_gone()


@case
def a_moved_folder_is_a_lost_lock(t):
    folder = t.dir / 'store'
    folder.mkdir(mode=0o700)
    t.env['HOLDFAST_URL'] = f'sqlite:{folder}/locks.db'
    holder = t.hold('job', '--lease', '3s', words=TREE)
    folder.rename(t.dir / 'elsewhere')
    folder.mkdir(mode=0o700)
    waiter = t.next_holder('job', '--wait', '20s')
    t.code(holder.wait(), 76)
    waiter.wait()
    t.all_gone()


@case
def a_store_that_no_longer_renews_ends_the_command_before_its_lease(t):
    url = (f'fault+sqlite:{t.db}?fault=lose_request:renew&'
           f'{harness.io_timeout(300)}')
    holder = t.hold('job', '--url', url, '--lease', harness.lease(2),
                    '--status-file', 'status',
                    words=('say=up', 'catch=TERM', 'beat'))
    waiter = t.next_holder('job')
    since = t.log()[0].ns
    result = holder.wait(code=76)
    t.says(result.err, 'renew', 'TERM', 'job')
    t.check(t.pids('got TERM'), 'no TERM')
    lived = (t.last_ns() - since) / 1e9
    t.safe(lived < 2 * harness.SLOW, f'the command lived {lived:.2f} s')
    t.soon(lived > harness.SLOW, f'the command lived {lived:.2f} s')
    t.equal(t.status()['outcome'], 'lost', 'outcome')
    t.code(waiter.wait(), 0)
    t.excluded()


@case
def a_writer_that_keeps_the_database_does_not_cost_the_lock(t):
    """Another program locks the file for a while, shorter than the lease."""
    holder = t.hold('job', '--lease', '4s')
    other = sqlite3.connect(t.db, isolation_level=None)
    other.execute('BEGIN IMMEDIATE')
    time.sleep(2)
    other.execute('ROLLBACK')
    other.close()
    time.sleep(0.5)
    t.check(holder.is_running(), holder.err)
    t.code(t.run('run', '--try', 'job', '--', 'true'), 75)


@case
def a_loss_is_told_as_an_event(t):
    holder = t.hold('job', '--lease', '2s', '--json')
    t.code(t.run('break', 'job', '--force'), 0)
    t.code(holder.wait(), 76)
    lost = [event for event in t.events(holder.err)
            if event['event'] == 'lost']
    t.equal([event['reason'] for event in lost], ['broken'], 'reason')
    t.equal(t.events(holder.err)[-1]['status'], 76, 'last event')


@case
def a_short_lease_is_kept_under_load(t):
    """The host is busy and the lease is two seconds: nothing is lost."""
    holder = t.hold('job', '--lease', harness.lease(2))
    for _ in range(2):
        t.spawn(['sh', '-c', 'while :; do :; done'])
    time.sleep(5 * harness.SLOW)
    t.check(holder.is_running(), holder.err)
    os.kill(holder.pid, signal.SIGTERM)
    t.code(holder.wait(), 128 + signal.SIGTERM)


if __name__ == '__main__':
    harness.main()
