# SPDX-License-Identifier: MIT
"""What the black-box tests of the command share.

A test is a function with @case that gets a Case: a folder of its own, a
store of its own in HOLDFAST_URL, and no HOME. Tests of a file run several at
once. Each process that a test starts, and whatever that starts, carries the
case's mark in its environment; at the end those that are left are killed by
pid, and so is what the test itself started. Command lines of the tests: FILE.py HOLDFAST ACTOR [WORD], where WORD
picks the tests whose name has it; HOLDFAST_TEST_ONLY in the environment is
the name of the one test to run.

A test that failed by an ordinary check is marked: tools/again.py may run it a
second time, with nothing beside it. What t.safe() found, a hang, a crash or a
sanitizer's report in any process of the test is not.
"""
import collections
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import traceback

# A sanitizer or a busy machine: every patience below is stretched.
SLOW = 5 if os.environ.get('HOLDFAST_TEST_SLOW') else 1
PATIENCE = 30 * SLOW
JOBS = 4

MARK = 'HOLDFAST_TEST_CASE'
MARKED = '# may be tried again alone'
REPORT = re.compile(r'(WARNING|ERROR|SUMMARY): \w+Sanitizer|'
                    r'^\S+:\d+:\d+: runtime error: |assertion failed:', re.M)
CRASHES = {-signal.SIGABRT, -signal.SIGBUS, -signal.SIGFPE, -signal.SIGILL,
           -signal.SIGSEGV, -signal.SIGSYS, -signal.SIGTRAP}
Result = collections.namedtuple('Result', 'code out err seconds')
Line = collections.namedtuple('Line', 'ns pid text')
cases = []
under_way = []  # the Case of each
is_ending = threading.Event()


class Failed(Exception):
    pass


class Late(Failed):
    """A time was too long, or what shall last some time began late: it may
    be the machine's fault, but not three times."""


class Fatal(Failed):
    """No load excuses it: two were inside, a fence fell, a process hangs."""


class Skipped(Exception):
    pass


def case(function):
    cases.append(function)
    return function


def lease(seconds):
    """For --lease: one that is renewed in time on a slow machine too."""
    return f'{round(1000 * seconds * SLOW)}ms'


def io_timeout(ms):
    """For a URL: who answers at all answers in time on a slow machine."""
    return f'io_timeout={ms * SLOW}ms'


def boot_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def processes_with(mark):
    """The pids of the living processes whose environment has the mark."""
    wanted = f'{MARK}={mark}'.encode()
    found = []
    for entry in os.listdir('/proc'):
        if not entry.isdigit():
            continue
        try:
            environ = pathlib.Path(f'/proc/{entry}/environ').read_bytes()
        except OSError:
            continue
        if wanted in environ.split(b'\0'):
            found.append(int(entry))
    return found


def parent_of(pid):
    stat = pathlib.Path(f'/proc/{pid}/stat').read_text()
    return int(stat.rpartition(')')[2].split()[1])


def state_of(pid):
    """'T' stopped, 'Z' dead but not reaped, '' gone …"""
    try:
        stat = pathlib.Path(f'/proc/{pid}/stat').read_text()
    except OSError:
        return ''
    return stat.rpartition(')')[2].split()[0]


def full_pipe(is_foreign=False):
    """Both ends of a pipe that takes nothing more; a foreign one cannot be
    opened again through /proc."""
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    try:
        while True:
            os.write(write_end, b'x' * 4096)
    except BlockingIOError:
        pass
    os.set_blocking(write_end, True)
    if is_foreign:
        os.fchmod(write_end, 0)
    return read_end, write_end


def name_of(pid):
    try:
        return pathlib.Path(f'/proc/{pid}/comm').read_text().strip()
    except OSError:
        return ''


def is_stopped(pid):
    """Each of its threads: a signal to stop reaches one after the other."""
    try:
        tasks = list(pathlib.Path(f'/proc/{pid}/task').iterdir())
        return all(task.joinpath('stat').read_text().rpartition(')')[2]
                   .split()[0] == 'T' for task in tasks)
    except OSError:
        return False


