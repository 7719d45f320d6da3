#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Calls and words that must not be in the tree, or in one file only.

Prints file:line of each that is.
"""
import re

import house


def call(*names):
    return r'(?<![\w.])(?:' + '|'.join(names) + r')\s*\('


# What, where it is looked for, where it is allowed, why not.
CODE = (
    (r'\bgoto\b', r'.*', None, 'use HF_AUTO instead of goto'),
    (call('sprintf', 'vsprintf', 'strcpy', 'stpcpy', 'strcat', 'strtok',
          'atoi', 'atol', 'atoll', 'gets', 'alloca', 'tmpnam', 'mktemp'),
     r'.*', None, 'has a safe sibling'),
    (call('sleep', 'usleep', 'nanosleep', 'clock_nanosleep'),
     r'.*', r'src/base/time\.c|src/cli/clock\.c|tests/lib/expect\.c',
     'wait for something, with a deadline'),
    (call('malloc', 'calloc', 'realloc', 'reallocarray', 'free', 'strdup',
          'strndup', 'asprintf', 'vasprintf', 'getline', 'open_memstream'),
     r'src/.*', r'src/base/alloc\.c|src/cli/text\.c',
     'memory comes from src/base/alloc.h'),
    (call('clock_gettime', 'time', 'gettimeofday', 'clock', 'ftime'),
     r'src/.*', r'src/base/time\.c|src/cli/clock\.c',
     'clocks are read in src/base/time.c'),
    (r'\bpthread_\w+', r'src/.*', r'src/base/(thread\.[ch]|fork\.c)|src/cli/claim\.c',
     'threads come from src/base/thread.h'),
    (r'\bEXPECT(?:_IS|_LESS)?\([^;]*\b(?:inside|clashes|fallen)\b',
     r'tests/.*', None, 'two inside is EXPECT_SAFE'),
    (r'\bEXPECT_MORE\([^;,]*fence[^;,]*,(?!\s*(?:0\)|UINT64_C))',
     r'tests/.*', None, 'a fence that falls is EXPECT_SAFE'),
    (r'^[ \t]*#[ \t]*(?:if|elif)', r'(src|include)/.*',
     r'src/base/.*|src/backend/backend\.c', 'choose by file, not by #if'),
)
TEXT = (
    (r'\b(?:TODO|FIXME|XXX)\b', 'do it or leave it out'),
    (r'(?<![\w.])/(?:root|work|Users|home(?!/(?:a|me|app|alice)\b))/\w',
     'a path of one machine'),
)
# They name what they look for.
SELF = ('tools/check_banned.py', 'tests/house/rules.py')
GUARD = re.compile(r'#ifndef (HOLDFAST|HF)_\w*H\b|#ifdef __cplusplus$')


def line_of(text, position):
    return text.count('\n', 0, position) + 1


def check_code(name, text):
    code = house.blank(text)
    lines = code.split('\n')
    for pattern, where, allowed, why in CODE:
        if not re.fullmatch(where, name):
            continue
        if allowed and re.fullmatch(allowed, name):
            continue
        for match in re.finditer(pattern, code, re.M):
            number = line_of(code, match.start())
            if not GUARD.match(lines[number - 1].strip()):
                what = match[0].strip(' \t(')
                yield f'{name}:{number}: {what}: {why}'


def check_comments(name, text):
    bare = re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"',
                  lambda m: re.sub(r'[^\n]', ' ', m[0]), text, flags=re.S)
    for match in re.finditer(r'//', bare):
        yield f'{name}:{line_of(bare, match.start())}: //: use /* */'


def check(tree):
    for name, text in house.c_files(tree):
        yield from check_code(name, text)
        if name.endswith(('.c', '.h')):
            yield from check_comments(name, text)
    for name, text in house.all_files(tree):
        for pattern, why in TEXT if name not in SELF else ():
            for match in re.finditer(pattern, text):
                yield f'{name}:{line_of(text, match.start())}: {match[0]}: {why}'


if __name__ == '__main__':
    house.finish(check(house.root()))
