#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The documents say what the program does: options, exit codes, statuses,
limits and stores in docs/reference.md; the tests that docs/guarantees.md and
docs/stores/ name; whatever docs/from-the-articles.md and the same page in
Chinese name; the C example of the README, and the script of Redis that refuses
a late fence. What their lines and links are like: tools/check_pages.py.

    docs.py ROOT HOLDFAST [WITH_MARIADB WITH_REDIS WITH_ZOOKEEPER]

Without these, stores on servers are not asked what they can do.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from tap import Tap

ROOT = pathlib.Path(sys.argv[1])
COMMAND = sys.argv[2]
# A store on a server: the program that runs a command beside one.
WITH = (sys.argv[3:] + [None] * 4)[:4]
SERVERS = {'mysql': (WITH[0], 'MYSQL'), 'redis': (WITH[1], 'REDIS'),
           'redlock': (WITH[1], 'REDIS', '--group', '5'),
           'zookeeper': (WITH[2], 'ZOOKEEPER'),
           'postgres': (WITH[3], 'POSTGRES')}
# What a column of the table of abilities says of a URL in one word.
OPTIONS = {'': '', 'session': '?scheme=session', 'row': '?scheme=row',
           'simple': '?recipe=simple'}
ARTICLES = 'docs/from-the-articles.md', 'docs/from-the-articles.zh.md'


def rows(page, head, first=0):
    """The rows of each table whose first line has the cells head, from the
    cell first on."""
    found = []
    lines = iter((ROOT / page).read_text().split('\n'))
    for line in lines:
        if split(line)[first:first + len(head)] == head:
            next(lines)
            for row in lines:
                if not row.startswith('|'):
                    break
                found.append(split(row))
    return found


def split(line):
    cells = re.split(r'(?<!\\)\|', line)[1:-1]
    return [cell.strip().replace('\\|', '|') for cell in cells]


def parser_options():
    text = subprocess.run([COMMAND, 'help', '--options'], check=True,
                          capture_output=True, text=True).stdout
    return {tuple(line.split('\t')) for line in text.splitlines()}


def documented_options(verbs):
    found = set()
    for who, names, argument, default, _ in rows(
            'docs/reference.md', ['verbs', 'option']):
        names = ','.join(re.findall(r'`(-[^`]*)`', names))
        some = {'all': verbs, 'all but run': verbs - {'run'},
                'all on a store': verbs - {'backends', 'version', 'help'}}.get(
            who, set(who.split(', ')))
        found |= {(verb, names, argument.replace('–', '-'),
                   default.replace('–', '-')) for verb in some}
    return found


def check_options(tap):
    real = parser_options()
    told = documented_options({verb for verb, *_ in real})
    tap.ok(real == told, 'docs/reference.md has the options of the parser',
           f'only in the parser: {sorted(real - told)}\n'
           f'only in the page: {sorted(told - real)}')


def check_exits(tap):
    text = subprocess.run([COMMAND, 'help'], check=True, capture_output=True,
                          text=True).stdout
    real = re.findall(r'^  (\d+) ', text[text.index('Exit codes'):], re.M)
    told = [row[0].replace('+n', '') for row in
            rows('docs/reference.md', ['exit', 'means'])]
    tap.ok(real == told, 'docs/reference.md has the exit codes of help',
           f'{real}\n{told}')


def check_statuses(tap):
    header = (ROOT / 'include/holdfast.h').read_text()
    real = [list(found) for found in re.findall(
        r'X\((HF_\w+), (-?\d+),\s*"([^"]*)"\)', header)]
    told = [[row[0].strip('`'), *row[1:]] for row in
            rows('docs/reference.md', ['status', 'value'])]
    tap.ok(real == told and len(real) > 10,
           'docs/reference.md has the statuses of the header',
           f'{real}\n{told}')
    header = (ROOT / 'include/holdfast-rows.h').read_text()
    real = [list(found) for found in re.findall(
        r'X\((HF_\w+), (-?\d+),\s*"([^"]*)"\)', header)]
    told = [[row[0].strip('`'), *row[1:]] for row in
            rows('docs/reference.md', ['status of rows', 'value'])]
    tap.ok(real == told and real,
           'docs/reference.md has the statuses of holdfast-rows.h',
           f'{real}\n{told}')


