# SPDX-License-Identifier: MIT
"""Jobs of a shell at a terminal: Ctrl-C, Ctrl-Z, fg, bg, &, pipelines,
scripts, a hangup. The one who renews is never stopped."""
import fcntl
import functools
import os
import pty
import re
import shutil
import signal
import termios
import time

import harness
from harness import case

BASH = ('bash', '--norc', '--noprofile', '-i')
DASH = ('sh', '-i', '-m')


class Shell:
    """An interactive shell that leads the session of a pseudo terminal."""

    def __init__(self, t, words=BASH):
        if not shutil.which(words[0]):
            raise harness.Skipped(f'no {words[0]}')
        self.t = t
        self.master, slave = pty.openpty()
        flags = termios.tcgetattr(slave)
        flags[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, flags)
        env = {'PS1': '', 'h': t.holdfast, 'a': t.actor_path,
               'l': str(t.log_path), 'HISTFILE': None, 'TERM': 'dumb'}
        self.process = t.spawn(['setsid', '-c', 'sh', '-c',
                                'exec "$@" >&2', 'sh', *words],
                               stdin=slave, stderr=slave, env=env)
        os.close(slave)
        fcntl.fcntl(self.master, fcntl.F_SETFL, os.O_NONBLOCK)
        self.seen = ''
        self.line('echo shell=$$')
        self.sees('shell=[0-9]+')

    def keys(self, keys):
        os.write(self.master, keys)

    def line(self, text):
        self.keys(text.encode() + b'\n')

    def begin(self, text):
        """Types the line; returns when its command logs."""
        self.line(text)
        self.t.until(self.t.log, 'the command starts')

    def read(self):
        try:
            while True:
                part = os.read(self.master, 4096)
                if not part:
                    break
                self.seen += part.decode(errors='replace')
        except OSError:
            pass
        return self.seen

    def sees(self, pattern, seconds=harness.PATIENCE):
        """What comes next that fits the pattern."""
        end = time.monotonic() + seconds
        while True:
            found = re.search(pattern, self.read())
            if found:
                self.seen = self.seen[found.end():]
                return found[0]
            self.t.check(time.monotonic() < end,
                         f'{pattern!r} is not in {self.seen!r}')
            time.sleep(0.01)

    def ask(self, expression):
        """What the shell says to that."""
        self.line(f'echo "<{expression}>"')
        return self.sees('<[^>]*>')[1:-1]

    def close(self):
        os.close(self.master)


def run(words, *options):
    return ' '.join(['$h run', *options, 'job -- $a $l', words])


def beats(t, more=10):
    count = len(t.log())
    t.until(lambda: len(t.log()) > count + more, 'the command goes on')


def stopped(t):
    pid = t.command_pid()
    t.until(lambda: harness.state_of(pid) == 'T', 'the command stops')


def jobs(t, shell, word):
    """The shell says what became of its job when it is asked."""
    end = time.monotonic() + harness.PATIENCE
    shell.read()
    shell.seen = ''
    while word not in shell.read().lower():
        t.check(time.monotonic() < end, f'not {word}: {shell.seen!r}')
        shell.line('jobs')
        time.sleep(0.1)


def held(t, seconds):
    """All that time: longer than the lease, or it proves nothing."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        t.code(t.run('run', '--try', 'job', '--', 'true'), 75)
        time.sleep(0.2)


def renewer(t):
    """Who renews: the parent of the command's guardian."""
    return harness.parent_of(harness.parent_of(t.command_pid()))


def job_control(t, words):
    shell = Shell(t, words)
    shell.begin(run('beat', '--lease 2s'))
    wrapper = renewer(t)
    shell.keys(b'\x1a')
    stopped(t)
    shell.sees('lock stays held')
    shell.sees('(?i)stopped')
    t.check(harness.state_of(wrapper) != 'T', 'the renewing one is stopped')
    held(t, 2.5)
    jobs(t, shell, 'stopped')
    shell.line('fg')
    beats(t)
    shell.keys(b'\x1a')
    stopped(t)
    shell.sees('(?i)stopped')
    shell.line('bg')
    beats(t)
    jobs(t, shell, 'running')
    shell.line('fg')
    t.in_front(shell.master)
    shell.keys(b'\x03')
    t.equal(shell.ask('$?'), '130', 'the code of an interrupted command')
    t.code(t.run('who', 'job'), 1)
    shell.close()


def shell_case(function):
    """A case in a shell of its own, which must end well."""
    @case
    @functools.wraps(function)
    def with_shell(t):
        shell = Shell(t)
        function(t, shell)
        shell.close()
    return with_shell


@case
def control_z_fg_and_bg_of_bash(t):
    job_control(t, BASH)


@case
def control_z_fg_and_bg_of_sh(t):
    job_control(t, DASH)


