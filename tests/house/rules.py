#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the checkers of tools/ over the tree, and proves each of them on a
small tree of its own: clean it passes, and each planted breach is found at
its file and line.

    rules.py ROOT
"""
import pathlib
import subprocess
import sys
import tempfile

from tap import Tap

ROOT = pathlib.Path(sys.argv[1])
HEAD = '/* SPDX-License-Identifier: MIT */\n/*\n * One.\n * Two.\n */\n'
CLEAN = {
    'include/holdfast.h': HEAD + '#ifndef HOLDFAST_H\n#define HOLDFAST_H\n'
                                 '#include <stdint.h>\n#ifdef __cplusplus\n'
                                 'extern "C" {\n#endif\n#endif\n',
    'src/base/base.h': HEAD + '#include "include/holdfast.h"\n',
    'src/base/time.h': HEAD,
    'src/backend/backend.h': HEAD + '#include "src/base/base.h"\n',
    'src/backend/registry.h':
        HEAD + 'extern const struct hf__backend hf__sqlite_backend;\n'
               'extern const struct hf__backend hf__file_backend;\n'
               '#define HF__MODULAR_MAP(X) \\\n    X(redis, "rediss", "lib")\n',
    'src/backend/redis/redis.h': HEAD,
    'src/backend/redis/redis.c': HEAD + '#include "src/backend/redis/redis.h"'
                                        '\n#include <sys/stat.h>\n',
    'src/backend/sqlite/sqlite.c': HEAD + '#include <sqlite3.h>\n',
    'src/core/timer_thread.h': HEAD + '#include "src/backend/backend.h"\n',
    'src/core/grant_fsm.c': HEAD + '#include "src/base/base.h"\n'
                              '#include <stdint.h>\n',
    'src/core/below.c': HEAD + 'void hf__below(void)\n{\n    hf__mid();\n}\n',
    'src/core/over.c': HEAD + 'void hf__over(void)\n{\n    hf__below();\n}\n'
                              'static const int hf__own = 1;\n'
                              'const struct a hf__what = {1};\n',
    'src/cli/main.c': HEAD + '#include "include/holdfast.h"\n'
                             '#include <stdio.h>\n',
    'src/cli/meson.build': "cli_sources = files(\n  'main.c',\n)\n",
    'tools/circles.txt': '# None.\n',
    'tools/budgets.txt': ''.join(f'src/{room}/: 30\n' for room in (
        'base', 'backend', 'core', 'cli')),
    'tests/unit/a.c': HEAD + 'static int at(int a)\n{\n    return a;\n}\n',
}


def run(checker, tree):
    ran = subprocess.run(
        [sys.executable, ROOT / f'tools/check_{checker}.py', tree],
        capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout + ran.stderr


def plant(tree, files):
    for name, text in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def function(lines, signature='int f(void)'):
    return f'static {signature}\n{{\n' + ''.join(
        f'    {line}\n' for line in lines) + '}\n'


def calls(name, line):
    return f'void hf__{name}(void)\n{{\n    {line}\n}}\n'


def include(header):
    return HEAD + f'#include {header}\n'


LONG = ['f();'] * 60
DEEP = ['if (a) {', 'for (;;) {', 'EACH (x, y) {', 'if (b) {',
        'c = (struct s){1};', '}', '}', '}', '}']
FLAT = ['if (a) {', '} else if (b) {', '} else {',
        'c = (struct s){.d = {1}};', '}']
DIRTY = (
    # checker, file, text, line of the breach
    ('rooms', 'src/base/a.c', include('"src/core/timer_thread.h"'), 6),
    ('rooms', 'src/base/a.c', include('"time.h"'), 6),
    ('rooms', 'src/base/a.c', include('"src/base/none.h"'), 6),
    ('rooms', 'src/base/a.c', include('<sqlite3.h>'), 6),
    ('rooms', 'src/core/grant_fsm.c', include('<pthread.h>'), 6),
    ('rooms', 'src/core/grant_fsm.c', include('<stdio.h>'), 6),
    ('rooms', 'src/core/grant_fsm.c', include('"src/core/timer_thread.h"'), 6),
    ('rooms', 'src/core/grant_fsm.h', include('"src/backend/backend.h"'), 6),
    ('rooms', 'src/core/a.c', include('"src/backend/redis/redis.h"'), 6),
    ('rooms', 'src/core/a.c', include('<sqlite3.h>'), 6),
    ('rooms', 'src/cli/a.c', include('"src/base/base.h"'), 6),
    ('rooms', 'src/cli/a.c', include('"src/core/timer_thread.h"'), 6),
    ('rooms', 'src/backend/redis/a.c', include('<sqlite3.h>'), 6),
    ('rooms', 'src/backend/file/a.c', include('"src/core/timer_thread.h"'), 6),
    ('rooms', 'src/backend/file/a.c',
     include('"src/backend/redis/redis.h"'), 6),
    ('rooms', 'src/odd/a.c', include('<stdio.h>'), 6),
    ('rooms', 'src/core/a.c', HEAD + 'f(url, "redis");\n', 6),
    ('rooms', 'src/core/a.c', HEAD + 'f("of redis://a or so");\n', 6),
    ('rooms', 'src/base/a.c', HEAD + '#define A "rediss://"\n', 6),
    ('rooms', 'src/cli/a.c', HEAD + '/* "redis" */\nf("else SQLite");\n', 7),
    ('rooms', 'src/cli/a.c', HEAD + 'f(\'"\', "file:/a");\n', 6),
    ('rooms', 'src/backend/load.c', HEAD + 'f(&hf__file_backend);\n', 6),
    ('rooms', 'src/backend/name/a.c', HEAD + 'f("redis");\n', 6),
    ('sizes', 'src/base/a.c', HEAD[3:], 1),
    ('sizes', 'src/base/a.c',
     HEAD.split('\n')[0] + '\n/* One line is no head. */\n', 2),
    ('sizes', 'src/base/a.c', '\n'.join(HEAD.split('\n')[:1]) + '\n', 2),
    ('sizes', 'src/base/a.c', HEAD.replace('One.', '').replace('Two.', ''), 2),
    ('sizes', 'src/base/a.c', HEAD.replace(' * Two.\n', ' * Two.\n' * 15), 2),
    ('sizes', 'src/base/a.c', HEAD + '\n' * 595 + 'int a;\n', 601),
    ('sizes', 'src/base/a.h', HEAD + '\n' * 195 + 'int a;\n', 201),
    ('sizes', 'include/a.h', HEAD + '\n' * 695 + 'int a;\n', 701),
    ('sizes', 'src/backend/redis/a.c', HEAD + '\n' * 695 + 'int a;\n', 701),
    ('sizes', 'tests/unit/a.c', HEAD + '\n' * 395 + 'int a;\n', 401),
    ('sizes', 'src/base/a.c', HEAD + 'int ' + 'a' * 76 + ';\n', 6),
    ('sizes', 'src/base/a.c', HEAD + function(LONG), 6),
    ('sizes', 'src/base/a.c', HEAD + function(DEEP), 6),
    ('sizes', 'src/base/a.c',
     HEAD + function([], 'int f(int a, int (*b)(int, int), int c, int d,\n'
                         '             int e, int f, int g)'), 6),
    ('banned', 'tests/unit/a.c', HEAD + 'goto end;\n', 6),
    ('banned', 'tests/unit/a.c', HEAD + 'int a; // short\n', 6),
    ('banned', 'src/base/a.c', HEAD + 'sprintf(a, "b");\n', 6),
    ('banned', 'src/base/a.c', HEAD + 'a = b + atoi(c);\n', 6),
    ('banned', 'tests/unit/a.c', HEAD + 'sleep(1);\n', 6),
    ('banned', 'src/base/a.c', HEAD + 'p = malloc(1);\n', 6),
    ('banned', 'tests/a.c', HEAD + 'EXPECT_IS(load(&page->inside), 1);\n', 6),
    ('banned', 'tests/a.c', HEAD + 'EXPECT(p.clashes == 0);\n', 6),
    ('banned', 'tests/a.c', HEAD + 'EXPECT_MORE(hf_fence(b), hf_fence(a));\n',
     6),
    ('banned', 'src/core/a.c', HEAD + 'free(p);\n', 6),
    ('banned', 'src/cli/a.c', HEAD + 'p = strdup(q);\n', 6),
    ('banned', 'src/core/a.c', HEAD + 'now = time(NULL);\n', 6),
    ('banned', 'src/base/log.c', HEAD + 'clock_gettime(a, b);\n', 6),
    ('banned', 'src/core/a.c', HEAD + 'pthread_mutex_t m;\n', 6),
    ('banned', 'src/core/a.c', HEAD + '#if 0\n#endif\n', 6),
    ('banned', 'src/core/a.c', HEAD + '#ifdef __linux__\n#endif\n', 6),
    ('banned', 'include/a.h', HEAD + '#ifdef __linux__\n#endif\n', 6),
    ('banned', 'src/base/a.c', HEAD + '/* TO' 'DO */\n', 6),
    ('banned', 'docs/a.md', 'x FIX' 'ME x\n', 1),
    ('banned', 'tools/a.sh', '\ncd /' 'root/b\n', 2),
    ('circles', 'src/core/below.c', HEAD + calls('below', 'hf__over();'), 1),
    ('circles', 'src/core/below.c', HEAD + calls('below', 'a(&hf__what);'), 1),
    ('circles', 'src/core/mid.h',
     HEAD + 'static inline ' + calls('mid', 'hf__over();'), 1,
     'src/core/below.c:1:'),
    ('circles', 'src/base/a.c',
     HEAD + calls('mid', 'hf__over();'), 1, 'src/base/a.c:1:'),
    ('circles', 'tools/circles.txt', '\nsrc/core: below.c over.c\n', 2),
    ('budgets', 'src/core/a.c', HEAD + 'int a;\n' * 30, 1,
     'tools/budgets.txt:3:'),
    ('budgets', 'src/odd/a.c', HEAD, 1),
    ('budgets', 'tools/budgets.txt', 'src/: 500\n', 1),
    ('budgets', 'tools/budgets.txt', 'src/: 60\nsrc/none/: 1\n', 2),
    ('lists', 'src/cli/b.c', HEAD, 1),
    ('lists', 'src/cli/meson.build',
     "a = files(\n  'main.c',\n  'gone.c',\n)\n", 1),
    ('pages', 'docs/a.md', 'a' * 121 + '\n', 1),
    ('pages', 'docs/a.md', '## Too long\n' + 'a\n' * 200, 1),
    ('pages', 'docs/b/a.md',
     '## Contents\n\n- [A](#a)\n\n## A\n\n## New\n' + 'a\n' * 200, 1),
    ('pages', 'ARCHITECTURE.md', 'a b c\n' * 501, 1),
    ('pages', 'README.md', 'a\n[a](docs/none.md)\n', 2),
    ('pages', 'README.md', '# A\n[b](#b)\n', 2),
    ('pages', 'docs/a.md', '[a](a.md#b)\n', 1),
    ('pages', 'docs/a.md',
     'a\n`src/cli/main.c` has\nfewer than 100 lines\n', 2),
    ('pages', 'docs/a.md', '`src/core/` has fewer than 100 lines\n', 1),
    ('pages', 'docs/rows.md', 'a\n`gone.c`\n', 2),
    ('pages', 'docs/stores/redis.md', '`redis.c` `sqlite.c`\n', 1),
    ('pages', 'docs/stores/redis.md', '`sqlite/redis.c`\n', 1),
)
HARMLESS = (
    ('rooms', 'src/core/a.c', HEAD + '/* As redis, or "sqlite:". */\n'),
    ('rooms', 'src/cli/a.c', HEAD + 'f("no file: %s", "predis", redis);\n'),
    ('rooms', 'src/backend/registry.c', HEAD + 'f("redis");\n'),
    ('rooms', 'src/backend/redis_two/a.c', HEAD + 'f("redis://");\n'),
    ('rooms', 'tests/unit/a.c', HEAD + 'f("redis://");\n'),
    ('circles', 'src/core/below.c',
     HEAD + calls('below', 'struct hf__over *a = b->hf__over + c.hf__over;')),
    ('circles', 'src/core/below.c', HEAD + '/* Of hf__over(). */\n' +
     calls('below', 'f("hf__over()");')),
    ('circles', 'src/core/below.c', HEAD + calls('below', 'hf__own;')),
    ('circles', 'src/backend/redis/a.c', HEAD + calls('over', 'hf__below();')),
    ('budgets', 'src/core/a.c', HEAD + '/*\n * a\n */\n\n' * 30),
    ('budgets', 'src/backend/redis/a.lua', '-- One.\n\n' * 30),
    ('sizes', 'src/base/a.c', HEAD + function(LONG[:57])),
    ('sizes', 'src/base/a.c', HEAD + function(FLAT + DEEP[1:4] + ['}'] * 3)),
    ('sizes', 'src/base/a.c',
     HEAD + function([], 'int f(int a, int (*b)(int, int), int c)')),
    ('banned', 'src/core/a.c', HEAD + '/* No goto, no malloc() here. */\n'),
    ('banned', 'src/core/a.c', HEAD + 'f("goto // malloc(1)", \'"\');\n'),
    ('banned', 'src/core/a.c', HEAD + 'hf__free(p); runtime(a); s.free(x);\n'),
    ('banned', 'src/core/a.h', HEAD + '#ifndef HF_A_H\n#endif\n'),
    ('banned', 'src/base/alloc.c', HEAD + 'p = malloc(1);\n'),
    ('pages', 'docs/a.md', '```\n' + 'a' * 121 + '\n[a](b.md)\n```\n'),
    ('pages', 'docs/a.md',
     '## Contents\n\n- [`A`, a b](#a-a-b)\n  - [A](#a)\n\n'
     '## `A`, a b\n\n### A\n' + 'a\n' * 200),
    ('pages', 'docs/a.md', '[a](#b-1) [a](https://b)\n# B\n# B\n'),
    ('pages', 'docs/a.md', '`src/core/` has fewer than 50 lines\n'),
    ('pages', 'docs/a.md', '`gone.c`\n'),
    ('pages', 'docs/rows.md', '`grant_fsm.c` `cli/main.c` `src/NAME/gone.c`\n'),
    ('pages', 'docs/stores/redis.md', '`redis.c` `sqlite/sqlite.c`\n'),
    ('pages', 'docs/stores/redis.md', '`src/backend/sqlite/` `sqlite.c`\n'),
    ('banned', 'tests/a.c', HEAD + 'p = mkdtemp("XXXXXX");\n'),
    ('banned', 'tests/a.c', HEAD + 'EXPECT_SAFE_IS(load(&page->inside), 1);\n'
                                   'EXPECT_SAFE_MORE(b.fence, a.fence);\n'
                                   'EXPECT_MORE(a.fence, 0);\n'
                                   'EXPECT(s(".inside"));\n'),
)


def name_of(file, text, head=HEAD):
    last = text.removeprefix(head).strip().split('\n')[0][:40]
    return f'{file}: {last}'.replace('#', '')


def main():
    tap = Tap()
    CLEAN['tools/rooms.txt'] = (ROOT / 'tools/rooms.txt').read_text()
    checkers = ('rooms', 'sizes', 'banned', 'lists', 'circles', 'budgets',
                'pages')
    for checker in checkers:
        code, out = run(checker, ROOT)
        tap.ok(code == 0, f'{checker}: the tree keeps them', out)
    with tempfile.TemporaryDirectory() as folder:
        for number, (checker, file, text, line, *at) in enumerate(DIRTY):
            tree = pathlib.Path(folder) / str(number)
            plant(tree, CLEAN)
            before, out = run(checker, tree)
            plant(tree, {file: text})
            code, out_after = run(checker, tree)
            where = f'{file}:{line}:' if checker != 'lists' else 'meson.build:'
            where = at[0] if at else where
            tap.ok(before == 0 and code == 1 and where in out_after and
                   out_after.count('\n') == 1,
                   f'{checker} finds a breach in {name_of(file, text)}',
                   out + out_after + f'expected one finding at {where}')
        for number, (checker, file, text) in enumerate(HARMLESS):
            tree = pathlib.Path(folder) / f'harmless{number}'
            plant(tree, {**CLEAN, file: text})
            code, out = run(checker, tree)
            tap.ok(code == 0, f'{checker} allows {name_of(file, text)}', out)
    tap.done()


if __name__ == '__main__':
    main()
