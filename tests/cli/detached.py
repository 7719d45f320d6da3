# SPDX-License-Identifier: MIT
"""acquire, renew, release: a lock that lives by its lease, known by its
token, which travels by stdout, by a file or by the environment."""
import json
import os
import pathlib
import platform
import re
import signal
import stat
import subprocess
import time

import harness
from harness import case

TOKEN = re.compile('[0-9a-f]{32}')


def acquire(t, *args, name='job'):
    result = t.run('acquire', *args, name, code=0)
    t.equal(result.err, '', 'stderr')
    t.check(TOKEN.fullmatch(result.out.strip()), 'no token on stdout')
    return result.out.strip()


def bring(t, verb, token, *args, name='job'):
    """renew or release with the token in the environment."""
    result = t.run(verb, *args, name, env={'HOLDFAST_TOKEN': token})
    t.check(token not in result.out + result.err, 'the token is shown')
    return result


def is_reading(process, target):
    """It opened that pipe, by its path or its link in /proc, and sleeps."""
    folder = f'/proc/{process.pid}/fd'
    try:
        found = [os.readlink(f'{folder}/{fd}') for fd in os.listdir(folder)
                 if int(fd) > 2]
    except OSError:
        return False
    return target in found and harness.state_of(process.pid) == 'S'


def waits_at(t, process, target):
    t.until(lambda: is_reading(process, str(target)) or
            not process.is_running(), 'it waits for who writes')
    t.check(process.is_running(), f'it did not wait: {process.err}')


def patience_ms(pid):
    """What poll(2) was told, where the kernel shows it; or 0."""
    if platform.machine() != 'x86_64':
        return 0
    try:
        call = pathlib.Path(f'/proc/{pid}/syscall').read_text().split()
    except OSError:
        return 0
    return int(call[3], 16) if call[0] == '7' else 0


@case
def a_shell_keeps_it_between_two_commands(t):
    script = ('TOKEN=$("$0" acquire job --lease 10m) && "$0" who job >seen && '
              'HOLDFAST_TOKEN=$TOKEN "$0" release job')
    result = t.spawn(['sh', '-c', script, t.holdfast]).wait(code=0)
    t.equal(result.out, 'job is released\n', 'stdout')
    t.says((t.dir / 'seen').read_text(), 'job is held')
    t.check(t.is_free(), 'still held')


@case
def it_is_held_though_its_process_is_gone(t):
    token = acquire(t, '--lease', '1m', '--owner', 'nightly', '--note', 'n 1')
    shown = t.json('who', 'job')
    t.equal((shown['state'], shown['owner']['label'], shown['note']),
            ('held', 'nightly', 'n 1'), 'who')
    t.check(40000 < shown['remaining_ms'] <= 60000, shown)
    t.check('is gone' not in t.run('who', 'job').out, 'its process matters')
    t.code(t.run('run', '-n', 'job', '--', 'true'), 75)
    t.code(t.run('break', 'job', '--stale'), 1)
    t.code(bring(t, 'release', token), 0)
    t.code(t.run('run', '-n', 'job', '--', 'true'), 0)


@case
def without_renewal_it_ends_with_its_lease(t):
    began = time.monotonic()
    token = acquire(t, '--lease', harness.lease(2))
    result = t.run('run', '-n', 'job', '--', 'true')
    t.soon(time.monotonic() - began < 2 * harness.SLOW, 'its lease is over')
    t.code(result, 75)
    result = t.run('run', '-w', '20s', 'job', '--', 'true', code=0)
    t.check(time.monotonic() - began > 0.6 * harness.SLOW,
            'before its lease ended')
    for verb in ('renew', 'release'):
        result = bring(t, verb, token)
        t.code(result, 1)
        t.says(result.err, 'job', 'not yours any more', 'free')


