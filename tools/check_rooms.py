#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every #include must be allowed to its room by tools/rooms.txt, and what is
in src/ knows no store by name: its folder does, and the registry, whose header
says which names there are.

Prints file:line of each that is not so.
"""
import re

import house

STD = re.compile(
    r'(assert|ctype|dirent|endian|errno|fcntl|float|ifaddrs|inttypes|libgen|limits|'
    r'locale|math|netdb|poll|pthread|pwd|sched|signal|spawn|stdarg|stdatomic|'
    r'stdbool|stddef|stdint|stdio|stdlib|string|strings|syslog|termios|time|'
    r'unistd|wchar|((sys|linux|net|netinet|arpa)/[\w/]+))\.h')
PURE = re.compile(r'(limits|stdbool|stddef|stdint|string)\.h')
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)')
# One that is in no comment, and is no header's name.
LITERAL = re.compile(r"/\*.*?\*/|//[^\n]*|#\s*include[^\n]*|"
                     r"'(?:\\.|[^'\\\n])*'|"
                     r'("(?:\\.|[^"\\\n])*")', re.S)
REGISTRY = 'src/backend/registry.'
# These are words, too, and names only where a URL begins.
WORDS = ('file', 'memory')
MAY_NAME = {
    'src/base/url.c': 'shows whoever gave no URL what one looks like',
    'src/cli/store.h': 'the command chooses a store for who names none',
    'src/cli/secret.c': 'hides what it can of URLs, also of those that the '
                        'library refuses; these have no password',
}


def read_rooms(tree):
    return {left: right.split() for _, left, right in
            house.entries(tree, 'tools/rooms.txt')}


def room_of(name, rooms):
    """The room of a file and what it may include, "+" filled in."""
    best = (-1, False, None, [])
    for prefix, allowed in rooms.items():
        pattern = re.escape(prefix).replace(r'\+', '([^/]+)')
        match = re.match(pattern, name)
        if match:
            folder = match[1] if match.groups() else ''
            best = max(best, (match.end(), '+' not in prefix, prefix,
                              [a.replace('+', folder) for a in allowed]))
    return best[2], best[3]


def is_allowed(tree, quote, header, allowed):
    if '*' in allowed:
        return True
    if quote == '"':
        return (tree / header).exists() and any(
            '/' in a and (header == a or a.endswith('/') and
                          header.startswith(a)) for a in allowed)
    return header in allowed or any(
        a == 'std' and STD.fullmatch(header) or
        a == 'pure' and PURE.fullmatch(header) for a in allowed)


def read_stores(tree):
    """The schemes of all stores, by the registry's header."""
    header = tree / f'{REGISTRY}h'
    text = header.read_text() if header.exists() else ''
    names = set(re.findall(r'hf__(\w+)_backend;', text))
    for name, others in re.findall(r'X\((\w+), "([^"]*)"', text):
        names |= {name, *filter(None, others.split(','))}
    return sorted(names, key=len, reverse=True)


def is_a_stores(name, stores):
    """Is that file in a store's folder, as mysql/ or mysql_row/?"""
    folder = re.match(r'src/backend/(\w+)/', name)
    return folder and any(folder[1] == store or
                          folder[1].startswith(f'{store}_')
                          for store in stores)


def names_in(text, stores):
    """Yields (line, store) of each name in the literals and the code."""
    words = '|'.join(rf'(?<="){store}(?=:)' if store in WORDS else
                     re.escape(store) for store in stores)
    in_text = re.compile(rf'(?i)(?<!\w)({words})(?!\w)')
    in_code = re.compile(r'(?<!\w)hf__(\w+)_backend(?!\w)')
    for literal in LITERAL.finditer(text):
        for found in in_text.finditer(literal[1] or ''):
            yield literal.start(1) + found.start(), found[1]
    for found in in_code.finditer(house.blank(text)):
        if found[1] in stores:
            yield found.start(), found[1]


def check_names(tree):
    stores = read_stores(tree)
    for name, text in house.c_files(tree):
        if (stores and name.startswith('src/') and name not in MAY_NAME and
                not name.startswith(REGISTRY) and
                not is_a_stores(name, stores)):
            for at, store in names_in(text, stores):
                number = text.count('\n', 0, at) + 1
                yield (f'{name}:{number}: {store} is a store, known here by '
                       f'name')


def check(tree):
    rooms = read_rooms(tree)
    for name, text in house.c_files(tree):
        room, allowed = room_of(name, rooms)
        for number, line in enumerate(text.split('\n'), 1):
            match = INCLUDE.match(line)
            # The public headers are installed side by side.
            if name.startswith('include/') and match and match[1] == '"':
                line = line.replace(match[2], f'include/{match[2]}')
                match = INCLUDE.match(line)
            if match and not is_allowed(tree, match[1], match[2], allowed):
                yield (f'{name}:{number}: {room or "no room"} may not '
                       f'include {match[2]}')
    yield from check_names(tree)


if __name__ == '__main__':
    house.finish(check(house.root()))
