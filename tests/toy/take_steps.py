#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Takes the steps of "How to add a store" (CONTRIBUTING.md) with the store in
store/, in a copy of the tree: it adds the store's folder, and one line to each
file that is named there, nothing else. The result must keep the rules and pass
the contract; with one of its primitives broken it must fail it.

    take_steps.py ROOT -- COMPILER...

The tests of the store are those that meson then has for it. The store lives in
one process, so they run in virtual time. This program runs one thing at a
time, because tests that wait run beside it.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / 'house'))
from tap import Tap  # noqa: E402

ROOT = pathlib.Path(sys.argv[1])
COMPILER = ' '.join(sys.argv[3:])
FOLDER = 'src/backend/toy'
# (file, start of the line before which to insert, the new line or lines).
LINES = (
    ('src/backend/registry.c', '    &hf__memory_backend,',
     '    &hf__toy_backend,'),
    ('src/backend/registry.h',
     'extern const struct hf__backend hf__memory_backend;',
     'extern const struct hf__backend hf__toy_backend; /* toy/ */'),
    ('src/backend/meson.build', "  'memory',", "  'toy',"),
    ('tests/contract/urls.c', '    {"memory", NULL, NULL},',
     '    {"toy", NULL, NULL},'),
    ('tests/contract/kinds.c', '    "memory",', '    "toy",'),
    ('README.md', '| `memory:NAME` |',
     '| `toy:` | D: volatile | this process | a toy |'),
    ('docs/guarantees.md', '## memory and fault',
     '## toy\n\n`toy:` is as `memory:`.\n'),
    ('docs/reference.md', '- `memory:NAME`:',
     '- `toy:`: in this process; it has no options.'),
)
PROGRAMS = ('store', 'api', 'core')  # tests/contract/contract_…
# (what the mistake does, text in toy.c to replace, the mistake itself).
BROKEN = (
    ('load ends a lease early', 'g->ends_us <= name->now_us',
     'g->ends_us <= name->now_us + 1000000'),
    ('load takes one name for another',
     'memcmp(ENTRY(link)->key, key->bytes, key->length) == 0', 'true'),
    ('commit forgets the fence', 'hf__name_settle(name);',
     'hf__name_settle(name);\n    name->fence = 0;'),
    ('commit wakes nobody', 's->has_changed = true;', ''),
    ('scan gives names of other prefixes',
     'memcmp(e->key, prefix->bytes, prefix->length) == 0', 'true'),
    ('forget leaves the name', 'hf__list_remove(&e->link);\n    drop(e);', ''),
)


def run(*command, env=None):
    return subprocess.run([str(word) for word in command], env=env, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False,
                          errors='replace')


def files_of(tree):
    """All files of the project, tracked by git or not."""
    listed = run('git', '-C', tree, 'ls-files', '-co', '--exclude-standard')
    if listed.returncode == 0:
        return [name for name in listed.stdout.split('\n')
                if (tree / name).is_file()]
    return [path.relative_to(tree).as_posix() for path in tree.rglob('*')
            if path.is_file() and not re.match(
                r'(\.git|build[^/]*)/|.*__pycache__',
                path.relative_to(tree).as_posix())]


class Copy:
    def __init__(self, folder):
        self.tree = folder / 'tree'
        self.build = folder / 'build'
        for name in files_of(ROOT):
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.tree / name)
        text = (self.tree / 'CONTRIBUTING.md').read_text()
        self.section = text.split('\n## How to add a store\n')[1].split(
            '\n## ')[0]

    def put(self, file, before, line):
        """Inserts the line; gives why it can't, or an empty text."""
        if f'`{file}`' not in self.section:
            return 'CONTRIBUTING.md does not name it'
        lines = (self.tree / file).read_text().split('\n')
        places = [i for i, old in enumerate(lines) if old.startswith(before)]
        if len(places) != 1:
            return f'{len(places)} lines begin with {before}'
        lines.insert(places[0], line)
        (self.tree / file).write_text('\n'.join(lines))
        return ''

    def compile(self, *targets):
        return run('meson', 'compile', '-C', self.build, '-j', '1', *targets)

    def parts(self, program):
        """What meson would run for the toy: (command, environment) of each."""
        known = json.loads(
            (self.build / 'meson-info/intro-tests.json').read_text())
        return [(test['cmd'], test['env']) for test in known
                if test['name'].split()[:2] == [program, 'toy']]

    def meet(self, program):
        """How many tests passed before the first part that failed, and the
        output of that part, or an empty text."""
        passed = 0
        for command, env in self.parts(program):
            ran = run(*command, env={**os.environ, **env,
                                     'HOLDFAST_TEST_VIRTUAL': '1'})
            told = re.findall(r'^(?:not )?ok .*', ran.stdout, re.M)
            if ran.returncode or f'1..{len(told)}\n' not in ran.stdout:
                return passed, ran.stdout or f'exit {ran.returncode}'
            passed += sum('# SKIP' not in line for line in told)
        return passed, ''


def take(tap, copy):
    tap.ok(f'`{FOLDER[:-3]}NAME/`' in copy.section,
           'the folder is a step of CONTRIBUTING.md', copy.section)
    shutil.copytree(copy.tree / 'tests/toy/store', copy.tree / FOLDER)
    for file, before, line in LINES:
        why_not = copy.put(file, before, line)
        tap.ok(not why_not, f'{file} takes its line', why_not)


def keep_rules(tap, copy):
    for checker in ('rooms', 'sizes', 'banned', 'lists'):
        ran = run(sys.executable, copy.tree / f'tools/check_{checker}.py',
                  copy.tree)
        tap.ok(ran.returncode == 0, f'{checker}: a new store keeps them',
               ran.stdout)


def make(tap, copy):
    ran = run('meson', 'setup', copy.build, copy.tree, '-Dbuildtype=plain',
              '-Dexamples=false', '-Dmodules=false',
              env={**os.environ, **({'CC': COMPILER} if COMPILER else {})})
    tap.ok(ran.returncode == 0, 'it is configured', ran.stdout)
    made = copy.compile('holdfast:executable',
                        *(f'contract_{program}' for program in PROGRAMS))
    tap.ok(made.returncode == 0, 'it is built', made.stdout[-4000:])
    ran = run(sys.executable, copy.tree / 'tests/house/docs.py', copy.tree,
              copy.build / 'holdfast')
    tap.ok(ran.returncode == 0, 'the docs know it', ran.stdout)
    return made.returncode == 0


def meet_contract(tap, copy):
    for program in PROGRAMS:
        passed, failure = copy.meet(program)
        tap.ok(passed and not failure, f'it passes contract_{program}',
               f'{passed} passed before\n{failure}')


def break_primitives(tap, copy):
    source = copy.tree / FOLDER / 'toy.c'
    text = source.read_text()
    for what, words, mistake in BROKEN:
        source.write_text(text.replace(words, mistake))
        made = copy.compile('contract_store')
        passed, failure = copy.meet('store')
        tap.ok(text.count(words) == 1 and made.returncode == 0 and
               re.search('^not ok', failure, re.M),
               f'the contract sees that {what}',
               f'{made.stdout}{passed} passed\n{failure}')


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(pathlib.Path(folder))
        take(tap, copy)
        keep_rules(tap, copy)
        if make(tap, copy):
            meet_contract(tap, copy)
            break_primitives(tap, copy)
    tap.done()


main()
