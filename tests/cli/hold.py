# SPDX-License-Identifier: MIT
"""hold: a lock for a shell, until stdin ends, a signal comes, or it is
lost."""
import json
import os
import pty
import signal
import subprocess
import time

import harness
from harness import case


def start(t, *args, stdin=subprocess.PIPE, name='job', **options):
    """A hold that has said that it holds the lock."""
    process = t.start('hold', *args, name, stdin=stdin, **options)
    t.until(lambda: process.out.endswith('\n') or not process.is_running(),
            'hold says that it holds')
    t.check(process.is_running(), f'no hold: {process.err}')
    return process


@case
def it_says_so_and_lets_go_when_stdin_ends(t):
    process = start(t)
    words = process.out.split()
    shown = t.json('who', 'job')
    t.equal(words, ['held', 'job', f'fence={shown["fence"]}',
                    'lease_ms=30000', f'pid={process.pid}'], 'the line')
    t.equal(shown['owner']['pid'], process.pid, 'holder')
    process.popen.stdin.write(b'what is written is dropped\n' * 1000)
    process.popen.stdin.flush()
    t.code(t.run('run', '-n', 'job', '--', 'true'), 75)
    process.popen.stdin.close()
    result = process.wait(code=0)
    t.equal(result.err, '', 'stderr')
    t.check(t.is_free(), 'still held')


@case
def verbose_says_that_it_was_taken_over_from_the_dead(t):
    dead = start(t)
    dead.popen.kill()
    dead.wait()
    heir = start(t, '--verbose', '--wait', '20s')
    t.until(lambda: 'job is held' in heir.err, 'it says so')
    t.until(lambda: 'holdfast: job: taken over, ' in heir.err,
            'it says that nobody gave it back')
    heir.popen.stdin.close()
    result = heir.wait(code=0)
    t.says(result.err, 'job is released')
    heir = start(t, '--verbose')
    heir.popen.stdin.close()
    t.check('taken over' not in heir.wait(code=0).err, 'after a release')


@case
def as_json_it_is_one_object_with_the_token(t):
    process = start(t, '--json', '--note', 'ticket 42', '--owner', 'me')
    shown = json.loads(process.out)
    token = shown.pop('token')
    t.check(len(token) == 32 and set(token) <= set('0123456789abcdef'),
            'the token')
    seen = t.json('who', 'job')
    t.check(shown['remaining_ms'] > 20000 and seen['remaining_ms'] > 0,
            'the lease')
    t.equal(t.at_rest(shown), t.at_rest(seen), 'as who shows it')
    t.equal((shown['owner']['label'], shown['note']), ('me', 'ticket 42'),
            'labels')
    process.popen.stdin.close()
    t.code(process.wait(), 0)


@case
def a_fifo_is_a_leash(t):
    script = ('mkfifo leash said; "$0" hold job <leash >said & '
              'exec 9>leash; read -r line <said || exit; "$0" who job >seen; '
              'exec 9>&-; wait $!; echo "$?" >code; echo "$line" >line')
    t.code(t.spawn(['sh', '-c', script, t.holdfast]).wait(), 0)
    t.says((t.dir / 'line').read_text(), 'held job fence=')
    t.says((t.dir / 'seen').read_text(), 'job is held')
    t.equal((t.dir / 'code').read_text(), '0\n', 'exit of hold')
    t.check(t.is_free(), 'still held')


@case
def who_is_killed_lets_the_leash_go(t):
    """The script that has the other end dies; nobody cleans up."""
    fifo = t.dir / 'leash'
    os.mkfifo(fifo)
    script = t.spawn(['sh', '-c', '"$0" hold job <leash >said & '
                      'exec 9>leash; until [ -s said ]; do sleep 0.05; done; '
                      'echo ready; read never', t.holdfast],
                     stdin=subprocess.PIPE)
    t.until(lambda: script.out == 'ready\n', 'it is held')
    t.code(t.run('who', 'job'), 0)
    script.signal(signal.SIGKILL)
    t.until(lambda: t.is_free(), 'the lock is free')
    script.popen.stdin.close()
    t.all_gone()


@case
def each_signal_lets_it_go(t):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        process = start(t)
        t.code(process.end(number), 0)
        t.check(t.is_free(), 'still held')
        process.popen.stdin.close()


