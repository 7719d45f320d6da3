#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files of src/ do not call each other in a circle: who reads one of them can
stop at its callees. tools/circles.txt lists those that still do.

Prints each circle that is not listed, with calls that close it, and each
listed one that became smaller or is gone, as none may grow again.
"""
import posixpath
import re

import house

LISTS = 'tools/circles.txt'
# A function or variable, not a tag or a member of the same name.
WORD = re.compile(r'(?<![\w.])(?<!->)(?<!struct )(?<!enum )(?<!union )'
                  r'[A-Za-z_]\w*')
# A variable that other files see is declared at the start of a line.
VARIABLE = re.compile(r'^(?!static|extern|typedef|(?:struct|enum) \w+;)'
                      r'[a-z_][\w *]*[ *](\w+)(?:\[[^\]\n]*\])*(?: =|;)', re.M)


def name_of(signature):
    """The function that a signature is of, and whether only its file sees it."""
    named = re.search(r'(\w+)\(', re.sub(r'HF_\w*\([^)]*\)', '', signature))
    return named and named[1], bool(re.search(r'\bstatic\b', signature))


def read(tree):
    """Where each name is defined, {name: files}; which words each file uses,
    {file: words}. What a header defines inline is its callers' code."""
    homes, words, inline = {}, {}, {}
    for file, text in house.c_files(tree):
        if not file.startswith('src/'):
            continue
        code = house.blank(text)
        for _, signature, body in house.functions(
                house.without_directives(code)):
            name, is_static = name_of(signature)
            if file.endswith('.h'):
                inline[name] = set(WORD.findall(body))
            elif name and not is_static:
                homes.setdefault(name, []).append(file)
        if file.endswith('.c'):
            for name in VARIABLE.findall(code):
                homes.setdefault(name, []).append(file)
            words[file] = set(WORD.findall(code))
    for used in words.values():
        left = used & inline.keys()
        while left:
            more = inline[left.pop()] - used
            used |= more
            left |= more & inline.keys()
    return homes, words


def calls_of(tree):
    """Whom each file calls: {file: {file called: name}}."""
    homes, words = read(tree)
    calls = {}
    for file, used in words.items():
        called = calls[file] = {}
        for name in sorted(used & homes.keys()):
            # Two libraries may each have one of this name: its own is meant.
            near = sorted(homes[name], key=lambda home: (
                home != file,
                posixpath.dirname(home) != posixpath.dirname(file), home))
            if near[0] != file:
                called.setdefault(near[0], name)
    return calls


def reach(calls, start):
    """The files that a file calls, itself or through others."""
    seen, left = set(), [start]
    while left:
        for file in calls[left.pop()]:
            if file not in seen:
                seen.add(file)
                left.append(file)
    return seen


def circles_in(calls):
    reached = {file: reach(calls, file) for file in calls}
    left = {file for file in calls if file in reached[file]}
    while left:
        one = min(left)
        circle = {file for file in left
                  if file in reached[one] and one in reached[file]}
        left -= circle
        yield sorted(circle)


def shortest(calls, circle):
    """The calls that lead from the first file of a circle back to it."""
    ways = [[circle[0]]]
    seen = set()
    for way in ways:
        for file in sorted(calls[way[-1]].keys() & set(circle)):
            if file == circle[0]:
                return ', '.join(
                    f'{posixpath.basename(a)} uses {calls[a][b]} of '
                    f'{posixpath.basename(b)}'
                    for a, b in zip(way, [*way[1:], file]))
            if file not in seen:
                seen.add(file)
                ways.append([*way, file])
    return ''


def listed(tree):
    """Yields (line, its circle) of the list."""
    for number, folder, names in house.entries(tree, LISTS):
        yield number, {f'{folder}/{name}' for name in names.split()}


def check(tree):
    calls = calls_of(tree)
    found = list(circles_in(calls))
    allowed = list(listed(tree))
    for circle in found:
        if not any(set(circle) <= names for _, names in allowed):
            yield (f'{circle[0]}:1: a circle of {len(circle)} files: '
                   f'{shortest(calls, circle)}; break it, or put the files '
                   f'together (all: {" ".join(circle)})')
    for number, names in allowed:
        within = [set(circle) for circle in found if set(circle) <= names]
        if within != [names]:
            rest = '; '.join(' '.join(sorted(c)) for c in within) or 'nothing'
            yield f'{LISTS}:{number}: this circle shrank to: {rest}'


if __name__ == '__main__':
    house.finish(check(house.root()))
