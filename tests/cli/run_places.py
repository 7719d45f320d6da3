# SPDX-License-Identifier: MIT
"""Where `run` is started from: cron, a service manager, a container as PID 1,
with descriptors closed, without a terminal."""
import fcntl
import itertools
import os
import pathlib
import pty
import shutil
import signal
import time

import harness
from harness import case

SHUT = ('<&-', '>&-', '2>&-')


def links(pid):
    """What 0, 1 and 2 of a process are."""
    return [os.readlink(f'/proc/{pid}/fd/{fd}') for fd in range(3)]


def closings():
    for count in range(len(SHUT) + 1):
        yield from itertools.combinations(SHUT, count)


@case
def no_descriptor_of_ours_is_0_1_or_2(t):
    """Whatever the caller closed: a message would go into a database."""
    for shut in closings():
        t.log_path.unlink(missing_ok=True)
        runner = t.spawn(['sh', '-c', f'exec "$@" {" ".join(shut)}', 'sh',
                          t.holdfast, 'run', '--lost-hook', 'true', 'job',
                          '--', *t.actor('fds', 'beat')])
        t.until(lambda: t.pids('beat'), 'the command starts')
        for pid in t.left():
            if pid == t.command_pid():
                continue
            for fd, target in enumerate(links(pid)):
                fits = (target == '/dev/null' if SHUT[fd] in shut or not fd
                        else f'process' in target)
                t.check(fits, f'{shut}: {pid} has {target} as {fd}')
        wanted = [str(fd) for fd in range(3) if SHUT[fd] not in shut]
        t.equal(t.log()[0].text.split()[1:], wanted, f'{shut}: the command')
        t.code(runner.end(), 143)


@case
def every_end_works_with_closed_descriptors(t):
    t.hold('job', '--lease', '1h')
    for shut in closings():
        for args, code in ((('-n', 'job', '--', 'true'), 75),
                           (('-w', '50ms', 'job', '--', 'true'), 75),
                           (('x', '--', './none'), 127),
                           (('x', 'true'), 64),
                           (('--reach', 'hosts', 'x', '--', 'true'), 77),
                           (('--max-run', '30ms', 'x', '--', 'sleep', '9'),
                            124),
                           (('x', '--', 'sh', '-c', 'kill -9 $$'), 137)):
            t.spawn(['sh', '-c', f'exec "$@" {" ".join(shut)}', 'sh',
                     t.holdfast, 'run', *args]).wait(code=code)
    t.code(t.run('check'), 0)
    t.check(b'holdfast: ' not in t.db.read_bytes(), 'a message in the store')


def bare(t, *args):
    """With nothing at all in the environment but the mark."""
    return t.spawn(['env', '-i', f'{harness.MARK}={t.mark}', *args])


@case
def an_empty_environment_is_enough(t):
    """As cron: no HOME, no PATH, the root folder."""
    store = ('--url', t.url)
    result = bare(t, 'sh', '-c', 'cd / && exec "$@" </dev/null', 'sh',
                  t.holdfast, 'run', *store, 'job', '--', '/bin/sh', '-c',
                  'pwd; echo "$HOLDFAST_NAME"').wait(code=0)
    t.equal((result.out, result.err), ('/\njob\n', ''), 'output')
    result = bare(t, t.holdfast, 'run', *store, 'job', '--', 'sh', '-c',
                  'exit 5').wait(code=5)
    t.code(bare(t, t.holdfast, 'who', *store, 'job').wait(), 1)


@case
def a_service_without_home_finds_its_store(t):
    """No terminal, a session of its own, stdin from /dev/null, and the store
    of the effective user, whatever HOME says."""
    if os.geteuid():
        raise harness.Skipped('needs root, to have a /var/lib of its own')
    if not shutil.which('unshare'):
        raise harness.Skipped('no unshare')
    (t.dir / 'lib').mkdir()
    words = ('mount -t tmpfs none /var/lib && exec setsid -w env -i '
             f'{harness.MARK}={t.mark} "$@" </dev/null')
    result = t.spawn(['unshare', '--mount', 'sh', '-c', words, 'sh',
                      t.holdfast, 'run', '--verbose', 'job', '--',
                      '/bin/true']).wait()
    if 'unshare' in result.err or 'mount:' in result.err:
        raise harness.Skipped(result.err)
    t.code(result, 0)
    t.says(result.err, 'sqlite:/var/lib/holdfast/locks.db')


@case
def without_a_terminal_there_is_no_front(t):
    runner = t.spawn(['setsid', t.holdfast, 'run', 'job', '--',
                      *t.actor('beat')])
    t.until(t.log, 'the command starts')
    names = [pathlib.Path(f'/proc/{pid}/comm').read_text().strip()
             for pid in t.left()]
    t.equal(sorted(names), ['cli_actor', 'holdfast', 'holdfast-guard'],
            'processes')
    t.code(runner.end(), 143)


