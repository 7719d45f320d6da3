#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Breaks one line after the other and shows that a test sees each.

    run.py [--check] [--seconds N] [--seed N] [--tree ROOT] BUILD [WORD]

A mutant is a paragraph of a .txt file in tests/mutants:

    src/core/grant_fsm.c: a grant is believed without its margin
    - MARGIN_NS
    + 0
    ! unit_core_lease --filter less_one_percent

What stands behind the minus must be in the file exactly once, however it is
spaced and broken into lines, and becomes what stands behind the plus. Behind
the ! is who must catch it: a program of tests with its arguments, or a file of
tests/cli with a WORD. It must pass on the tree as it is and fail, or hang, on
the mutant. They are tried in a copy in BUILD/mutants, in the order of the seed,
for as long as is said; those with WORD alone, if there is one. --check only
looks whether each still has its place. Exits 1 if one survived, has no place
or does not build.
"""
import argparse
import fcntl
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import time

PATIENCE_S = 90
PARTS = {'-': 'old', '+': 'new', '!': 'command'}


class Mutant:
    def __init__(self, head, lines):
        self.path, self.title = head.split(': ', 1)
        self.old = self.new = self.command = ''
        part = 'old'
        for line in lines:
            if line[:1] in PARTS and line[1:2] in ('', ' '):
                part, line = PARTS[line[0]], line[2:]
            setattr(self, part, f'{getattr(self, part)}\n{line}'.strip())
        words = re.findall(r'\w+|[^\w\s]', self.old)
        pattern = r'\s*'.join(re.escape(word) for word in words)
        self.pattern = re.compile(rf'(?<!\w){pattern}(?!\w)' if re.match(
            r'\w.*\w$|\w$', self.old, re.S) else pattern)

    def __str__(self):
        return f'{self.path}: {self.title}'

    def apply(self, text):
        """None: there is no such place, or more than one."""
        found = self.pattern.findall(text) if self.old else []
        return self.pattern.sub(lambda _: self.new, text) if len(
            found) == 1 else None


def read(tree):
    for table in sorted((tree / 'tests/mutants').glob('*.txt')):
        for paragraph in re.split(r'\n\n+', table.read_text().strip()):
            lines = [line for line in paragraph.split('\n')
                     if not line.startswith('#')]
            if lines:
                yield Mutant(lines[0], lines[1:])


def check(tree, mutants):
    """As TAP."""
    for number, m in enumerate(mutants, 1):
        path = tree / m.path
        fits = m.command and path.is_file() and m.apply(path.read_text())
        print('ok' if fits else 'not ok', number, '-', str(m).replace('#', ''))
    print(f'1..{len(mutants)}')


class Copy:
    """What git knows of the tree, or would, and its own build of it."""

    def __init__(self, tree, folder):
        self.root, self.build = folder / 'tree', folder / 'build'
        names = subprocess.run(
            ['git', '-C', tree, 'ls-files', '-zco', '--exclude-standard'],
            capture_output=True, text=True, check=True).stdout.split('\0')
        files = {name for name in names if (tree / name).is_file()}
        for path in list(self.root.rglob('*')):
            if path.is_file() and str(path.relative_to(self.root)) not in files:
                path.unlink()
        for name in files:
            self.write(name, (tree / name).read_bytes(),
                       (tree / name).stat().st_mode)
        if not (self.build / 'build.ninja').exists():
            subprocess.run(['meson', 'setup', '--buildtype=plain', self.build,
                            self.root], stdout=subprocess.DEVNULL, check=True)
        subprocess.run(['ninja', '-C', self.build, 'build.ninja'],
                       stdout=subprocess.DEVNULL, check=True)
        self.programs = {
            t['name']: pathlib.Path(t['filename'][0]).relative_to(self.build)
            for t in json.loads((self.build / 'meson-info/intro-targets.json')
                                .read_text()) if t['type'] == 'executable'}

    def write(self, name, content, mode=0o644):
        path = self.root / name
        if not path.exists() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(mode)

    def parts(self, command):
        """The programs that it needs, and its words."""
        name, *words = command.split()
        if name.endswith('.py'):
            needed = [self.programs['holdfast'], self.programs['cli_actor']]
            return needed, [sys.executable, self.root / name,
                            *(self.build / path for path in needed), *words]
        return [self.programs[name]], [self.build / self.programs[name], *words]

    def passes(self, command):
        """What its tests say and whether they pass; None: it doesn't build."""
        needed, words = self.parts(command)
        made = subprocess.run(['ninja', '-C', self.build, *needed],
                              capture_output=True, text=True, check=False)
        if made.returncode:
            return made.stdout, None
        # As in the suite: what lives in one process has a clock of its own.
        env = {**os.environ, **({'HOLDFAST_TEST_VIRTUAL': '1'}
                                if words[-1] == 'memory' else {})}
        ran = subprocess.run(
            ['timeout', '-k', '5', str(PATIENCE_S), *words], text=True,
            env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, check=False, errors='replace')
        is_run = re.search(r'^ok (?!.*# SKIP)', ran.stdout, re.M)
        return ran.stdout, ran.returncode == 0 and bool(is_run)

    def try_one(self, m):
        """What it came to, and the output that shows it."""
        text = (self.root / m.path).read_text()
        mutated = m.apply(text)
        if mutated is None:
            return 'has no place', ''
        said, is_well = self.passes(m.command)
        if not is_well:
            return 'its tests fail without it', said
        self.write(m.path, mutated.encode())
        said, is_well = self.passes(m.command)
        self.write(m.path, text.encode())
        if is_well is None:
            return 'does not build', said
        return ('SURVIVED', said) if is_well else ('caught', said)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--check', action='store_true')
    parser.add_argument('--seconds', type=int, default=3600)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--tree', type=pathlib.Path,
                        default=pathlib.Path(__file__).parents[2])
    parser.add_argument('build', type=pathlib.Path, nargs='?')
    parser.add_argument('word', nargs='?', default='')
    given = parser.parse_args()
    tree = given.tree.resolve()
    mutants = [m for m in read(tree) if given.word in f'{m}\n{m.command}']
    if not mutants:
        parser.error(f'no mutant has the word {given.word}')
    if given.check:
        return check(tree, mutants)
    end = time.monotonic() + given.seconds
    folder = given.build.resolve() / 'mutants'
    folder.mkdir(exist_ok=True)
    with open(folder / 'lock', 'w', encoding='utf-8') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        copy = Copy(tree, folder)
        random.Random(given.seed).shuffle(mutants)
        count = 0
        failed = 0
        for m in mutants:
            if time.monotonic() > end:
                break
            start = time.monotonic()
            result, said = copy.try_one(m)
            by = re.findall(r'^not ok \d+ - (.*)', said, re.M)
            print(f'{time.monotonic() - start:5.1f} s {result}: {m}', flush=True)
            if result == 'caught':
                print('# by', ', '.join(by[:3]), flush=True)
            else:
                failed += 1
                print(f'# {m.command}\n{said}', flush=True)
            count += 1
    print(f'mutants: {count} of {len(mutants)} tried, {failed} of them not '
          'caught')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
