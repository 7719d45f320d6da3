# SPDX-License-Identifier: MIT
"""The wrapper or the guardian is killed or stopped: by time stamps, the old
command is gone before the lock is somebody else's."""
import os
import signal
import time

import harness
from harness import case

TREE = ('say=up', 'ignore=TERM', 'fork=plain', 'fork=setsid', 'fork=daemon',
        'beat')


def hold_tree(t, *args):
    """A command of four processes that ignore TERM, and who comes next."""
    holder = t.hold('job', *args, words=TREE)
    t.until(lambda: len(set(t.pids('beat'))) == 4, 'all four beat')
    waiter = t.next_waiter('job')
    return holder, waiter


def taken_over(t, waiter, since_ns, seconds):
    """The next one got it within that time, and not too early."""
    t.code(waiter.wait(), 0)
    t.excluded()
    passed = (t.last_ns('next') - since_ns) / 1e9
    t.soon(passed < seconds * harness.SLOW, f'free after {passed:.2f} s')


@case
def kill_of_the_wrapper_ends_the_command_at_once(t):
    holder, waiter = hold_tree(t)
    before = harness.boot_ns()
    holder.signal(signal.SIGKILL)
    taken_over(t, waiter, before, 5)
    lived = (t.last_ns() - before) / 1e9
    t.soon(lived < 4 * harness.SLOW, f'the command lived {lived:.2f} s')
    t.code(holder.wait(), -signal.SIGKILL)
    t.says(holder.err, 'killed')
    t.all_gone()


@case
def kill_of_the_wrapper_while_the_guardian_is_stopped(t):
    holder, waiter = hold_tree(t)
    guardian = t.guardian()
    os.kill(guardian, signal.SIGSTOP)
    t.until(lambda: harness.state_of(guardian) == 'T', 'it stops')
    before = harness.boot_ns()
    holder.signal(signal.SIGKILL)
    os.kill(guardian, signal.SIGCONT)
    taken_over(t, waiter, before, 5)
    t.all_gone()


@case
def kill_of_a_stopped_wrapper_ends_the_command(t):
    holder, waiter = hold_tree(t)
    t.stop(holder.pid)
    before = harness.boot_ns()
    holder.signal(signal.SIGKILL)
    taken_over(t, waiter, before, 5)
    t.all_gone()


def stop_past_the_lease(t, words):
    holder = t.hold('job', '--lease', '2s', words=words)
    waiter = t.next_waiter('job')
    before = harness.boot_ns()
    t.stop(holder.pid)
    taken_over(t, waiter, before, 6)
    lived = (t.last_ns() - before) / 1e9
    t.safe(lived < 2, f'the command lived {lived:.2f} s, the lease is 2 s')
    early = (t.last_ns('next') - before) / 1e9
    t.check(early > 1, f'free after {early:.2f} s of a lease of 2 s')
    return holder


@case
def stop_of_the_wrapper_past_the_lease_ends_the_command_in_time(t):
    holder = stop_past_the_lease(t, ('catch=TERM', 'beat'))
    t.check(t.pids('got TERM'), 'TERM comes before KILL')
    result = holder.end(signal.SIGCONT, code=76)
    t.says(result.err, 'job', 'lost')
    t.all_gone()


@case
def stop_of_the_wrapper_ends_a_tree_that_ignores_term(t):
    holder = stop_past_the_lease(t, TREE)
    t.code(holder.end(signal.SIGCONT), 76)
    t.all_gone()


@case
def a_short_stop_costs_nothing(t):
    holder = t.hold('job', '--lease', '4s')
    for _ in range(3):
        t.stop(holder.pid)
        time.sleep(0.4)
        holder.signal(signal.SIGCONT)
        time.sleep(0.1)
    t.check(holder.is_running(), f'ended: {holder.err}')
    t.code(t.run('who', 'job'), 0)
    t.code(holder.end(), 128 + signal.SIGTERM)


@case
def kill_of_the_guardian_ends_the_command(t):
    holder, waiter = hold_tree(t, '--status-file', 'status')
    before = harness.boot_ns()
    os.kill(t.guardian(), signal.SIGKILL)
    result = holder.wait()
    t.check(result.code not in (0, 64, 74, 75), result)
    t.says(result.err, 'guardian')
    taken_over(t, waiter, before, 5)
    t.equal(t.status()['status'], result.code, 'status')
    t.all_gone()


@case
def kill_of_the_guardian_of_a_stopped_wrapper(t):
    holder = t.hold('job', '--lease', '2s')
    waiter = t.next_holder('job')
    guardian = t.guardian()
    t.stop(holder.pid)
    os.kill(guardian, signal.SIGKILL)
    t.code(waiter.wait(), 0)
    t.excluded()
    holder.signal(signal.SIGCONT)
    t.check(holder.wait().code not in (0, 75), 'as if all were well')


@case
def a_stopped_guardian_is_woken_before_it_matters(t):
    holder = t.hold('job', '--lease', '2s')
    guardian = t.guardian()
    os.kill(guardian, signal.SIGSTOP)
    t.until(lambda: harness.state_of(guardian) == 'T', 'it stops')
    time.sleep(2.5)
    t.check(holder.is_running(), f'ended: {holder.err}')
    t.code(t.run('run', '--try', 'job', '--', 'true'), 75)
    t.code(holder.end(), 128 + signal.SIGTERM)


@case
def kill_of_both_ends_the_command(t):
    holder = t.hold('job')
    waiter = t.next_holder('job')
    guardian = t.guardian()
    t.stop(holder.pid)
    os.kill(guardian, signal.SIGKILL)
    before = harness.boot_ns()
    holder.signal(signal.SIGKILL)
    taken_over(t, waiter, before, 5)


@case
def kill_of_a_wrapper_that_waits_leaves_nothing(t):
    holder = t.hold('job')
    waiter = t.waits('run', 'job', '--', *t.actor('say=ran'))
    waiter.end(signal.SIGKILL)
    holder.end()
    t.code(t.run('run', '--try', 'job', '--', 'true'), 0)
    t.equal(t.pids('ran'), [], 'what ran')
    t.all_gone()


if __name__ == '__main__':
    harness.main()