def container(t, *words, **options):
    """A process whose child is PID 1 of a world of its own."""
    if not shutil.which('unshare'):
        raise harness.Skipped('no unshare')
    user = () if not os.geteuid() else ('--user', '--map-current-user')
    unshare = ['unshare', *user, '--pid', '--fork', '--mount-proc',
               '--kill-child']
    probe = t.spawn([*unshare, 'true']).wait()
    if probe.code:
        raise harness.Skipped(f'no pid namespaces here: {probe.err}')
    return t.spawn([*options.pop('before', ()), *unshare, *words], **options)


def init_of(t, outer):
    """The pid of PID 1 as we see it."""
    found = []

    def is_up():
        found[:] = [pid for pid in t.left()
                    if harness.parent_of(pid) == outer]
        return found
    t.until(is_up, 'PID 1 starts')
    return found[0]


@case
def pid_1_passes_the_code_on(t):
    for script, code in (('exit 0', 0), ('exit 7', 7), ('kill -9 $$', 137),
                         ('echo $PPID >&2; exit 3', 3)):
        container(t, t.holdfast, 'run', 'job', '--', 'sh', '-c',
                  script).wait(code=code)
    t.code(container(t, t.holdfast, 'run', 'job', '--', './none').wait(), 127)


@case
def pid_1_passes_signals_on(t):
    for name, words, code in (('TERM', ('beat',), 143),
                              ('INT', ('beat',), 130),
                              ('TERM', ('catch=USR1', 'beat'), 143)):
        t.log_path.unlink(missing_ok=True)
        outer = container(t, t.holdfast, 'run', 'job', '--',
                          *t.actor(*words))
        t.until(t.log, 'the command starts')
        first = init_of(t, outer.pid)
        if 'catch=USR1' in words:
            os.kill(first, signal.SIGUSR1)
            t.until(lambda: t.pids('got USR1'), 'USR1 arrives')
        os.kill(first, getattr(signal, f'SIG{name}'))
        t.code(outer.wait(), code)
        t.code(t.run('run', '-n', 'job', '--', 'true'), 0)


@case
def pid_1_reaps_and_ends_orphans(t):
    script = ('for i in 1 2 3 4 5; do (setsid sleep 0.05 &) ; done; '
              'sleep 0.5; grep -l "^State:.Z" /proc/[0-9]*/status | wc -l; '
              '(setsid sleep 1000 &); exit 6')
    result = container(t, t.holdfast, 'run', 'job', '--', 'sh', '-c',
                       script).wait(code=6)
    t.equal(result.out.split()[-1], '0', 'zombies')
    t.says(result.err, 'left', 'sleep')
    t.all_gone()


@case
def pid_1_that_is_killed_takes_all_with_it(t):
    outer = container(t, t.holdfast, 'run', 'job', '--',
                      *t.actor('fork=setsid', 'ignore=TERM', 'beat'))
    t.until(lambda: len(set(t.pids('beat'))) == 2, 'both beat')
    waiter = t.next_holder('job')
    os.kill(init_of(t, outer.pid), signal.SIGKILL)
    t.code(waiter.wait(), 0)
    t.check(t.last_ns() < t.last_ns('next'), 'two at once')
    t.all_gone()


@case
def pid_1_with_a_terminal(t):
    """Ctrl-Z has no shell that could continue; Ctrl-C ends it."""
    master, slave = pty.openpty()
    outer = container(t, 'setsid', '-c', t.holdfast, 'run', 'job', '--',
                      *t.actor('beat'), stdin=slave, stderr=slave)
    os.close(slave)
    fcntl.fcntl(master, fcntl.F_SETFL, os.O_NONBLOCK)
    t.until(t.log, 'the command starts')
    seen = b''

    def sees(word):
        nonlocal seen
        try:
            seen += os.read(master, 4096)
        except OSError:
            pass
        return word in seen
    t.heard()
    os.write(master, b'\x1a')
    t.until(lambda: sees(b'no shell to continue it'), 'it says so')
    count = len(t.log())
    os.write(master, b'\x1a')
    t.until(lambda: len(t.log()) > count + 10, 'the command goes on')
    os.write(master, b'\x03')
    t.code(outer.wait(), 130)
    os.close(master)


@case
def a_job_of_a_shell_outside_of_the_namespace(t):
    """Its group has no number here: Ctrl-Z is without effect."""
    master, slave = pty.openpty()
    outer = container(t, t.holdfast, 'run', 'job', '--', *t.actor('beat'),
                      before=('setsid', '-w', '-c'), stdin=slave,
                      stderr=slave)
    os.close(slave)
    t.until(t.log, 'the command starts')
    t.heard()
    os.write(master, b'\x1a')
    time.sleep(0.3)
    count = len(t.log())
    t.until(lambda: len(t.log()) > count + 10, 'the command goes on')
    os.write(master, b'\x03')
    t.code(outer.wait(), 130)
    os.close(master)


if __name__ == '__main__':
    harness.main()
