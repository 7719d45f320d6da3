#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The pages for people can be read: README.md, ARCHITECTURE.md,
CONTRIBUTING.md, CHANGELOG.md and all of docs/.

Prints file:line of each line that is too long outside of code, each page that
is long and lacks its index or has an old one, each link that leads nowhere,
also within a page, each file of the code that is not there, and each number of
lines or words that is wrong. With --write an index is made, or made anew.
"""
import math
import re
import sys

import house

COLUMNS = 120
LINES = 200  # of a page without an index
WORDS = {'ARCHITECTURE.md': 1500}
PAGES = ('README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md',
         'docs/**/*.md')
INDEX = {'docs/from-the-articles.zh.md': '## 目录'}
# What a page says of the lines of a file or folder: the next fifty above.
COUNTED = re.compile(r'`((?:src|tests)/[^`]*)`[^`.]*?\bfewer\s+than\s+'
                     r'(\d+)\s+lines')
STEP = 50
# Pages on the code: which files they name.
ON_CODE = re.compile(r'ARCHITECTURE\.md|CONTRIBUTING\.md|'
                     r'docs/(?:stores/.*|decisions|rows|testing)\.md')
FILE = re.compile(r'`((?:[\w.-]+/)*[\w-]+\.(?:c|h|lua|py|sh))`')


def pages(tree):
    for pattern in PAGES:
        for path in sorted(tree.glob(pattern)):
            yield path.relative_to(tree).as_posix(), path.read_text()


def prose(text):
    """Yields (number, line) of what is no code."""
    is_code = False
    for number, line in enumerate(text.split('\n'), 1):
        if line.lstrip().startswith('```'):
            is_code = not is_code
        elif not is_code:
            yield number, line


def chapters(text):
    """Yields (level, title, anchor) of each heading; anchors are GitHub's."""
    seen = {}
    for _, line in prose(text):
        found = re.match(r'(#{1,4}) (.*)', line)
        if not found:
            continue
        words = re.sub(r'!?\[([^\]]*)\]\([^)]*\)', r'\1', found[2])
        words = words.replace('`', '').strip().lower()
        anchor = re.sub(r'[^\w\- ]', '', words).replace(' ', '-')
        seen[anchor] = seen.get(anchor, -1) + 1
        yield (len(found[1]), found[2],
               f'{anchor}-{seen[anchor]}' if seen[anchor] else anchor)


def with_index(name, text):
    """The page with the index that it should have before its first chapter."""
    head = INDEX.get(name, '## Contents')
    entries = [f'{"  " * (level - 2)}- [{title}](#{anchor})\n'
               for level, title, anchor in chapters(text)
               if level in (2, 3) and title != head[3:]]
    new = f'{head}\n\n{"".join(entries)}\n'
    old = re.search(rf'^{head}\n.*?(?=^## )', text, re.M | re.S)
    if old:
        return text[:old.start()] + new + text[old.end():]
    first = re.search(r'^## ', text, re.M)
    return text if not first else (
        text[:first.start()] + new + text[first.start():])


def check_size(name, text):
    for number, line in prose(text):
        if len(line) > COLUMNS:
            yield f'{name}:{number}: {len(line)} columns, not {COLUMNS}'
    if text.count('\n') > LINES and with_index(name, text) != text:
        yield f'{name}:1: over {LINES} lines, and no index, or an old one'
    words = len(text.split())
    if words > WORDS.get(name, words):
        yield f'{name}:1: {words} words, not {WORDS[name]}'


def check_links(tree, name, text):
    for number, line in prose(text):
        for target in re.findall(r'\]\(([^):]+)\)', line):
            page, _, anchor = target.partition('#')
            path = (tree / name).parent / page if page else tree / name
            if not path.exists():
                yield f'{name}:{number}: {target} is not there'
            elif anchor and anchor not in (
                    known for *_, known in chapters(path.read_text())):
                yield f'{name}:{number}: {target} is no chapter'


def lines_of(path):
    files = [path] if path.is_file() else path.rglob('*.[ch]')
    return sum(file.read_text().count('\n') for file in files)


def check_counts(tree, name, text):
    for found in COUNTED.finditer(text):
        count = lines_of(tree / found[1])
        if int(found[2]) != math.ceil((count + 1) / STEP) * STEP:
            number = text.count('\n', 0, found.start()) + 1
            yield (f'{name}:{number}: {found[1]} has {count} lines, which is '
                   f'not just below {found[2]}')


def known_files(tree):
    return ['/' + path.relative_to(tree).as_posix()
            for top in (*house.TOPS, 'tools')
            for path in (tree / top).rglob('*.*')]


def check_files(name, text, known):
    """A page on a store names files of its own folder, or of one that it names
    itself: those of other stores have a folder before them."""
    near = known
    store = re.fullmatch(r'docs/stores/([a-z-]+)\.md', name)
    if store:
        folders = {'/src/core', '/src/backend',
                   '/src/backend/' + store[1].replace('-', '_')}
        folders.update(f'/{folder}' for folder in
                       re.findall(r'`(src/backend/\w+)/?`', text))
        near = [file for file in known if file.rpartition('/')[0] in folders]
    for number, line in prose(text):
        for file in FILE.findall(line):
            if 'NAME' not in file and not any(
                    path.endswith('/' + file)
                    for path in (known if '/' in file else near)):
                yield f'{name}:{number}: {file} is not there'


def check(tree):
    known = known_files(tree)
    for name, text in pages(tree):
        if ON_CODE.fullmatch(name):
            yield from check_files(name, text, known)
        yield from check_size(name, text)
        yield from check_links(tree, name, text)
        yield from check_counts(tree, name, text)


def write(tree):
    for name, text in pages(tree):
        if text.count('\n') > LINES:
            (tree / name).write_text(with_index(name, text))


if __name__ == '__main__':
    if '--write' in sys.argv:
        sys.argv.remove('--write')
        write(house.root())
    house.finish(check(house.root()))
