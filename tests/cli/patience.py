# SPDX-License-Identifier: MIT
"""The harness itself: what is only late is run again, at most three times in
all; what fails otherwise is not. An ordinary failure is marked for
tools/again.py; what no load excuses is not, and one test can be run alone.
What a test started ends with it."""
import os
import pathlib
import signal
import sys

import harness
from harness import case

PROGRAM = '''
import sys
sys.path.insert(0, sys.argv.pop(1))
import harness
runs = {'twice': 0, 'always': 0, 'wrong': 0}


def count(name):
    runs[name] += 1
    return runs[name]


@harness.case
def twice(t):
    t.soon(count('twice') > 2, 'late')


@harness.case
def always(t):
    t.soon(count('always') > 3, 'late')


@harness.case
def wrong(t):
    t.check(count('wrong') > 1, 'wrong')


@harness.case
def unsafe(t):
    t.safe(False, 'two holders')


@harness.case
def inside(t):
    t.log_path.write_text('2 7 next\\n2 8 beat\\n')
    t.excluded()


@harness.case
def falling(t):
    t.rising([2, 1])


@harness.case
def hanging(t):
    t.spawn(['sleep', '600']).wait(0.1)


@harness.case
def crashing(t):
    t.check(t.spawn(['sh', '-c', 'kill -SEGV $$']).wait().code == 0, 'code')


@harness.case
def sanitized(t):
    t.spawn(['sh', '-c', 'echo "==7==ERROR: AddressSanitizer: x" >&2']).wait()


@harness.case
def racing(t):
    t.spawn(['sh', '-c', 'echo "WARNING: ThreadSanitizer: x" >&2']).wait()
    t.check(False, 'ordinary')


@harness.case
def leaving(t):
    """One with the mark and one that has lost it."""
    t.spawn(['sh', '-c', 'sleep 600 & echo $!; exec sleep 600'])
    t.spawn(['sh', '-c', 'echo $$; exec sleep 600'], env={harness.MARK: None})
    t.until(lambda: all(process.out for process in t.started), 'they run')
    print(*[word for process in t.started
            for word in (process.pid, *process.out.split())])
    t.check(False, 'ordinary')


@harness.case
def stuck(t):
    """Until it is told to end, and then it would begin anew."""
    while True:
        process = t.spawn(['sleep', '600'], env={harness.MARK: None})
        print(process.pid, flush=True)
        process.wait()


@harness.case
def surprised(t):
    t.log()[0]


harness.main()
'''
AGAIN = harness.MARKED


def start_program(t, *words, only=None):
    return t.spawn([sys.executable, '-c', PROGRAM,
                    pathlib.Path(harness.__file__).parent, t.holdfast,
                    t.actor_path, *words],
                   env={'HOLDFAST_TEST_ONLY': only})


def run_program(t, *words, only=None):
    return start_program(t, *words, only=only).wait()


def results(t, word, only=None):
    result = run_program(t, *([word] if word else []), only=only)
    return result.code, [line for line in result.out.splitlines()
                         if 'ok' in line or 'again' in line]


def expect_gone(t, pids):
    alive = [pid for pid in pids if harness.state_of(pid) not in ('', 'Z')]
    for pid in alive:
        os.kill(pid, signal.SIGKILL)
    t.safe(not alive, f'alive: {alive}')


@case
def what_is_late_twice_passes(t):
    again = '# twice is late, and runs again: line 15: late'
    t.equal(results(t, 'twice'), (0, [again, again, 'ok 1 - twice']), 'said')


@case
def what_is_late_three_times_fails(t):
    again = '# always is late, and runs again: line 20: late'
    t.equal(results(t, 'always'),
            (1, [again, again, 'not ok 1 - always', AGAIN]), 'said')


@case
def what_is_wrong_fails_at_once(t):
    t.equal(results(t, 'wrong'), (1, ['not ok 1 - wrong', AGAIN]), 'said')


@case
def what_no_load_excuses_gets_no_second_chance(t):
    for name in ('unsafe', 'inside', 'falling', 'hanging', 'crashing',
                 'sanitized', 'racing', 'surprised'):
        t.equal(results(t, name), (1, [f'not ok 1 - {name}']), name)


@case
def what_a_failed_test_started_is_gone(t):
    """Also what is without the mark, as a server that has written a title
    over its environment."""
    result = run_program(t, 'leaving')
    pids = [int(word) for line in result.out.splitlines()
            for word in line.split() if line[0].isdigit() and '.' not in line]
    t.equal((result.code, len(pids)), (1, 4), result)
    expect_gone(t, pids)


@case
def what_a_program_started_is_gone_when_that_is_ended(t):
    """As by a limit of time for all its tests."""
    program = start_program(t, 'stuck')

    def pids():
        return [int(line) for line in program.out.splitlines()
                if line.isdigit()]
    t.until(pids, 'it is stuck')
    program.signal(signal.SIGTERM)
    t.equal(program.wait().code, -signal.SIGTERM, 'the exit code')
    expect_gone(t, pids())


@case
def one_can_be_run_alone(t):
    t.equal(results(t, None, 'wrong'), (1, ['not ok 1 - wrong', AGAIN]),
            'said')
    t.equal(results(t, None, 'wron'), (0, []), 'no such test')


if __name__ == '__main__':
    harness.main()