@shell_case
def control_c_ends_the_command_and_the_shell_goes_on(t, shell):
    for keys, code in ((b'\x03', '130'), (b'\x1c', '131')):
        shell.begin(run('beat') + '; echo "<code $?>"')
        t.in_front(shell.master)
        shell.keys(keys)
        t.equal(shell.sees('<code [0-9]+>'), f'<code {code}>', 'code')
        own, foreground = shell.ask('$(ps -o pgid=,tpgid= -p $$)').split()
        t.equal(own, foreground, 'the terminal is the shell\'s')
        t.log_path.unlink()


@shell_case
def the_command_decides_about_control_c(t, shell):
    shell.begin(run('catch=INT beat') + '; echo "<code $?>"')
    t.in_front(shell.master)
    shell.keys(b'\x03')
    t.until(lambda: t.pids('got INT'), 'it is interrupted')
    beats(t)
    t.equal(len(t.pids('got INT')), 1, 'the key comes once')
    shell.keys(b'\x03')
    shell.sees('second time')
    t.equal(shell.sees('<code [0-9]+>'), '<code 137>', 'code')
    t.code(t.run('who', 'job'), 1)


@shell_case
def a_job_in_the_background_leaves_the_terminal_alone(t, shell):
    shell.begin(run('beat') + ' &')
    own, foreground = shell.ask('$(ps -o pgid=,tpgid= -p $$)').split()
    t.equal(own, foreground, 'the terminal is the shell\'s')
    beats(t)
    shell.line('kill %1; wait %1; echo "<code $?>"')
    t.equal(shell.sees('<code [0-9]+>'), '<code 143>', 'code')


@shell_case
def a_job_in_the_background_that_reads_stops_and_fg_lets_it_read(t, shell):
    shell.line('$h run --lease 2s job -- sh -c \'read w; echo "got $w"\' &')
    jobs(t, shell, 'stopped')
    held(t, 2.5)
    shell.line('fg')
    time.sleep(0.3)
    shell.line('hello')
    shell.sees('got hello')
    t.equal(shell.ask('$?'), '0', 'code')


@shell_case
def the_foreground_command_reads_the_terminal(t, shell):
    shell.line('$h run job -- sh -c \'read w; echo "got $w"; exit 4\'')
    t.until(lambda: t.run('who', 'job').code == 0, 'it is held')
    time.sleep(0.3)
    shell.line('hello')
    shell.sees('got hello')
    t.equal(shell.ask('$?'), '4', 'code')


@shell_case
def a_second_control_c_kills_a_job_that_was_in_the_background(t, shell):
    shell.begin(run('catch=INT beat') + ' &')
    shell.line('fg; echo "<code $?>"')
    t.in_front(shell.master)
    shell.keys(b'\x03')
    t.until(lambda: t.pids('got INT'), 'it is interrupted')
    beats(t)
    shell.keys(b'\x03')
    t.equal(shell.sees('<code [0-9]+>'), '<code 137>', 'code')


@case
def a_waiter_in_the_background_draws_nothing(t):
    t.hold('job', words=('say=up', 'beat'))
    shell = Shell(t)
    shell.line('$h run job -- true &')
    shell.sees('waiting for job')
    time.sleep(2.5)
    t.check('waited' not in shell.read().partition('\n')[2] and
            '\033' not in shell.seen, f'drawn: {shell.seen!r}')
    shell.line('fg')
    shell.sees('\r[^\r\n]*job: waited')
    shell.keys(b'\x03')
    t.equal(shell.ask('$?'), '130', 'code')
    shell.close()


@case
def a_script_stops_and_goes_on_as_a_whole(t):
    """The shell's job is the script, which knows nothing of jobs."""
    (t.dir / 'script').write_text(run('beat', '--lease 2s') +
                                  '\necho "<after $?>"\n')
    shell = Shell(t)
    shell.begin('sh script')
    shell.keys(b'\x1a')
    stopped(t)
    shell.sees('(?i)stopped.*script')
    held(t, 2.5)
    shell.line('fg')
    beats(t)
    shell.keys(b'\x03')
    t.equal(shell.sees('<after [0-9]+>'), '<after 130>', 'code')
    shell.close()


@shell_case
def a_pipeline_whose_other_end_reads_the_terminal_ends(t, shell):
    """While the command has the terminal, the reader is stopped for want of
    it; then it goes on."""
    shell.line('$h run job -- sh -c \'sleep 0.5; echo one\' | '
               'sh -c \'read w </dev/tty; cat; echo "got $w"\'')
    time.sleep(1)
    shell.line('hello')
    shell.sees('one\\s+got hello')


