#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Caps on the size of files, functions, parameters, nesting and lines.

Prints file:line of each that is over its cap. Also that each file opens with
its licence and a block comment, of up to 15 lines, that says what it is for.
"""
import re

import house

FUNCTION_LINES = 60
PARAMETERS = 6
NESTING = 3
COLUMNS = 80
HEAD_LINES = 15
LICENCE = '/* SPDX-License-Identifier: MIT */'
# The first that matches decides.
FILE_LINES = (
    (r'include/.*', 700),
    (r'src/backend/backend\.h', 300),
    (r'.*\.(h|hpp)', 200),
    (r'tests/.*', 400),
    (r'.*', 600),
)


def check_head(name, text):
    lines = text.split('\n')
    if lines[0] != LICENCE:
        yield f'{name}:1: the first line must be {LICENCE}'
        return
    match = re.match(r'/\*\n(.*?)\*/', '\n'.join(lines[1:]), re.S)
    content = [] if not match else [
        line for line in match[1].split('\n') if line.strip(' *')]
    # The public headers open with the manual.
    most = 60 if name.startswith('include/') else HEAD_LINES
    if not 1 <= len(content) <= most:
        yield (f'{name}:2: a head comment of {len(content)} lines, '
               f'not 1 to {most}')


def check_lines(name, text):
    lines = text.rstrip('\n').split('\n')
    cap = next(c for p, c in FILE_LINES if re.fullmatch(p, name))
    if len(lines) > cap:
        yield f'{name}:{len(lines)}: the file is over {cap} lines'
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            yield f'{name}:{number}: {len(line)} columns, not {COLUMNS}'


def check_functions(name, text):
    code = house.without_directives(house.blank(text))
    for first, signature, body in house.functions(code):
        length = body.count('\n') + 1 + 1
        where = f'{name}:{first}:'
        if length > FUNCTION_LINES:
            yield f'{where} a function of {length} lines, not {FUNCTION_LINES}'
        if house.parameters(signature) > PARAMETERS:
            yield (f'{where} {house.parameters(signature)} parameters, '
                   f'not {PARAMETERS}')
        if house.nesting(body) > NESTING:
            yield f'{where} nesting of {house.nesting(body)}, not {NESTING}'


def check(tree):
    for name, text in house.c_files(tree):
        yield from check_head(name, text)
        yield from check_lines(name, text)
        yield from check_functions(name, text)


if __name__ == '__main__':
    house.finish(check(house.root()))
