#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the outside sees: each header stands alone in C11 and C++17, its
library exports its functions, what modules need and nothing else, those for
rows need no client library of their own, and a call from a room to the one above
does not link.

    surface.py ROOT LIBRARY ROWS ROWS_POSTGRES BASE_ARCHIVE SANITIZE MYSQL_FOLDER
        POSTGRES_FOLDER MODULE... -- COMPILER...
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from tap import Tap

ROOT = pathlib.Path(sys.argv[1])
LIBRARY, ROWS, ROWS_POSTGRES, BASE, SANITIZE, MYSQL, POSTGRES = sys.argv[2:9]
MODULES = sys.argv[9:sys.argv.index('--')]
COMPILER = sys.argv[sys.argv.index('--') + 1:]
PRIVATE = 'HOLDFAST_PRIVATE_0'
MOST_EXPORTS = 80
FLAGS = ['-pedantic', '-Wall', '-Wextra', '-Werror', '-fsyntax-only']


def run(*command):
    ran = subprocess.run([str(c) for c in command], capture_output=True,
                         text=True, check=False)
    return ran.returncode, ran.stdout + ran.stderr


def check_header(tap, header):
    flags = [*FLAGS, '-isystem', MYSQL, '-isystem', POSTGRES]
    code, out = run(*COMPILER, '-std=c11', *flags, '-Wno-unused', '-x', 'c',
                    header)
    tap.ok(code == 0, f'{header.name} alone is C11', out)
    cxx = shutil.which(re.sub(r'gcc|clang', lambda m: {
        'gcc': 'g++', 'clang': 'clang++'}[m[0]], COMPILER[-1])
        if re.search('gcc|clang', COMPILER[-1]) else 'c++')
    if not cxx:
        tap.skip(f'{header.name} alone is C++17', 'no C++ compiler')
        return
    code, out = run(cxx, '-std=c++17', *flags, '-x', 'c++', header)
    tap.ok(code == 0, f'{header.name} alone is C++17', out)


def symbols(which, file):
    """Those of a shared object, as pairs: name, version or ''. Not what a
    sanitizer adds."""
    code, out = run('nm', '-D', which, file)
    assert code == 0, out
    words = [line.split() for line in out.splitlines()]
    return {tuple(re.split('@+', word[-1] + '@')[:2]) for word in words
            if word[-2] != 'A' and not word[-1].startswith('__odr_asan.')}


def check_exports(tap, headers, library):
    exported = symbols('--defined-only', library)
    names = {name for name, version in exported if version != PRIVATE}
    ours = {n for n in names if re.match(r'hf_[a-z]', n)}
    tap.ok(ours and names == ours,
           f'only hf_ names are exported for {headers[0].name}',
           sorted(names - ours))
    tap.ok(len(ours) <= MOST_EXPORTS,
           f'no more than {MOST_EXPORTS} names are exported', len(ours))
    text = re.sub(r'/\*.*?\*/', '', ''.join(
        header.read_text() for header in headers), flags=re.S)
    declared = set(re.findall(r'\b(hf_\w+)\s*\([^;{]*\)\s*;',
                              re.sub(r'\(\s*\*\s*\w+\s*\)', ' ', text)))
    tap.ok(declared == ours,
           f'what {headers[0].name} declares is what is exported',
           f'declared only: {sorted(declared - ours)}\n'
           f'exported only: {sorted(ours - declared)}')


def check_rows(tap, library):
    """The client library is the program's: two of them in one would each take
    the other's connections for its own."""
    name = pathlib.Path(library).name
    code, out = run('readelf', '-d', library)
    needed = re.findall(r'NEEDED.*\[(.*)\]', out)
    tap.ok(code == 0 and needed and not [name for name in needed if re.match(
        r'lib(mariadb|mysql|pq|holdfast)', name)],
        f'{name} brings no client library', out)
    lent = {name for name, version in symbols('--undefined-only', library)
            if name.startswith('hf_') or
            re.match('mysql_|PQ', name) and version}
    tap.ok(not lent, f'nor does {name} need a certain one', sorted(lent))


def check_private(tap):
    """What is marked HF_MODULE_API is what some module needs."""
    lent = {name for name, version in symbols('--defined-only', LIBRARY)
            if version == PRIVATE}
    needed = set()
    for module in MODULES:
        shown = {name for name, _ in symbols('--defined-only', module)}
        tap.ok(shown == {'hf__module'},
               f'{pathlib.Path(module).name} shows hf__module and no more',
               sorted(shown))
        needed |= {name for name, _ in symbols('--undefined-only', module)
                   if name.startswith('hf__')}
    tap.ok(needed and lent == needed,
           'modules are given the names that they need, and no more',
           f'HF_MODULE_API that no module needs: {sorted(lent - needed)}\n'
           f'needed without it: {sorted(needed - lent)}')


def link(folder, call):
    source = pathlib.Path(folder) / 'planted.c'
    source.write_text(f'void {call}(void);\n'
                      f'int main(void)\n{{\n    {call}();\n}}\n')
    flags = [] if SANITIZE == 'none' else [f'-fsanitize={SANITIZE}']
    return run(*COMPILER, *flags, source, '-o', source.with_suffix(''),
               BASE, '-pthread')


def check_upward_call(tap):
    with tempfile.TemporaryDirectory() as folder:
        code, out = link(folder, 'hf__free')
        tap.ok(code == 0, 'a call inside a room links', out)
        for call in ('hf_open', 'hf__backend_find'):
            code, out = link(folder, call)
            tap.ok(code != 0 and f'undefined reference to `{call}' in out,
                   f'an upward call from base to {call} does not link', out)


def main():
    tap = Tap()
    for names, library in ((('holdfast.h', 'holdfast-cell.h',
                            'holdfast-guard.h'), LIBRARY),
                           (('holdfast-mysql.h',), ROWS),
                           (('holdfast-postgres.h',), ROWS_POSTGRES)):
        headers = [ROOT / 'include' / name for name in names]
        for header in headers:
            check_header(tap, header)
        check_exports(tap, headers, library)
    check_header(tap, ROOT / 'include/holdfast-rows.h')
    check_rows(tap, ROWS)
    check_rows(tap, ROWS_POSTGRES)
    check_private(tap)
    check_upward_call(tap)
    tap.done()


if __name__ == '__main__':
    main()