@case
def a_renewal_begins_the_lease_anew(t):
    token = acquire(t, '--lease', harness.lease(2))
    result = bring(t, 'renew', token, '--lease', '1h')
    t.code(result, 0)
    t.equal(result.out, 'job is yours for 1h\n', 'stdout')
    t.check(t.json('who', 'job')['remaining_ms'] > 3500000, 'not renewed')
    t.code(bring(t, 'renew', token), 0)
    t.check(20000 < t.json('who', 'job')['remaining_ms'] <= 30000,
            'the default is 30s')
    t.code(bring(t, 'release', token), 0)


@case
def as_json(t):
    shown = t.json('acquire', 'job', '--lease', '1m', '--owner', 'me')
    token = shown.pop('token')
    t.check(TOKEN.fullmatch(token), 'the token')
    seen = t.json('who', 'job')
    t.check(shown['remaining_ms'] > 40000, 'the lease')
    left = seen['remaining_ms']
    t.equal(t.at_rest(shown), t.at_rest(seen), 'as who shows it')
    done = json.loads(bring(t, 'renew', token, '--json', '--lease', '2m').out)
    t.equal(done.pop('renewed'), True, 'renewed')
    t.check(done['remaining_ms'] > left, 'not longer')
    t.equal(t.at_rest(done), t.at_rest(seen), 'renew shows the lock')
    done = json.loads(bring(t, 'release', token, '--json').out)
    t.equal((done['released'], done['state']), (True, 'free'), 'released')
    result = bring(t, 'release', token, '--json')
    t.code(result, 1)
    done = json.loads(result.out)
    t.equal((done['released'], done['state']), (False, 'free'), 'again')


@case
def a_wrong_token_is_1_and_says_who_has_it(t):
    token = acquire(t, '--owner', 'nightly')
    fence = t.json('who', 'job')['fence']
    wrong = ('0' if token[0] != '0' else '1') + token[1:]
    for verb in ('release', 'renew'):
        result = bring(t, verb, wrong)
        t.code(result, 1)
        t.equal(result.out, '', 'stdout')
        t.says(result.err, 'job', 'not yours', 'nightly', str(fence))
        t.code(bring(t, verb, wrong, name='other'), 1)
    t.code(bring(t, 'release', token), 0)
    t.code(bring(t, 'release', token), 1)


@case
def the_token_of_the_past_does_not_hit_the_next_holder(t):
    token = acquire(t, '--lease', '300ms')
    holder = t.hold('job', '--owner', 'next')
    for verb in ('renew', 'release'):
        result = bring(t, verb, token)
        t.code(result, 1)
        t.says(result.err, 'next', str(holder.pid))
    t.check(holder.is_running(), holder.err)


@case
def by_file_across_processes(t):
    result = t.run('acquire', 'job', '--token-file', 'token', '--verbose')
    t.code(result, 0)
    t.equal(result.out, '', 'stdout')
    t.says(result.err, 'job is held', 'fence')
    path = t.dir / 'token'
    t.equal(stat.S_IMODE(path.stat().st_mode), 0o600, 'mode')
    token = path.read_text()
    t.check(TOKEN.fullmatch(token.rstrip('\n')), 'the file')
    t.check(token.strip() not in result.err, 'the token is shown')
    t.code(t.run('renew', 'job', '--token-file', 'token', '--lease', '5m'), 0)
    t.equal(path.read_text(), token, 'renewing leaves the file')
    t.code(t.run('release', 'other', '--token-file', 'token'), 1)
    t.equal(path.read_text(), token, 'another name leaves the file')
    t.code(t.run('release', 'job', '--token-file', 'token'), 0)
    t.check(not path.exists(), 'the file is still there')
    t.check(t.is_free(), 'still held')
    t.equal([p.name for p in t.dir.iterdir() if 'token' in p.name], [],
            'left behind')


