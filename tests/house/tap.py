# SPDX-License-Identifier: MIT
"""Test Anything Protocol for the tests in Python."""
import sys


class Tap:
    def __init__(self):
        self.count = 0
        self.failed = 0

    def ok(self, passed, name, detail=''):
        self.count += 1
        self.failed += not passed
        print(f'{"ok" if passed else "not ok"} {self.count} - {name}')
        if not passed:
            for line in str(detail).rstrip('\n').split('\n'):
                print('#   ' + line)

    def skip(self, name, reason):
        self.count += 1
        print(f'ok {self.count} - {name} # SKIP {reason}')

    def done(self):
        print(f'1..{self.count}')
        sys.exit(1 if self.failed else 0)
