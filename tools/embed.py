#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a C header with the texts of Lua scripts.

    embed.py HEADER NAME.lua...

For each NAME it has HF__LUA_NAME, a string with the texts of common.lua,
record.lua and NAME, and HF__LUA_NAME_SHA1, by which a server knows it. A line
"-- include: OTHER.lua" stands for that file, which is no script itself; so a
script comes to what it seldom needs after what it often does. One with a line
"-- no record" is of no lock: record.lua is left out. A script with a
line "-- many" is there as HF__LUA_NAME_MANY, too: record.lua and itself are the
body of a function then, which stands for the line "-- one" of many.lua. Lines
that are empty or only a comment, and indentation, are left out: every client
sends these texts. So no script may have a string of several lines.
"""
import hashlib
import pathlib
import re
import sys


INCLUDE = re.compile(r'-- include: (\w+\.lua)$')
MANY = re.compile(r'^-- many$', re.M)
NO_RECORD = re.compile(r'^-- no record$', re.M)
ONE = '-- one'
PARTS = ('common.lua', 'record.lua', 'many.lua')


def lines_of(path):
    for line in path.read_text().split('\n'):
        line = line.strip()
        if INCLUDE.match(line):
            yield from lines_of(path.with_name(INCLUDE.match(line)[1]))
        elif line == ONE or (line and not re.match(r'--(?!\[\[)', line)):
            yield line


def read(path):
    return ''.join(line + '\n' for line in lines_of(path))


def included(paths):
    return {match[1] for path in paths
            for line in path.read_text().split('\n')
            if (match := INCLUDE.match(line.strip()))}


def quoted(text):
    text = text.replace('\\', '\\\\').replace('"', '\\"')
    return ' \\\n'.join(f'    "{line}\\n"' for line in text.split('\n')[:-1])


def defined(name, text):
    yield f'#define {name} \\\n{quoted(text)}'
    yield f'#define {name}_SHA1 "{hashlib.sha1(text.encode()).hexdigest()}"'


def header(scripts, common, record, many):
    yield '/* SPDX-License-Identifier: MIT */'
    yield '/* Made by tools/embed.py from the files of lua/. */'
    for path in scripts:
        if path.name in included(scripts):
            continue
        name = 'HF__LUA_' + path.stem.upper()
        is_lock = not NO_RECORD.search(path.read_text())
        one = (record if is_lock else '') + read(path)
        yield from defined(name, common + one)
        if MANY.search(path.read_text()):
            yield from defined(
                name + '_MANY',
                common + many.replace(
                    ONE, f'local function one(KEYS, ARGV)\n{one}end'))


def main():
    to, *paths = map(pathlib.Path, sys.argv[1:])
    parts = {path.name: path for path in paths if path.name in PARTS}
    scripts = [path for path in paths if path.name not in PARTS]
    texts = [read(parts[name]) for name in PARTS]
    to.write_text('\n'.join(header(scripts, *texts)) + '\n')


if __name__ == '__main__':
    main()
