# SPDX-License-Identifier: MIT
"""Runs that compete: exclusion, patience, what a waiter sees and says."""
import pathlib
import re
import socket

import harness
import page
from harness import case


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
def wait_is_bounded(t):
    t.hold('job')
    for args, least in (('--try',), 0), (('--wait', '300ms'), 0.3):
        result = t.run('run', *args, 'job', '--', 'true', code=75)
        t.soon(least <= result.seconds < 10 * harness.SLOW,
               f'took {result.seconds} s')
    t.says(result.err, '300ms')


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
def a_short_wait_says_nothing(t):
    """A busy machine makes it long, but not each time."""
    for number in range(1, 11):
        holder = t.start('run', 'job', '--',
                         *t.actor('say=in', 'pause=150', 'exit=0'))
        t.until(lambda n=number: len(t.pids('in')) == n, 'the lock is held')
        result = t.run('run', 'job', '--', 'true', code=0)
        t.code(holder.wait(), 0)
        if result.err == '':
            return
    t.check(False, f'each of them says something: {result.err}')


def run_loop(t):
    """The loop of docs/reference.md that counts tries."""
    script = t.dir / 'backup.sh'
    script.write_text('#!/bin/sh\nexit 3\n')
    script.chmod(0o755)
    folder = str(pathlib.Path(t.holdfast).parent)
    return t.spawn(['sh', '-c', page.block_with('--try nightly')], env={
        'PATH': f'{folder}:{t.env["PATH"]}'}).wait()


@case
def a_loop_of_tries_is_busy_in_the_end(t):
    t.hold('nightly')
    result = run_loop(t)
    t.code(result, 75)
    t.equal(len(re.findall('nightly is held', result.err)), 3, result.err)


@case
def a_loop_of_tries_ends_as_its_command_does(t):
    t.code(run_loop(t), 3)


if __name__ == '__main__':
    harness.main()