@case
def without_stdin_a_signal_ends_it(t):
    process = start(t, stdin=None)
    t.until(lambda: t.json('who', 'job')['remaining_ms'] > 0, 'it is held')
    t.check(process.is_running(), '/dev/null ended it')
    t.code(process.end(), 0)
    script = ('"$0" hold job <&- >said & pid=$!; '
              'until [ -s said ]; do sleep 0.05; done; "$0" who job >seen; '
              'kill $pid; wait $pid')
    t.code(t.spawn(['sh', '-c', script, t.holdfast]).wait(), 0)
    t.says((t.dir / 'seen').read_text(), 'job is held')


@case
def it_is_renewed(t):
    process = start(t, '--lease', harness.lease(1.5))
    fence = t.json('who', 'job')['fence']
    time.sleep(2 * harness.SLOW)  # longer than a lease
    t.equal(t.json('who', 'job')['fence'], fence, 'fence')
    process.popen.stdin.close()
    t.code(process.wait(), 0)


@case
def a_loss_is_told_with_76(t):
    process = start(t, '--lease', harness.lease(1))
    t.code(t.run('break', 'job', '--force'), 0)
    result = process.wait(code=76)
    t.says(result.err, 'job', 'lost', 'broken', '76')
    process = start(t, '--lease', '1s', '--lost-exit', '9')
    t.stop(process.pid)
    t.until(lambda: t.is_free(), 'the lease ends')
    t.code(t.run('run', 'job', '--', 'true'), 0)
    t.code(process.end(signal.SIGCONT), 9)


@case
def a_killed_hold_holds_nobody_up(t):
    process = start(t, '--lease', '1h')
    process.end(signal.SIGKILL)
    t.code(t.run('run', '-w', '10s', 'job', '--', 'true'), 0)


@case
def while_it_waits_it_is_busy_or_interrupted(t):
    holder = start(t, '--owner', 'first')
    for args in (('-n',), ('-w', '200ms')):
        result = t.run('hold', *args, 'job', code=75)
        t.equal(result.out, '', 'stdout')
        t.says(result.err, 'job', 'first', str(holder.pid), 'holdfast who')
    t.code(t.run('hold', '-n', '-E', '3', 'job'), 3)
    waiter = t.waits('hold', 'job', stdin=subprocess.PIPE)
    result = waiter.end(signal.SIGINT, code=128 + signal.SIGINT)
    t.equal(result.out, '', 'stdout')
    holder.popen.stdin.close()
    t.code(holder.wait(), 0)


@case
def the_next_waiter_gets_it(t):
    first = start(t)
    second = t.waits('hold', 'job', stdin=subprocess.PIPE)
    first.popen.stdin.close()
    t.code(first.wait(), 0)
    t.until(lambda: second.out, 'the second holds')
    second.popen.stdin.close()
    t.code(second.wait(), 0)


@case
def on_a_terminal_ctrl_c_and_ctrl_d_end_it(t):
    for key in (b'\x03', b'\x04'):
        master, slave = pty.openpty()
        process = t.spawn(['setsid', '-c', '-w', t.holdfast, 'hold', 'job'],
                          stdin=slave)
        os.close(slave)
        t.until(lambda p=process: p.out, 'it is held')
        os.write(master, b'typed\n\x1a')
        t.until(lambda p=process: 'stays held' in p.err, 'Ctrl-Z is answered')
        t.code(t.run('who', 'job'), 0)
        os.write(master, key)
        t.code(process.wait(), 0)
        os.close(master)
        t.check(t.is_free(), 'still held')


@case
def in_the_background_of_a_terminal_it_holds_on(t):
    script = ('set -m; "$0" hold job >said & '
              'until [ -s said ]; do sleep 0.05; done; echo ready; '
              'read -r go; sleep 0.2; "$0" who job >seen && echo held; '
              'fg >/dev/null; echo "code $?"')
    master, slave = pty.openpty()
    shell = t.spawn(['setsid', '-c', '-w', 'sh', '-c', script, t.holdfast],
                    stdin=slave)
    os.close(slave)
    t.until(lambda: 'ready' in shell.out, 'it is held')
    os.write(master, b'go\n')
    t.until(lambda: 'held' in shell.out, 'it still is')
    t.code(t.run('who', 'job'), 0)
    os.write(master, b'\x04')
    t.code(shell.wait(), 0)
    os.close(master)
    t.says(shell.out, 'code 0')
    t.check(t.is_free(), 'still held')


@case
def a_line_that_nobody_reads_holds_nothing(t):
    for shut in ('>/dev/full', '>&-'):
        result = t.spawn(['sh', '-c', f'exec "$0" hold job {shut}',
                          t.holdfast]).wait(code=70)
        t.says(result.err, 'stdout')
        t.check(t.is_free(), 'still held')


if __name__ == '__main__':
    harness.main()
