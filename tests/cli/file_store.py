# SPDX-License-Identifier: MIT
"""The command on a file store: what a folder and a kernel are enough for."""
import os
import signal

import harness
from harness import case


def use_files(t):
    t.url = f'file:{t.dir}/locks'
    t.env['HOLDFAST_URL'] = t.url
    return t.dir / 'locks'


@case
def a_lock_is_a_file_that_is_held_and_released(t):
    folder = use_files(t)
    holder = t.hold('nightly')
    t.check((folder / 'holdfast:nightly').is_file(), 'no such file')
    t.code(t.run('run', '-n', 'nightly', '--', 'true'), 75)
    told = t.json('who', 'nightly')
    t.equal((told['state'], told['grade'], told['reach']),
            ('held', 'S', 'user'), 'who')
    holder.end()
    t.code(t.run('run', '-n', 'nightly', '--', 'true'), 0)


@case
def a_killed_holder_is_replaced_at_once(t):
    use_files(t)
    holder = t.hold('job', '--lease', '1h')
    waiter = t.next_holder('job')
    os.kill(holder.pid, signal.SIGKILL)
    t.code(waiter.wait(), 0)
    t.equal(len(t.pids('next')), 1, 'next')


@case
def a_break_ends_the_holder_and_lets_the_next_in(t):
    use_files(t)
    holder = t.hold('job', '--lease', harness.lease(2))
    fence = t.json('who', 'job')['fence']
    t.code(t.run('break', 'job', '--fence', str(fence)), 0)
    t.code(holder.wait(), 76)
    t.code(t.run('run', '-n', 'job', '--', 'true'), 0)


@case
def a_deleted_file_makes_no_second_holder(t):
    folder = use_files(t)
    holder = t.hold('job', '--lease', harness.lease(3))
    (folder / 'holdfast:job').unlink()
    t.code(t.run('run', '-n', 'job', '--', 'true'), 75)
    t.code(holder.wait(), 76)
    t.code(t.run('run', '-n', 'job', '--', 'true'), 0)


if __name__ == '__main__':
    harness.main()