def check_stores(tap):
    text = subprocess.run([COMMAND, 'backends'], check=True,
                          capture_output=True, text=True).stdout
    readme = [re.match(r'`(\w+):', row[0]) for row in
              rows('README.md', ['URL', 'grade'])]
    told = {found[1] for found in readme if found}
    tap.ok(set(text.split()) == told, 'the README lists the stores',
           f'{text.split()} and {told}')


def ask_store(store, folder):
    """What check says of a new store, or None: no such server here. A column
    may name an option of the URL."""
    store, _, option = store.partition(' ')
    check = [COMMAND, 'check', '--json', '--url']
    if store in SERVERS:
        server, variable, *how = SERVERS[store]
        if server is None:
            return None
        check = [server, *how, '--', 'sh', '-c',
                 f'exec "$@" "$HOLDFAST_TEST_{variable}_URL{OPTIONS[option]}"',
                 'sh'] + check
    else:
        check += [f'{store}:{folder}/x-{store}']
    text = subprocess.run(check, capture_output=True, text=True,
                          check=False).stdout
    return None if text.startswith('1..0 # SKIP') else json.loads(text)


def check_abilities(tap):
    """The table of what each store can do is what `check` finds."""
    header = next(split(line) for line in
                  (ROOT / 'docs/reference.md').read_text().split('\n')
                  if split(line)[:2] == ['can', 'means'])
    stores = header[2:]
    told = {store: set() for store in stores}
    for word, _, *cells in rows('docs/reference.md', ['can', 'means']):
        for store, cell in zip(stores, cells):
            if cell == 'yes':
                told[store].add(word)
    real = {}
    with tempfile.TemporaryDirectory() as folder:
        for store in stores:
            found = ask_store(store, folder)
            if found:
                real[store] = set(found['can'])
            else:
                tap.skip(f'what {store} can do', 'its server is not installed')
                del told[store]
    tap.ok(real == told and len(real) > 2,
           'docs/reference.md says what each store can do',
           f'{real}\n{told}')


def test_names(folder='tests'):
    """Of the tests themselves: that another text names one is not enough."""
    names = set()
    for path in (ROOT / folder).rglob('*'):
        if path.suffix == '.c':
            names |= set(re.findall(r'^TEST\w*\([^;{]*?(\w+)\)\n\{',
                                    path.read_text(), re.M))
            names |= set(re.findall(
                r'^CASE(?:_WITHIN\(\s*\d+,|_IF\([^;]*?\),|\()\s*(\w+),',
                path.read_text(), re.M))
        elif path.suffix == '.py':
            names |= set(re.findall(r'^@(?:shell_)?case\ndef (\w+)\(',
                                    path.read_text(), re.M))
    return names


def check_guarantees(tap):
    known = test_names()
    others = {'full_page_writes', 'max_allowed_packet',
              'synchronous_standby_names', 'holdfast_row_holder',
              'has_kinds_apart'}
    others |= of_urls()
    for page in ['docs/guarantees.md', *(
            path.relative_to(ROOT).as_posix()
            for path in sorted((ROOT / 'docs/stores').glob('*.md')))]:
        named = re.findall(r'`([a-z0-9]+(?:_[a-z0-9]+){2,})`',
                           (ROOT / page).read_text())
        missing = sorted(set(named) - known - others)
        tap.ok(not missing and (len(named) > 10 or 'stores/' in page),
               f'every test that {page} names is there', missing)


def of_urls():
    """The options of URLs."""
    return {name for row in rows('docs/reference.md', ['option', 'default'])
            for name in re.findall(r'`(\w+)`', row[0])}


