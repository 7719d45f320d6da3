#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each room of src/ has a budget of code lines in tools/budgets.txt: of C and
headers those with more than comments on them, of Lua likewise.

Prints each room that is over its budget; each that is so far below that the
budget must follow, as what was saved shall not be spent unseen; each budget
without a file; and each file that no budget counts.
"""
import re

import house

LISTS = 'tools/budgets.txt'
# So much may be saved before a budget has to be lowered.
SLACK = 50


def code_lines(name, text):
    if name.endswith('.lua'):
        code = re.sub(r'--[^\n]*', '', text)
    else:
        code = house.blank(text)
    return sum(1 for line in code.split('\n') if line.strip())


def sources(tree):
    for file, text in house.c_files(tree):
        if file.startswith('src/'):
            yield file, text
    for path in sorted((tree / 'src').rglob('*.lua')):
        yield path.relative_to(tree).as_posix(), path.read_text()


def budgets(tree):
    """{prefix: (line of the list, code lines)}"""
    return {prefix: (number, int(most))
            for number, prefixes, most in house.entries(tree, LISTS)
            for prefix in prefixes.split()}


def check(tree):
    rooms = budgets(tree)
    spent = {number: 0 for number, _ in rooms.values()}
    for file, text in sources(tree):
        prefixes = [p for p in rooms if file.startswith(p)]
        if prefixes:
            spent[rooms[max(prefixes, key=len)][0]] += code_lines(file, text)
        else:
            yield f'{file}:1: no budget in {LISTS} counts this file'
    for number, most in sorted(set(rooms.values())):
        lines = spent[number]
        if not lines:
            yield f'{LISTS}:{number}: there is no such room'
        elif lines > most:
            yield (f'{LISTS}:{number}: {lines} code lines, not {most}; what is '
                   'added to a store gets a room and a budget of its own')
        elif lines < most - SLACK:
            yield f'{LISTS}:{number}: {lines} code lines now: lower {most} to it'


if __name__ == '__main__':
    house.finish(check(house.root()))
