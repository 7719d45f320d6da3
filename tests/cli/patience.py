# SPDX-License-Identifier: MIT
"""The harness itself: what is only late is run again, at most three times in
all; what fails otherwise is not."""
import pathlib
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


harness.main()
'''


def results(t, word):
    result = t.spawn([sys.executable, '-c', PROGRAM,
                      pathlib.Path(harness.__file__).parent, t.holdfast,
                      t.actor_path, word]).wait()
    return result.code, [line for line in result.out.splitlines()
                         if 'ok' in line or 'again' in line]


@case
def what_is_late_twice_passes(t):
    again = '# twice is late, and runs again: line 15: late'
    t.equal(results(t, 'twice'), (0, [again, again, 'ok 1 - twice']), 'said')


@case
def what_is_late_three_times_fails(t):
    again = '# always is late, and runs again: line 20: late'
    t.equal(results(t, 'always'),
            (1, [again, again, 'not ok 1 - always']), 'said')


@case
def what_is_wrong_fails_at_once(t):
    t.equal(results(t, 'wrong'), (1, ['not ok 1 - wrong']), 'said')


if __name__ == '__main__':
    harness.main()
