#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every #include must be allowed to its room by tools/rooms.txt.

Prints file:line of each that is not.
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


def read_rooms(tree):
    rooms = {}
    for line in (tree / 'tools/rooms.txt').read_text().split('\n'):
        left, colon, right = line.split('#')[0].partition(':')
        if colon:
            rooms[left.strip()] = right.split()
    return rooms


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


if __name__ == '__main__':
    house.finish(check(house.root()))