@case
def the_file_wins_over_the_environment_and_may_be_a_pipe(t):
    token = acquire(t)
    (t.dir / 'token').write_text(token)
    t.code(t.run('renew', 'job', '--token-file', 'token',
                 env={'HOLDFAST_TOKEN': '0' * 32}), 0)
    read_end, write_end = os.pipe()
    process = t.start('release', 'job', '--token-file', '/dev/stdin',
                      stdin=read_end)
    waits_at(t, process, os.readlink(f'/proc/self/fd/{read_end}'))
    os.close(read_end)
    os.write(write_end, f'{token}\n'.encode())
    os.close(write_end)
    t.code(process.wait(), 0)
    t.check((t.dir / 'token').exists(), 'not the file that was named')


@case
def who_writes_to_a_fifo_may_come_late(t):
    token = acquire(t)
    fifo = t.dir / 'fifo'
    os.mkfifo(fifo)
    for verb, text, code in (('renew', token, 0), ('release', '', 64),
                             ('release', token[:5], 64),
                             ('release', f'{token}\n', 0)):
        process = t.start(verb, 'job', '--token-file', fifo)
        waits_at(t, process, fifo)
        t.check(patience_ms(process.pid) <= 60000, 'it waits for ever')
        fifo.write_text(text)
        t.code(process.wait(), code)
    t.check(t.is_free(), 'still held')


@case
def of_a_pipe_whose_writer_is_gone_nothing_is_awaited(t):
    read_end, write_end = os.pipe()
    os.close(write_end)
    result = t.start('release', 'job', '--token-file', '/dev/stdin',
                     stdin=read_end).wait()
    os.close(read_end)
    t.code(result, 64)
    t.says(result.err, 'no token')
    t.soon(result.seconds < 20 * harness.SLOW, 'it waited')


@case
def with_json_and_a_file_the_token_is_only_in_the_file(t):
    result = t.run('acquire', 'job', '--token-file', 'token', '--json', code=0)
    t.equal(json.loads(result.out)['token'], None, 'token')
    t.check((t.dir / 'token').read_text().strip() not in result.out, 'shown')


@case
def a_file_that_is_there_is_replaced(t):
    (t.dir / 'token').write_text('of a script that was killed')
    t.code(t.run('acquire', 'job', '--token-file', 'token'), 0)
    t.check(TOKEN.fullmatch((t.dir / 'token').read_text().strip()), 'content')
    result = t.run('acquire', 'two', '--token-file', 'none/token', code=64)
    t.equal(result.out, '', 'stdout')
    t.says(result.err, '--token-file', 'none')
    t.check(t.is_free('two'), 'held though refused')


def deaf(t, kind):
    """acquire, with a stdout that takes nothing."""
    if kind in ('>&-', '>/dev/full', '0<&- 1>&- 2>&-'):
        return t.spawn(['sh', '-c', f'exec "$0" acquire job {kind}',
                        t.holdfast]).wait()
    read_end, write_end = harness.full_pipe() if kind == 'full' else os.pipe()
    if kind == 'no reader':
        os.close(read_end)
    # Not sh, which may know descriptors of one digit only.
    script = f'exec "$0" acquire --json job >&{write_end}'
    process = t.spawn(['bash', '-c', script, t.holdfast], pass_fds=[write_end])
    os.close(write_end)
    result = process.wait()
    if kind == 'full':
        os.close(read_end)
    return result


@case
def what_cannot_be_delivered_is_given_back(t):
    for kind in ('>/dev/full', '>&-', 'no reader', 'full', '0<&- 1>&- 2>&-'):
        result = deaf(t, kind)
        t.code(result, 70)
        if '2>' not in kind:
            t.says(result.err, 'stdout')
        t.check(t.is_free(), f'{kind}: held though nobody knows the token')


