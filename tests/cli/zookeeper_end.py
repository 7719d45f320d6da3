# SPDX-License-Identifier: MIT
"""What ends a lock on ZooKeeper, and what does not: a wrapper that is killed
or stopped, a session that the server ends, a server that is killed, started
again or stands still, a leader that is lost. Sessions are of 3 s, so leases of
2 s; the server hears of no session for as long before it ends one."""
import os
import signal

import harness
import zookeeper
from harness import case
from zookeeper import LEASE_MS, SHORT, TIMEOUT_S, ask, fresh, only_child, stat

TREE = ('say=up', 'ignore=TERM', 'fork=setsid', 'beat')


def next_one(t, *args):
    return zookeeper.waiting(t, 'job', *args)


def fences(t):
    """A command that says its fence, for who comes next."""
    del t
    return ('sh', '-c', 'echo $HOLDFAST_FENCE')


@case
def a_killed_wrapper_costs_the_time_of_its_session(t):
    fresh(t, SHORT)
    holder = t.hold('job', words=TREE)
    waiter = next_one(t)
    holder.signal(signal.SIGKILL)
    killed = harness.boot_ns()
    waiter.wait(code=0)
    t.excluded()
    lived = (t.last_ns() - killed) / 1e9
    t.soon(lived < 1.5 * harness.SLOW, f'the command lived {lived:.2f} s')
    waited = (t.last_ns('next') - killed) / 1e9
    t.soon(waited < TIMEOUT_S + 2 * harness.SLOW, f'it waited {waited:.2f} s')
    t.all_gone()


@case
def a_killed_waiter_costs_the_next_one_no_more(t):
    """It stands in line for as long as its session, and is then passed."""
    fresh(t, SHORT)
    holder = t.hold('job')
    dead = next_one(t)
    waiter = zookeeper.waiting(t, 'job', count=2)
    dead.end(signal.SIGKILL)
    holder.signal(signal.SIGTERM)
    result = waiter.wait(code=0)
    t.excluded()
    t.soon(result.seconds < 2 * TIMEOUT_S + 2 * harness.SLOW,
           f'it waited {result.seconds:.2f} s')


@case
def a_stopped_wrapper_is_replaced_after_its_command_is_gone(t):
    fresh(t, SHORT)
    holder = t.hold('job', words=TREE)
    waiter = next_one(t)
    holder.signal(signal.SIGSTOP)
    t.code(waiter.wait(), 0)
    t.excluded()
    result = holder.end(signal.SIGCONT, code=76)
    t.says(result.err, 'job was lost')
    t.all_gone()


@case
def the_command_knows_its_deadline(t):
    fresh(t, SHORT)
    before = harness.boot_ns() / 1e6
    result = t.run('run', 'job', '--', 'sh', '-c',
                   'echo $HOLDFAST_DEADLINE_MS', code=0)
    left = int(result.out) - before
    t.safe(left < LEASE_MS + 1000 * result.seconds, f'{left} ms')
    t.soon(left > LEASE_MS / 2, f'{left} ms')


@case
def a_session_that_the_server_ends_kills_the_command(t):
    chroot = fresh(t)
    holder = t.hold('job', words=TREE)
    fence = t.json('who', 'job')['fence']
    owner = stat(only_child(t, f'{chroot}/holdfast/job'))['owner']
    ended = harness.boot_ns()
    ask('expire', owner)
    t.code(t.run('run', 'job', '--', *t.actor('say=next')), 0)
    result = holder.wait(code=76)
    t.says(result.err, 'job was lost')
    lived = (t.last_ns() - ended) / 1e9
    t.soon(lived < 3 * harness.SLOW, f'the command lived {lived:.2f} s')
    later = t.run('run', 'job', '--', *fences(t)).out
    t.rising([fence, int(later)])
    t.all_gone()


@case
def a_node_that_is_deleted_by_hand_is_a_lock_that_is_broken(t):
    chroot = fresh(t)
    holder = t.hold('job', words=TREE)
    ask('rm', f'{chroot}/holdfast')  # with all that is beneath it
    result = holder.wait(code=76)
    t.says(result.err, 'job was lost')
    t.code(t.run('run', 'job', '--', 'true'), 0)
    t.all_gone()


@case
def a_server_that_is_started_again_costs_no_lock(t):
    """Killed, with the session's time not over: who holds goes on holding,
    who waits goes on waiting, in line."""
    server = zookeeper.Server(t)
    t.env['HOLDFAST_URL'] = f'{server.url}/own'
    holder = t.hold('job')
    fence = t.json('who', 'job')['fence']
    waiter = next_one(t)
    server.kill(t)
    t.code(t.run('run', '--try', 'other', '--', 'true'), 69)
    server.start_again()
    t.until(server.mode, 'it serves again')
    t.until(lambda: t.run('who', 'job').code == 0, 'it is held')
    t.equal(t.json('who', 'job')['fence'], fence, 'fence')
    t.check(holder.is_running() and waiter.is_running(), holder.err)
    holder.signal(signal.SIGTERM)
    t.code(waiter.wait(), 0)
    t.excluded()


@case
def a_server_that_stands_still_is_a_lock_lost_in_time(t):
    """The command is gone before the lease is over; that the wrapper can't
    give back costs it some seconds, and leaves the lock to its session."""
    server = zookeeper.Server(t)
    holder = t.hold('job', '--status-file', 'status', words=TREE)
    os.kill(server.pids[0], signal.SIGSTOP)
    stopped = harness.boot_ns()
    holder.wait(code=76)
    t.equal(t.status()['outcome'], 'lost', 'outcome')
    lived_ms = (t.last_ns() - stopped) / 1e6
    t.safe(lived_ms < LEASE_MS, f'the command lived {lived_ms:.0f} ms')
    ended_ms = (harness.boot_ns() - stopped) / 1e6
    t.soon(ended_ms < LEASE_MS + 12000 * harness.SLOW, f'{ended_ms:.0f} ms')
    os.kill(server.pids[0], signal.SIGCONT)
    t.code(t.run('run', 'job', '--', *t.actor('say=next')), 0)
    t.excluded()


@case
def a_leader_that_is_lost_costs_no_lock(t):
    server = zookeeper.Server(t, '--ensemble', '3')
    t.env['HOLDFAST_URL'] = f'{server.url}/own?session_timeout=20s'
    told = t.json('check')
    items = {item['name']: item for item in told['items']}
    t.equal((told['grade'], items['ensemble']['value'],
             items['ensemble']['verdict']), ('A', '3 members', 'fine'),
            'the grade')
    holder = t.hold('job')
    fence = t.json('who', 'job')['fence']
    waiter = next_one(t)
    leader = next(i for i in range(3) if server.mode(i) == 'leader')
    os.kill(server.pids[leader], signal.SIGKILL)
    t.until(lambda: 'leader' in [server.mode(i) for i in range(3)
                                 if i != leader], 'another leads')
    t.equal(t.json('who', 'job')['fence'], fence, 'fence')
    t.check(holder.is_running() and waiter.is_running(), holder.err)
    holder.signal(signal.SIGTERM)
    t.code(waiter.wait(), 0)
    t.excluded()


if __name__ == '__main__':
    harness.main()