class Process:
    """A started command; its output goes to files, so that a process which
    inherited them keeps nobody waiting."""

    def __init__(self, test, argv, env, stdin, pass_fds, stderr):
        self.test = test
        self.argv = argv
        self.base = test.dir / f'process{next(test.numbers)}'
        self.started = time.monotonic()
        with open(f'{self.base}.out', 'wb') as out, \
                open(f'{self.base}.err', 'wb') as err:
            self.popen = subprocess.Popen(
                argv, env=env, cwd=test.dir, pass_fds=pass_fds,
                stdin=subprocess.DEVNULL if stdin is None else stdin,
                stdout=out, stderr=err if stderr is None else stderr)
        self.pid = self.popen.pid

    def read(self, suffix):
        return pathlib.Path(f'{self.base}.{suffix}').read_text(
            errors='replace')

    @property
    def out(self):
        return self.read('out')

    @property
    def err(self):
        return self.read('err')

    def end(self, number=signal.SIGTERM, **options):
        """Signals it, and waits for its end."""
        self.signal(number)
        return self.wait(**options)

    def signal(self, number):
        os.kill(self.pid, number)

    def is_running(self):
        return self.popen.poll() is None

    def wait(self, seconds=PATIENCE, code=None):
        """What became of it; `code` is the exit code that it must have."""
        try:
            found = self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Fatal(f'did not end within {seconds} s: {self.argv}\n'
                        f'stderr: {self.err}') from None
        result = Result(found, self.out, self.err,
                        time.monotonic() - self.started)
        if code is not None:
            self.test.code(result, code)
        return result


