# SPDX-License-Identifier: MIT
"""--metrics-file and --status-file: what stands in them for each end of a
run, and that they appear whole."""
import os
import re
import signal
import socket
import stat
import threading
import time

import harness
from harness import case

SAMPLE = re.compile(r'([a-z_]+)\{((?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)*)\} '
                    r'([0-9.]+)')
LABEL = re.compile(r'([a-z]+)="((?:[^"\\]|\\.)*)"')


def parse(t, text):
    """{metric: {further labels: value}}, checked as Prometheus would."""
    found = {}
    kinds = {}
    for line in text.splitlines():
        if line.startswith('# TYPE '):
            _, _, name, kind = line.split(' ')
            t.check(name not in kinds, f'{name} twice')
            kinds[name] = kind
        elif not line.startswith('# HELP '):
            match = SAMPLE.fullmatch(line)
            t.check(match, f'no sample: {line!r}')
            name, labels, value = match.groups()
            t.check(name in kinds, f'no TYPE of {name}')
            words = dict(LABEL.findall(labels))
            base = (words.pop('name'), words.pop('store'))
            found.setdefault('labels', set()).add(base)
            series = found.setdefault(name, {})
            key = tuple(sorted(words.items()))
            t.check(key not in series, f'{line!r} twice')
            series[key] = float(value)
    t.check(text.endswith('\n'), 'the last line has no end')
    return found


def metrics(t):
    return parse(t, (t.dir / 'm.prom').read_text())


def value(t, name, **labels):
    return metrics(t)[f'holdfast_run_{name}'][tuple(sorted(labels.items()))]


def run(t, *args, **options):
    return t.run('run', '--status-file', 'status', '--metrics-file', 'm.prom',
                 *args, **options)


def agree(t, result, outcome):
    """Both files are there and tell this end."""
    t.equal((t.status()['outcome'], t.status()['status']),
            (outcome, result.code), f'status file ({result.err})')
    t.equal(value(t, 'outcome', outcome=outcome), 1, 'outcome')
    t.equal(value(t, 'exit_code'), result.code, 'exit code')
    for name in ('status', 'm.prom'):
        (t.dir / name).unlink()


@case
def a_good_run_in_figures(t):
    before = time.time()
    t.code(run(t, 'job', '--', 'sleep', '0.3'), 0)
    t.equal(metrics(t)['labels'], {('job', t.url)}, 'labels')
    t.check(before - 1 < value(t, 'start_timestamp_seconds') <
            value(t, 'end_timestamp_seconds') < time.time() + 1, 'times')
    t.soon(0.3 <= value(t, 'hold_seconds') < 5 * harness.SLOW, 'hold')
    t.soon(value(t, 'wait_seconds') < 2 * harness.SLOW, 'wait')
    for name, wanted in (('attempts', 1), ('acquired', 1), ('exit_code', 0)):
        t.equal(value(t, name), wanted, name)
    t.equal(set(metrics(t)['holdfast_run_lost'].values()), {0}, 'lost')
    t.check(value(t, 'last_success_timestamp_seconds') >= before - 1,
            'success')


@case
def a_wait_in_figures(t):
    pause = f'pause={900 * harness.SLOW}'
    t.start('run', 'job', '--', *t.actor('say=up', pause, 'exit=0'))
    t.until(t.log, 'the holder starts')
    t.code(run(t, 'job', '--', 'true'), 0)
    t.soon(0.3 < value(t, 'wait_seconds') < 5 * harness.SLOW, 'wait')
    t.check(value(t, 'attempts') >= 2, 'attempts')


@case
def renewals_are_counted(t):
    url = f'fault+sqlite:{t.db}?fault=lose_reply:renew:2'
    t.code(run(t, '--lease', f'{harness.SLOW}s', '--url', url, 'job', '--',
               'sleep', str(1.8 * harness.SLOW)), 0)
    t.check(value(t, 'renewals', result='ok') >= 3, 'renewals')
    t.check(value(t, 'renewals', result='failed') >= 1, 'failed ones')
    t.check(value(t, 'store_operations') >= 5, 'operations')
    t.check(value(t, 'store_connects') >= 1, 'connections')