class Known:
    """All that a page may name in a span of code, by its kind."""

    def __init__(self):
        self.header = ''.join((ROOT / 'include' / name).read_text() for name in (
            'holdfast.h', 'holdfast-cell.h', 'holdfast-guard.h',
            'holdfast-mysql.h', 'holdfast-postgres.h', 'holdfast-rows.h'))
        self.verbs = {}
        for verb, names, *_ in parser_options():
            self.verbs.setdefault(verb, set()).update(names.split(','))
        self.options = {name for names in self.verbs.values()
                        for name in names}
        self.of_urls = of_urls()
        self.schemes = set(re.findall(r'\b(\w+):', ' '.join(
            row[0] for row in rows('README.md', ['URL', 'grade']))))
        self.tests = test_names()
        self.of_contend = set(re.findall(
            r'^ +"  (--[\w-]+)', (ROOT / 'examples/contend.c').read_text(),
            re.M))

    def has(self, word):
        return re.search(rf'\b{word}\b', self.header)

    def unknown(self, span):
        """What the span names and what is not there."""
        words = re.findall(r'\b(?:hf|HF)_\w+', span)
        words += re.findall(r'(?:^|\bhf_\w+)\.(\w+)', span)  # fields
        yield from (word for word in words if not self.has(word))
        verb = re.match(r'holdfast (\w+)', span)
        options = (self.verbs.get(verb[1], set()) if verb else
                   self.of_contend if span.startswith('contend ') else
                   self.options)
        for option in re.findall(r'(?<!\S)--?[a-z][\w-]*', span):
            if option not in options:
                yield option
        if verb and verb[1] not in self.verbs:
            yield verb[0]
        url = re.search(r'(?<!\S)(\w+):(?://|[A-Z])', span)
        if url and url[1] not in self.schemes:
            yield url[1]
        named = re.findall(r'[?&](\w+)=', span)
        named += re.findall(r'^(\w+)=[\w-]+$', span)
        yield from set(named) - self.of_urls - {'event'}  # of the log
        if (re.fullmatch(r'[a-z0-9]+(?:_[a-z0-9]+){2,}', span) and
                not self.has(span) and span not in self.tests):
            yield span


def spans_of(page):
    """The spans of code in each section of the page: of a table cell by cell,
    of all else together, in no order."""
    sections = []
    for section in re.split(r'^## ', (ROOT / page).read_text(), flags=re.M):
        lines = section.split('\n')
        parts = [cell for line in lines if line.startswith('|')
                 for cell in split(line)]
        parts.append('\n'.join(line for line in lines
                               if not line.startswith('|')))
        sections.append([sorted(re.findall(r'`([^`\n]+)`', part))
                         for part in parts])
    return sections


def check_articles(tap):
    known = Known()
    text = subprocess.run([COMMAND, 'check', '--ddl', '--url', 'mysql:///x'],
                          check=False, capture_output=True, text=True).stdout
    columns = set(re.findall(r'^  (\w+) [A-Z]', text, re.M))
    if not columns:
        tap.skip('the columns of the lock table', 'mysql cannot be used here')
    exits = {row[0] for row in rows('docs/reference.md', ['exit', 'means'])}
    own = test_names('tests/articles')
    for page in ARTICLES:
        spans = [span for section in spans_of(page) for part in section
                 for span in part]
        wrong = [f'{span}: {word}' for span in spans
                 for word in known.unknown(span)]
        text = (ROOT / page).read_text()
        wrong += [code for code in re.findall(r'(?:exit|退出码) (\d+)', text)
                  if code not in exits]
        for row in rows(page, ['`holdfast_lock`'], 1):
            wrong += [name for name in re.findall(r'`(\w+)`', row[1])
                      if columns and name not in columns]
        tap.ok(not wrong and len(spans) > 100, f'what {page} names is there',
               wrong)
        tap.ok(own and own <= set(spans),
               f'{page} names each test of tests/articles', own - set(spans))
    told, same = (spans_of(page) for page in ARTICLES)
    tap.ok(told == same, 'the page in Chinese has the same code in each part',
           [(a, b) for one, other in zip(told, same)
            for a, b in zip(one, other) if a != b] or 'another number of parts')


def check_example(tap):
    readme = (ROOT / 'README.md').read_text()
    shown = re.search(r'```c\n(.*?)```', readme, re.S)[1]
    real = (ROOT / 'examples/simple.c').read_text()
    real = real[real.index('#include'):].replace(
        '#include "include/holdfast.h"', '#include <holdfast.h>')
    tap.ok(shown == real, 'the README shows examples/simple.c as it is', shown)
    page = (ROOT / 'docs/reference.md').read_text()
    page = page[page.index('## Fences that are checked'):]
    shown = re.search(r'```lua\n(.*?)```', page, re.S)[1]
    head, real = (ROOT / 'examples/guard.lua').read_text().split('\n', 1)
    tap.ok(shown == real and head == '-- SPDX-License-Identifier: MIT',
           'docs/reference.md shows examples/guard.lua as it is', shown)


def main():
    tap = Tap()
    for check in (check_options, check_exits, check_statuses, check_stores, check_abilities,
                  check_guarantees, check_articles, check_example):
        try:
            check(tap)
        except (OSError, AttributeError, ValueError,
                subprocess.CalledProcessError) as error:
            tap.ok(False, check.__name__, repr(error))
    tap.done()


main()