class Case:
    def __init__(self, name, holdfast, actor):
        self.name = name
        self.holdfast = holdfast
        self.actor_path = actor
        self.mark = f'{os.getpid()}-{name}'
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix='holdfast-cli-'))
        self.db = self.dir / 'locks.db'
        self.log_path = self.dir / 'log'
        self.numbers = iter(range(1, 1000000))
        self.started = []
        self.env = {key: value for key, value in os.environ.items()
                    if key == 'PATH' or key.endswith('SAN_OPTIONS')}
        self.env[MARK] = self.mark
        self.env['HOLDFAST_URL'] = self.url = f'sqlite:{self.db}'

    # -- starting ----------------------------------------------------------

    def can_write(self):
        """Whether nobody is within a transaction that writes to the store."""
        try:
            db = sqlite3.connect(f'{self.db.as_uri()}?mode=rw', uri=True,
                                 timeout=0.1, isolation_level=None)
            with contextlib.closing(db):
                db.execute('BEGIN IMMEDIATE')
        except sqlite3.OperationalError:
            return False
        return True

    def stop(self, pid):
        """As SIGSTOP does, and not within a transaction: who is stopped there
        keeps every other writer of a SQLite database waiting, as
        docs/guarantees.md says, and on a slow machine it often is there."""
        for _ in range(100):
            os.kill(pid, signal.SIGSTOP)
            self.until(lambda: is_stopped(pid), 'it is stopped')
            if self.can_write():
                return
            os.kill(pid, signal.SIGCONT)
        raise Failed(f'{pid} is in a transaction each time that it is stopped')

    def spawn(self, argv, env=None, stdin=None, pass_fds=(), stderr=None):
        """Starts any program; `env` changes variables, None removes one."""
        self.safe(not is_ending.is_set(), 'it was told to end')
        merged = {key: value for key, value in
                  {**self.env, **(env or {})}.items() if value is not None}
        process = Process(self, [str(word) for word in argv], merged, stdin,
                          pass_fds, stderr)
        self.started.append(process)
        return process

    def start(self, *args, **options):
        """Starts holdfast with these arguments."""
        return self.spawn([self.holdfast, *args], **options)

    def run(self, *args, code=None, **options):
        return self.start(*args, **options).wait(code=code)

    def actor(self, *words):
        return [self.actor_path, self.log_path, *words]

    def hold(self, name, *args, words=('beat',)):
        """A run that holds the lock; returns when its command logs, and beats
        if it shall."""
        seen = {line.pid for line in self.log()}
        process = self.start('run', *args, name, '--', *self.actor(*words))

        def is_up():
            return any(line.pid not in seen and
                       ('beat' not in words or line.text == 'beat')
                       for line in self.log())
        self.until(lambda: is_up() or not process.is_running(),
                   'the holder starts')
        self.check(is_up(), f'no holder: {process.err}')
        return process

    def next_holder(self, name, *args):
        """A run that waits for the lock; its command logs "next"."""
        return self.start('run', *args, name, '--',
                          *self.actor('say=next', 'exit=0'))

    def waits(self, *args, **options):
        """Starts holdfast; returns when it says that it waits."""
        process = self.start(*args, **options)
        self.until(lambda: 'waiting' in process.err, 'it waits')
        return process

    def next_waiter(self, name, *args):
        """A next_holder that says that it waits."""
        return self.waits('run', *args, name, '--',
                          *self.actor('say=next', 'exit=0'))

    def copy_for_all(self):
        """The two programs where any user can reach them, with a log that
        any user can write."""
        folder = self.dir / 'bin'
        folder.mkdir()
        self.dir.chmod(0o755)
        built = pathlib.Path(self.holdfast).parent
        paths = [self.holdfast, self.actor_path, *built.glob('*.so.[0-9]')]
        for path in paths:
            shutil.copy(path, folder)
        self.log_path.touch()
        self.log_path.chmod(0o666)
        return folder / 'holdfast', folder / 'cli_actor'

    def start_untouchable(self, *args, words):
        """A run by nobody with the one capability to become somebody else;
        its command does, and can then not be signalled: what a set-uid
        program does to its caller. Returns when that beats."""
        if os.geteuid():
            raise Skipped('needs root')
        holdfast, actor = self.copy_for_all()
        store = self.dir / 'store'
        store.mkdir()
        os.chown(store, 65534, 65534)
        self.env['HOLDFAST_URL'] = f'sqlite:{store}/locks.db'
        holder = self.spawn([
            'setpriv', '--reuid', '65534', '--regid', '65534',
            '--clear-groups', '--inh-caps', '+setuid', '--ambient-caps',
            '+setuid', holdfast, 'run', *args, 'job', '--', *words, actor,
            self.log_path, 'beat'])
        self.until(lambda: self.log() or not holder.is_running(), 'it beats')
        self.check(self.log(), holder.err)
        return holder

    # -- looking -----------------------------------------------------------

    def log(self):
        try:
            text = self.log_path.read_text()
        except FileNotFoundError:
            return []
        whole = text[:text.rfind('\n') + 1]
        return [Line(int(ns), int(pid), what) for ns, pid, what in
                (line.split(' ', 2) for line in whole.splitlines())]

    def pids(self, text):
        return [line.pid for line in self.log() if line.text == text]

    def command_pid(self):
        return self.first_line().pid

    def first_line(self):
        log = self.log()
        self.soon(log, 'the command logs nothing yet')
        return log[0]

    def guardian(self):
        return parent_of(self.command_pid())

    def last_ns(self, text='beat'):
        found = [line.ns for line in self.log() if line.text == text]
        self.soon(found, f'no {text} yet')
        return max(found)

    def left(self):
        return processes_with(self.mark)

    def is_free(self, name='job'):
        result = self.run('who', name)
        self.check(result.code in (0, 1), f'who: {result}')
        return result.code == 1

    def json(self, *args):
        result = self.run(*args, '--json')
        return json.loads(result.out)

    @staticmethod
    def at_rest(shown):
        """What who shows, but for what runs down meanwhile."""
        rest = {key: value for key, value in shown.items()
                if key != 'remaining_ms'}
        if rest.get('holders'):
            rest['holders'] = [Case.at_rest(one) for one in rest['holders']]
        return rest

    @staticmethod
    def events(text):
        return [json.loads(line) for line in text.splitlines()]

    def in_front(self, master):
        """The command has the terminal, and its guardian listens there."""
        group = os.getpgid(self.command_pid())
        self.until(lambda: os.tcgetpgrp(master) == group, 'it is in front')
        self.heard()

    def heard(self):
        self.until(lambda: 'holdfast-signal' in map(name_of, self.left()),
                   'the guardian hears what is typed')

    # -- judging -----------------------------------------------------------

    def check(self, condition, message):
        if not condition:
            raise Failed(message)

    def soon(self, condition, message):
        """A check of a time that a busy machine may stretch: the test is run
        again, and fails if it ends here three times."""
        if not condition:
            raise Late(message)

    def safe(self, condition, message):
        """A check that no load excuses: what fails here is never tried a
        second time."""
        if not condition:
            raise Fatal(f'not safe: {message}')

    def equal(self, got, wanted, what):
        self.check(got == wanted, f'{what}: got {got!r}, wanted {wanted!r}')

    def code(self, result, wanted):
        self.check(result.code == wanted, f'exit {result.code}, wanted '
                   f'{wanted}\nstdout: {result.out}\nstderr: {result.err}')

    def says(self, text, *words):
        for word in words:
            self.check(word in text, f'{word!r} is not in: {text}')

    def until(self, condition, what, seconds=PATIENCE):
        end = time.monotonic() + seconds
        while not condition():
            self.check(time.monotonic() < end, f'not within {seconds} s: '
                       f'{what}')
            time.sleep(0.01)

    def excluded(self, count=1):
        """No beat after the first "next": the old group was gone."""
        starts = [line.ns for line in self.log() if line.text == 'next']
        self.equal(len(starts), count, 'next holders')
        margin = min(starts) - self.last_ns()
        self.safe(margin > 0, 'the old command was alive '
                  f'{-margin / 1e6:.1f} ms after the next one started')

    def rising(self, fences):
        self.safe(fences == sorted(set(fences)), f'fences: {fences}')

    def reports(self):
        """What an assertion or a sanitizer said in any process."""
        texts = [path.read_text(errors='replace')
                 for path in self.dir.glob('process*.err')]
        return [text for text in texts if REPORT.search(text)]

    def broken(self):
        """What a crash left, or what is to be said of it; mostly ''."""
        found = [f'{process.argv} ended with {process.popen.returncode}'
                 for process in self.started
                 if process.popen.poll() in CRASHES]
        return '\n'.join(found + self.reports())

    def all_gone(self, seconds=PATIENCE):
        self.until(lambda: not self.left(), 'no process is left', seconds)

    def status(self, path='status'):
        return json.loads((self.dir / path).read_text())

    # -- ending ------------------------------------------------------------

    def finish(self):
        """Who wrote a title over its environment has lost the mark: what was
        started here is known by its pid, too."""
        for _ in range(100):
            pids = {process.pid for process in self.started
                    if process.is_running()} | set(self.left())
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            if not pids:
                break
            time.sleep(0.02)
        for process in self.started:
            try:
                process.popen.wait(5)
            except subprocess.TimeoutExpired:
                pass
        shutil.rmtree(self.dir, ignore_errors=True)


