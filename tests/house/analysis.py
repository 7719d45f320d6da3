#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Proves tools/analyze.sh on a small project of its own, clean and with one
mistake for each analyzer, and tools/count_tap.py on the logs that memcheck
and the sanitizers leave.

    analysis.py ROOT
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from tap import Tap

ROOT = pathlib.Path(sys.argv[1])
TOOLS = {'gcc': ('gcc -fanalyzer', 'gcc'), 'cppcheck': ('cppcheck',) * 2,
         'tidy': ('clang-tidy',) * 2}
PARTS = ('.clang-tidy', 'tools/analyze.sh', 'tools/cppcheck.cfg',
         'tools/cppcheck.supp')
MESON = "project('p', 'c')\nexecutable('p', 'src/a.c')\n"
CLEAN = '''\
#include <stdlib.h>

int main(void)
{
    int *p = malloc(sizeof *p);

    if (p) {
        *p = 1;
    }
    free(p);
    return 0;
}
'''
BREACHES = {
    'gcc': (CLEAN.replace('    if (p) {\n        *p = 1;\n    }\n',
                          '    *p = 1;\n'), 7),
    'cppcheck': (CLEAN.replace('    free(p);\n',
                               '    int a[2] = {0};\n    free(p);\n'
                               '    if (a[1] & 4 == 4) {\n'
                               '        return a[2];\n    }\n'), 13),
    'tidy': (CLEAN.replace('    free(p);\n',
                           '    free(p);\n    p = malloc(2 * sizeof p);\n'),
             11),
}


def analyze(folder, part, source):
    (folder / 'src').mkdir(exist_ok=True)
    (folder / 'src/a.c').write_text(source)
    env = {**os.environ, 'BUILD': 'build'}
    ran = subprocess.run(['tools/analyze.sh', part], cwd=folder, env=env,
                         capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout + ran.stderr


def prove(tap, folder, part):
    title, tool = TOOLS[part]
    names = (f'{title} finds nothing in what is right',
             f'{title} finds a mistake')
    if not shutil.which(tool):
        for name in names:
            tap.skip(name, f'needs {tool}')
        return
    code, out = analyze(folder, part, CLEAN)
    tap.ok(code == 0 and f'{title}: 1 ' in out and ', 0 findings' in out,
           names[0], out)
    source, line = BREACHES[part]
    code, out = analyze(folder, part, source)
    found = re.search(rf'src/a\.c:{line}:', out)
    tap.ok(code == 1 and found and re.search(r', [1-9]\d* findings', out),
           names[1], out)


def count(folder, *arguments, **run):
    log = folder / 'log.json'
    log.write_text(json.dumps({'name': 'a', 'result': 'OK', **run}) + '\n')
    ran = subprocess.run([sys.executable, ROOT / 'tools/count_tap.py',
                          *arguments, log], capture_output=True, text=True,
                         check=False)
    return ran.returncode, ran.stdout


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / 'tools').mkdir()
        for part in PARTS:
            shutil.copy(ROOT / part, folder / part)
        (folder / 'meson.build').write_text(MESON)
        for part in TOOLS:
            prove(tap, folder, part)
        good = 'ok 1 - a\n1..1\n'
        tap.ok(count(folder, '--passed', '2', stdout=good) ==
               (0, '0 do not apply\n0 passed when tried again alone\n'
                '3 passed, 0 failed, 0 skipped\n'),
               'what passed elsewhere is added')
        code, out = count(folder, '--total', stdout=good.replace('1..1', (
            'ok 2 - b # SKIP does not apply: needs x\n'
            'ok 3 - c # SKIP no server\n1..3')))
        tap.ok((code, out) ==
               (0, '1 do not apply\n0 passed when tried again alone\n'
                '1 passed, 0 failed, 1 skipped\n'),
               'what does not apply is neither passed nor skipped', out)
        skipped = 'ok 1 - a # SKIP needs root\n1..1\n'
        tap.ok(count(folder, stdout=skipped)[1].endswith(', 1 skipped\n'),
               'a skip is counted')
        (folder / 'log.json').rename(folder / 'user.json')
        tap.ok(count(folder, folder / 'user.json', stdout=good)[1].endswith(
            '\n1 passed, 0 failed, 0 skipped\n'),
               'but not if the same passed elsewhere')
        for where, report in (('stdout', '#   ==12== 8 bytes are lost\n'),
                              ('stderr', '==12==ERROR: a sanitizer\n')):
            logs = {'stdout': good, 'stderr': ''}
            logs[where] += report
            code, out = count(folder, **logs)
            tap.ok(code == 1 and '1 passed, 1 failed' in out,
                   f'a report in {where} is a failure', out)
    tap.done()


main()