@case
def control_z_stops_a_waiter_as_a_job(t):
    """Who is stopped does not take the lock; others do."""
    holder = t.hold('job', words=('say=up', 'pause=100000'))
    shell = Shell(t)
    shell.line(run('say=ran exit=5'))
    shell.sees('waited')
    shell.keys(b'\x1a')
    shell.sees('(?i)stopped')
    t.code(holder.end(), 143)
    t.code(t.run('run', '-w', '5s', 'job', '--', 'true'), 0)
    time.sleep(0.3)
    t.equal(t.pids('ran'), [], 'what ran')
    shell.line('fg')
    t.until(lambda: t.pids('ran'), 'it goes on')
    t.equal(shell.ask('$?'), '5', 'code')
    shell.close()


@case
def without_a_shell_control_z_is_a_switch(t):
    master, slave = pty.openpty()
    runner = t.spawn(['setsid', '-c', t.holdfast, 'run', '--lease', '2s',
                      'job', '--', *t.actor('beat')], stdin=slave,
                     stderr=slave)
    os.close(slave)
    t.until(t.log, 'the command starts')
    os.write(master, b'\x1a')
    stopped(t)
    held(t, 2.5)
    os.write(master, b'\x1a')
    beats(t)
    os.write(master, b'\x1a')
    stopped(t)
    # Before that the terminal tells the command alone, which is stopped.
    group = os.getpgid(t.command_pid())
    t.until(lambda: os.tcgetpgrp(master) != group, 'the terminal is taken back')
    os.write(master, b'\x03')
    t.code(runner.wait(), 130)
    os.set_blocking(master, False)
    t.says(os.read(master, 65536).decode(), 'no shell to continue it')
    os.close(master)


@case
def a_hangup_ends_the_command_and_frees_the_lock(t):
    for suffix in ('', ' &'):
        shell = Shell(t)
        shell.line(run('fork=plain beat') + suffix)
        t.until(lambda: len(set(t.pids('beat'))) == 2, 'both beat')
        shell.close()
        t.until(t.is_free, 'it is free')
        t.all_gone()
        t.log_path.unlink()


@case
def a_hangup_does_not_end_what_ignores_it(t):
    shell = Shell(t)
    shell.begin('nohup ' + run('beat', '--lease 2s') + ' >/dev/null 2>&1 &')
    shell.close()
    time.sleep(2.5)
    beats(t)
    t.code(t.run('who', 'job'), 0)
    os.kill(t.command_pid(), signal.SIGTERM)
    t.all_gone()


@shell_case
def signals_to_the_job_reach_the_command_once(t, shell):
    shell.begin(run('catch=USR1 catch=TERM catch=INT beat') + ' &')
    for name in ('USR1', 'TERM', 'INT'):
        shell.line(f'kill -{name} %1')
        t.until(lambda n=name: t.pids(f'got {n}'), f'{name} arrives')
    time.sleep(0.2)
    for name in ('USR1', 'TERM', 'INT'):
        t.equal(len(t.pids(f'got {name}')), 1, f'{name}s')


@case
def the_end_of_the_shells_child_ends_the_command(t):
    shell = Shell(t)
    shell.line(run('ignore=TERM beat') + ' & echo "<$!>"')
    pid = int(shell.sees('<[0-9]+>')[1:-1])
    t.until(t.log, 'the command starts')
    os.kill(pid, signal.SIGKILL)
    t.until(lambda: t.run('run', '-n', 'job', '--', 'true').code == 0,
            'it is free')
    t.until(lambda: not harness.state_of(t.command_pid()), 'it ends')
    shell.close()
    t.all_gone()


@shell_case
def the_end_of_the_wrapper_ends_the_job(t, shell):
    shell.begin(run('beat') + '; echo "<code $?>"')
    os.kill(renewer(t), signal.SIGKILL)
    t.equal(shell.sees('<code [0-9]+>'), '<code 137>', 'code')
    t.until(lambda: not harness.state_of(t.command_pid()), 'it ends')
    t.equal(shell.ask('$((1 + 1))'), '2', 'the shell goes on')


@shell_case
def a_run_in_a_run_stops_and_goes_on(t, shell):
    shell.begin('$h run --lease 2s outer -- ' + run('beat', '--lease 2s'))
    shell.keys(b'\x1a')
    stopped(t)
    shell.sees('(?i)stopped +\\$h|Stopped ')
    held(t, 2.5)
    t.code(t.run('run', '-n', 'outer', '--', 'true'), 75)
    shell.line('fg')
    beats(t)
    shell.keys(b'\x03')
    t.equal(shell.ask('$?'), '130', 'code')
    t.code(t.run('who', 'outer'), 1)


@shell_case
def a_stop_by_hand_from_elsewhere_is_none_of_the_shells_business(t, shell):
    shell.begin(run('beat', '--lease 2s') + ' &')
    os.kill(t.command_pid(), signal.SIGSTOP)
    stopped(t)
    held(t, 2.5)
    jobs(t, shell, 'running')
    os.kill(t.command_pid(), signal.SIGCONT)
    beats(t)


if __name__ == '__main__':
    harness.main()