def attempt(function, holdfast, actor):
    """What became of it, the details, and by which exception."""
    test = Case(function.__name__, holdfast, actor)
    under_way.append(test)
    try:
        function(test)
        test.safe(not test.reports(), 'a sanitizer reports something')
        return 'ok', '', None
    except Skipped as reason:
        return 'skip', str(reason), None
    except Failed as failure:
        at = traceback.extract_tb(failure.__traceback__)
        line = [frame.lineno for frame in at
                if frame.name == function.__name__]
        detail = f'line {line[-1] if line else "?"}: {failure}'
        broken = test.broken()
        return ('not ok', f'{detail}\n{broken}' if broken else detail,
                Fatal() if broken else failure)
    except Exception as error:  # pylint: disable=broad-except
        return 'not ok', traceback.format_exc(), error
    finally:
        test.finish()
        under_way.remove(test)


def end_all(number, _frame):
    """When told to end, as by a limit of time: leave no process behind."""
    is_ending.set()
    for _ in range(2):  # one may just be starting
        for test in list(under_way):
            test.finish()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def report(number, function, result, detail, failure):
    name = function.__name__.replace('_', ' ')
    if result == 'skip':
        print(f'ok {number} - {name} # SKIP {detail}', flush=True)
        return
    print(f'{result} {number} - {name}', flush=True)
    if isinstance(failure, Failed) and not isinstance(failure, Fatal):
        print(MARKED, flush=True)
    for line in detail.splitlines():
        print(f'#   {re.sub("[^ -~]", "?", line)}', flush=True)


def leave_terminal():
    """With a terminal `run` has one process more; the tests that want one
    make it. Who leads a group must fork to leave."""
    try:
        os.setsid()
    except PermissionError:
        child = os.fork()
        if child:
            try:
                status = os.waitpid(child, 0)[1]
            except KeyboardInterrupt:
                os.kill(child, signal.SIGINT)
                status = os.waitpid(child, 0)[1]
            os._exit(os.waitstatus_to_exitcode(status) & 255)
        os.setsid()


def main():
    if os.getsid(0) != os.getpid():
        leave_terminal()
    holdfast, actor = (str(pathlib.Path(word).resolve())
                       for word in sys.argv[1:3])
    only = os.environ.pop('HOLDFAST_TEST_ONLY', None)
    chosen = [function for function in cases
              if only in (None, function.__name__.replace('_', ' ')) and
              all(word in function.__name__ for word in sys.argv[3:])]
    os.umask(0o022)
    # Under nohup, or in the background of a shell, these are ignored.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, end_all)
    lock = threading.Lock()
    numbers = iter(range(1, len(chosen) + 1))
    failed = []

    def perform(function):
        if is_ending.is_set():
            return
        for left in (2, 1, 0):
            result, detail, failure = attempt(function, holdfast, actor)
            if not isinstance(failure, Late) or not left:
                break
            with lock:
                print(f'# {function.__name__} is late, and runs again: '
                      f'{detail}', flush=True)
        with lock:
            report(next(numbers), function, result, detail, failure)
            if result == 'not ok':
                failed.append(function)

    print(f'1..{len(chosen)}', flush=True)
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        list(pool.map(perform, chosen))
    sys.exit(1 if failed else 0)