@case
def every_end_has_both_files(t):
    url = f'fault+sqlite:{t.db}?{harness.io_timeout(500)}&fault='
    for args, code, outcome in (
            (('job', '--', 'true'), 0, 'exited'),
            (('job', '--', 'sh', '-c', 'exit 9'), 9, 'exited'),
            (('job', '--', 'sh', '-c', 'kill $$'), 143, 'signaled'),
            (('job', '--', './none'), 127, 'not-found'),
            (('job', '--', '/'), 126, 'not-executable'),
            (('--max-run', '50ms', 'job', '--', 'sleep', '9'), 124,
             'max-run'),
            (('--reach', 'hosts', 'job', '--', 'true'), 77, 'unsafe'),
            (('--url', f'{t.url}?x=1', 'job', '--', 'true'), 64, 'usage'),
            (('--url', f'{url}die:open', 'job', '--', 'true'), 69,
             'unavailable'),
            (('--lease', harness.lease(2), '--url',
              f'{url}lose_request:release', 'r', '--', 'true'), 74,
             'unconfirmed')):
        result = run(t, *args)
        t.code(result, code)
        agree(t, result, outcome)
        result = t.run('run', '--json', *args, code=code)
        last = t.events(result.err)[-1]
        t.equal((last['event'], last['outcome'], last['status']),
                ('exit', outcome, code), 'the last event')


@case
def a_line_that_is_refused_is_an_event_too(t):
    """And no old status stays."""
    t.code(run(t, 'job', '--', 'true'), 0)
    for args in (('--grace', '11s', 'job', '--', 'true'), ('', '--', 'true'),
                 ('-c', 'job', '--', 'a', 'b')):
        result = t.run('run', '--json', '--status-file', 'status', *args)
        t.code(result, 64)
        first, last = t.events(result.err)
        t.equal(first['event'], 'message', 'the first event')
        t.equal((last['event'], last['outcome']), ('exit', 'usage'), 'last')
        t.equal(t.status()['outcome'], 'usage', 'status')


@case
def the_ends_of_a_lock_that_is_held(t):
    t.hold('job')
    for args, outcome in ((('-n',), 'busy'), (('-w', '100ms'), 'timed-out')):
        result = run(t, *args, 'job', '--', 'true')
        t.code(result, 75)
        t.equal((value(t, 'acquired'), value(t, 'hold_seconds')), (0, 0),
                'acquired')
        agree(t, result, outcome)
    waiter = t.waits('run', '--status-file', 'status', '--metrics-file',
                     'm.prom', 'job', '--', 'true')
    result = waiter.end(signal.SIGINT, code=130)
    agree(t, result, 'interrupted')


@case
def a_loss_is_counted_with_its_reason(t):
    holder = t.hold('job', '--lease', harness.lease(3), '--metrics-file',
                    'm.prom', '--status-file', 'status')
    t.code(t.run('break', 'job', '--force'), 0)
    result = holder.wait(code=76)
    t.equal(value(t, 'lost', reason='broken'), 1, 'broken')
    t.equal(value(t, 'lost', reason='expired'), 0, 'expired')
    agree(t, result, 'lost')
    holder = t.hold('job', '--lease', harness.lease(1), '--metrics-file',
                    'm.prom')
    t.stop(holder.pid)
    t.code(t.next_holder('job').wait(), 0)
    t.code(holder.end(signal.SIGCONT), 76)
    t.equal(sum(metrics(t)['holdfast_run_lost'].values()), 1, 'lost')


@case
def a_dead_guardian_is_told_in_both_files(t):
    holder = t.hold('job', '--metrics-file', 'm.prom', '--status-file',
                    'status')
    os.kill(t.guardian(), signal.SIGKILL)
    result = holder.wait(code=70)
    agree(t, result, 'internal')


@case
def the_last_success_is_carried_over(t):
    t.code(run(t, 'job', '--', 'true'), 0)
    first = value(t, 'last_success_timestamp_seconds')
    t.code(run(t, 'job', '--', 'false'), 1)
    t.equal(value(t, 'last_success_timestamp_seconds'), first, 'failed')
    t.hold('job')
    t.code(run(t, '-n', '-E0', 'job', '--', 'true'), 0)
    t.equal(value(t, 'last_success_timestamp_seconds'), first, 'busy, 0')
    t.code(run(t, 'other', '--', 'false'), 1)
    t.check('holdfast_run_last_success_timestamp_seconds' not in metrics(t),
            'the success of another name')
    (t.dir / 'm.prom').write_bytes(os.urandom(100000))
    t.code(run(t, 'job2', '--', 'true'), 0)
    t.check(value(t, 'last_success_timestamp_seconds') > first, 'again')


@case
def labels_are_escaped_and_hold_no_secret(t):
    for name in ('a"b', 'a\\b', 'a\nb', 'a\\nb', 'ü", store="x'):
        t.code(run(t, name, '--', 'true'), 0)
        escaped = (name.replace('\\', r'\\').replace('"', r'\"')
                   .replace('\n', r'\n'))
        t.equal(metrics(t)['labels'], {(escaped, t.url)}, 'labels')
    url = 'carrier-pigeon://user:s3cr3t@coop/1'
    run(t, '--url', url, 'job', '--', 'true')
    for path in ('m.prom', 'status'):
        t.check('s3cr3t' not in (t.dir / path).read_text(), path)
    t.equal(metrics(t)['labels'],
            {('job', 'carrier-pigeon://user:***@coop/1')}, 'labels')