@case
def what_the_file_cannot_take_is_given_back(t):
    folder = t.dir / 'folder'
    folder.mkdir()
    holder = t.hold('job')
    waiter = t.waits('acquire', 'job', '--token-file', 'folder/token')
    folder.rmdir()
    holder.signal(signal.SIGTERM)
    result = waiter.wait(code=70)
    t.says(result.err, '--token-file', 'folder/token')
    t.check(t.is_free(), 'held though nobody knows the token')
    t.equal([p.name for p in t.dir.iterdir() if 'token' in p.name], [],
            'left behind')


@case
def nobody_reads_half_a_token(t):
    """Readers see no file, or a whole one, while it is written anew."""
    path = t.dir / 'token'
    seen = set()
    for _ in range(20):
        writer = t.start('acquire', 'job', '--token-file', path)
        while writer.is_running():
            if path.exists():
                seen.add(len(path.read_text()))
        t.code(writer.wait(), 0)
        t.code(t.run('release', 'job', '--token-file', path), 0)
    t.check(seen <= {33}, f'sizes seen: {seen}')


@case
def a_busy_lock_is_75_and_leaves_no_file(t):
    acquire(t, '--owner', 'first')
    for args in (('-n',), ('-w', '200ms')):
        result = t.run('acquire', *args, 'job', '--token-file', 'token')
        t.code(result, 75)
        t.equal(result.out, '', 'stdout')
        t.says(result.err, 'job', 'first')
    t.code(t.run('acquire', '-n', '-E', '4', 'job'), 4)
    t.check(not (t.dir / 'token').exists(), 'a file')


@case
def without_a_token_both_ways_are_named(t):
    for verb in ('renew', 'release'):
        for env in ({}, {'HOLDFAST_TOKEN': ''}):
            result = t.run(verb, 'job', env=env, code=64)
            t.says(result.err, '--token-file', 'HOLDFAST_TOKEN')
        t.code(t.run(verb, 'job', 'a' * 32), 64)
        t.code(t.run(verb, 'job', '--token', 'a' * 32), 64)
    t.check(not t.db.exists(), 'a store was made')


@case
def a_malformed_token_is_64_and_not_repeated(t):
    for bad in ('s3cr3t', 'A' * 32, 'a' * 31, 'a' * 33, 'g' * 32,
                'a' * 32 + ' '):
        for verb in ('renew', 'release'):
            result = t.run(verb, 'job', env={'HOLDFAST_TOKEN': bad}, code=64)
            t.says(result.err, 'HOLDFAST_TOKEN')
            t.check(bad not in result.err, 'it is repeated')
            (t.dir / 'bad').write_text(bad)
            result = t.run(verb, 'job', '--token-file', 'bad', code=64)
            t.check(bad not in result.err, 'it is repeated')
    t.code(t.run('release', 'job', '--token-file', 'none'), 64)
    t.check((t.dir / 'bad').exists(), 'the file was removed')
    t.check(not t.db.exists(), 'a store was made')


@case
def a_command_may_release_the_lock_of_its_run(t):
    """The token of a run is one like any other: letting go is a loss."""
    script = '"$0" release job; read never'
    process = t.start('run', '--lease', harness.lease(2), 'job', '--', 'sh',
                      '-c', script, t.holdfast, stdin=subprocess.PIPE)
    t.code(process.wait(), 76)
    t.says(process.out, 'job is released')


@case
def a_store_that_is_down_is_69_and_the_file_stays(t):
    token = acquire(t)
    (t.dir / 'token').write_text(token)
    for kind in ('renew', 'release'):
        url = (f'fault+{t.url}?fault=lose_request:{kind}:*&'
               f'{harness.io_timeout(500)}')
        result = t.run('release', '--url', url, 'job', '--token-file', 'token')
        t.code(result, 69)
        t.equal((t.dir / 'token').read_text().strip(), token, 'the file')
    t.check(t.json('who', 'job')['remaining_ms'] <= 10000, 'the lease')
    t.code(t.run('release', 'job', '--token-file', 'token'), 0)


if __name__ == '__main__':
    harness.main()
