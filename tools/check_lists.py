#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every .c and .lua file stands in the meson.build of its folder.

Prints each file that does not, and each listed file that does not exist.
With --write, a new file goes into the list of its folder that is named after
the first word of the file (api_names.c into api_sources), else into the last
one, and vanished files leave their list.
"""
import re
import sys

import house

LIST = re.compile(r"(\w+) = files\(\n((?:  '[^']*',\n)*)\)")


def folders(root):
    for top in ('src', 'tests', 'examples', 'bench'):
        for build in sorted((root / top).rglob('meson.build')):
            if LIST.search(build.read_text()):
                yield build


def names_in(lines):
    return re.findall(r"'(.*)'", lines)


def listed(text):
    return [name for lists in LIST.finditer(text) for name in names_in(lists[2])]


def rewrite(build, present):
    text = build.read_text()
    present = {name for name in present
               if name in listed(text) or f"'{name}'" not in text}
    lists = {found[1]: names_in(found[2]) for found in LIST.finditer(text)}
    for name in present - set(listed(text)):
        if not name.endswith(('.c', '.lua')):
            continue
        own = re.split('[_.]', name)[0] + '_sources'
        lists[own if own in lists else list(lists)[-1]].append(name)

    def fill(found):
        names = sorted(present & set(lists[found[1]]))
        return (f'{found[1]} = files(\n' +
                ''.join(f"  '{name}',\n" for name in names) + ')')
    build.write_text(LIST.sub(fill, text))


def check(root):
    for build in folders(root):
        present = {p.name for p in build.parent.iterdir()}
        text = build.read_text()
        where = build.relative_to(root).as_posix()
        for name in sorted(present):
            if name.endswith(('.c', '.lua')) and f"'{name}'" not in text:
                yield f'{where}:1: {name} is in no list'
        for name in sorted(set(listed(text)) - present):
            yield f'{where}:1: {name} does not exist'


if __name__ == '__main__':
    if '--write' in sys.argv:
        sys.argv.remove('--write')
        for found in folders(house.root()):
            rewrite(found, {p.name for p in found.parent.iterdir()})
    house.finish(check(house.root()))