@case
def modes_follow_the_umask(t):
    for mask, mode, status in (('022', 0o644, 0o644), ('077', 0o600, 0o600),
                               ('002', 0o644, 0o664)):
        t.spawn(['sh', '-c', f'umask {mask}; exec "$@"', 'sh', t.holdfast,
                 'run', '--metrics-file', 'm.prom', '--status-file', 'status',
                 'job', '--', 'true']).wait()
        for path, wanted in (('m.prom', mode), ('status', status)):
            got = stat.S_IMODE((t.dir / path).stat().st_mode)
            t.equal(got, wanted, f'{path} under {mask}')


@case
def the_files_are_always_whole(t):
    """Readers look all the time, two runs write the same file at once."""
    seen = []
    stop = threading.Event()

    def look():
        while not stop.is_set():
            try:
                seen.append((t.dir / 'm.prom').read_text())
            except FileNotFoundError:
                pass
    reader = threading.Thread(target=look)
    reader.start()
    try:
        loops = [t.spawn(['sh', '-c', 'for i in 1 2 3 4 5 6 7 8; do "$@" || '
                          'exit; done', 'sh', t.holdfast, 'run',
                          '--metrics-file', 'm.prom', f'job{i}', '--',
                          'true']) for i in range(2)]
        for loop in loops:
            t.code(loop.wait(), 0)
    finally:
        stop.set()
        reader.join()
    for text in set(seen):
        t.equal(len(parse(t, text)['labels']), 1, 'runs in one file')
    t.equal([name for name in os.listdir(t.dir) if name.endswith('.tmp')], [],
            'drafts')


def special_files(t):
    """What no rename may take away, in the test's own folder; devices only
    where we may make some."""
    (t.dir / 'precious').write_text('precious')
    (t.dir / 'link').symlink_to('precious')
    (t.dir / 'dangling').symlink_to('nowhere')
    os.mkfifo(t.dir / 'fifo')
    (t.dir / 'folder').mkdir()
    with socket.socket(socket.AF_UNIX) as heard:
        heard.bind(f'{t.dir}/socket')
    try:
        os.mknod(t.dir / 'device', 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        return ['link', 'dangling', 'fifo', 'folder', 'socket']
    return ['link', 'dangling', 'fifo', 'folder', 'socket', 'device']


@case
def what_is_no_plain_file_is_not_replaced(t):
    for path in special_files(t):
        before = os.lstat(t.dir / path)
        for option in ('--status-file', '--metrics-file'):
            result = t.run('run', option, path, 'job', '--',
                           *t.actor('say=ran', 'exit=0'), code=64)
            t.says(result.err, option, path, 'not replaced')
        result = t.run('acquire', '--token-file', path, 'job', code=64)
        t.says(result.err, '--token-file', path, 'not replaced')
        t.safe(os.path.samestat(os.lstat(t.dir / path), before),
               f'{path} is gone')
    t.equal(t.log(), [], 'what ran')
    t.equal((t.dir / 'precious').read_text(), 'precious', 'the target')
    t.code(t.run('who', 'job'), 1)


@case
def what_came_meanwhile_is_not_replaced(t):
    result = run(t, 'job', '--', 'mkfifo', 'm.prom', 'status')
    t.code(result, 0)
    t.says(result.err, '--metrics-file', '--status-file', 'File exists')
    for path in ('m.prom', 'status'):
        t.safe((t.dir / path).is_fifo(), f'{path} is gone')
    t.equal([name for name in os.listdir(t.dir) if name.endswith('.tmp')], [],
            'drafts')


@case
def closed_descriptors_do_not_matter(t):
    for shut in ('>&-', '2>&-', '<&- >&- 2>&-'):
        result = t.spawn(['sh', '-c', f'exec "$@" {shut}', 'sh', t.holdfast,
                          'run', '--metrics-file', 'm.prom', '--status-file',
                          'status', 'job', '--', 'true']).wait(code=0)
        agree(t, result, 'exited')


@case
def a_file_that_cannot_be_made_is_refused_at_the_start(t):
    for path in (f'{t.dir}/none/m.prom', f'{t.dir}', 'm/'):
        for option in ('--metrics-file', '--status-file'):
            result = t.run('run', option, path, 'job', '--',
                           *t.actor('say=ran'), code=64)
            t.says(result.err, option)
    t.equal(t.log(), [], 'what ran')


@case
def a_file_that_can_no_longer_be_written_costs_no_exit_code(t):
    (t.dir / 'sub').mkdir()
    result = t.run('run', '--metrics-file', 'sub/m.prom', '--status-file',
                   'sub/status', 'job', '--', 'sh', '-c',
                   'rm -r sub; exit 5', code=5)
    t.says(result.err, '--metrics-file', '--status-file', 'sub/status')


if __name__ == '__main__':
    harness.main()
