#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Proves when the Makefile configures, and what its check runs: with a set-up,
a meson and a list of installed packages that are made of straw.

    front.py ROOT
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from tap import Tap

ROOT = pathlib.Path(sys.argv[1])
# The set-up installs what the file `missing` says, as apt would.
SETUP = '#!/bin/sh\n[ ! -f missing ] || { rm missing; touch packages; }\n'
MESON = '''#!/bin/sh
echo "$*" >>said
case $1 in
setup) mkdir -p build; touch build/build.ninja ;;
test) printf '%s\\n' 'h:unit / base' 'h:contract / store redis 1/4' \\
    'h:contract+soak / api redis 1/8' 'h:store / store_redis wait ends' \\
    'h:cli / redis store' 'h:contract / store redlock 1/4' ;;
esac
'''


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def make(folder, *arguments):
    """What meson was asked for."""
    env = {**os.environ, 'PATH': f'{folder}/bin:{os.environ["PATH"]}'}
    for name in ('MAKEFLAGS', 'MFLAGS', 'MAKELEVEL', 'BUILD', 'SETUP',
                 'HOLDFAST_URL'):
        env.pop(name, None)
    (folder / 'said').write_text('')
    ran = subprocess.run(
        ['make', '-f', ROOT / 'Makefile', 'PACKAGES=packages', *arguments],
        cwd=folder, env=env, capture_output=True, text=True, check=False)
    return (ran.returncode, (folder / 'said').read_text().split('\n')[:-1],
            ran.stdout + ran.stderr)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program(folder / 'bin/meson', MESON)
        program(folder / 'tools/setup.sh', SETUP)
        program(folder / 'tools/run_tests.sh',
                '#!/bin/sh\nshift; printf ">%s" "$@"; echo\n')
        shutil.copy(ROOT / 'tools/check.sh', folder / 'tools')
        program(folder / 'examples/demo.sh', '#!/bin/sh\n')
        (folder / 'packages').touch()
        code, said, out = make(folder, 'demo', 'SETUP=-Dx=y')
        tap.ok(code == 0 and said[:1] == ['setup build -Dx=y'],
               'what is not configured is configured', (said, out))
        tap.ok(said[1:] == ['compile -C build holdfast:executable '
                            'contend:executable'], 'a demo is built', said)
        code, said, out = make(folder, 'demo', 'HOLDFAST_URL=redis://db/0')
        tap.ok(code == 0 and said == ['compile -C build demo'],
               'a demo of another store is built with its module', (said, out))
        program(folder / 'build/examples/stock', '#!/bin/sh\necho ">$*"\n')
        for url, words in (('', 'stock:executable'), ('mysql://db/x', 'shop')):
            code, said, out = make(folder, 'stock', f'HOLDFAST_URL={url}')
            tap.ok(code == 0 and said == [f'compile -C build {words}'] and
                   '>--svg build/stock.svg' in out,
                   f'the order system is built and run ({words})', (said, out))
        code, said, out = make(folder, 'test')
        tap.ok(code == 0 and said == ['compile -C build'],
               'what is configured stays so', (said, out))
        (folder / 'missing').touch()
        code, said, out = make(folder, 'test')
        tap.ok(code == 0 and said == ['setup --reconfigure build',
                                      'compile -C build'],
               'what was installed since is found', (said, out))
        code, said, out = make(folder, 'test')
        tap.ok(code == 0 and said == ['compile -C build'],
               'and found once', (said, out))
        for store, words in (
                ('redis', '>base>store redis 1/4>store_redis wait ends>redis '
                          'store\n'), ('', '>base\n'),
                ('nothing', 'there is no STORE=nothing, but: redis redlock')):
            code, said, out = make(folder, 'check', f'STORE={store}')
            tap.ok((code != 0) == (store == 'nothing') and words in out,
                   f'make check STORE={store}', out)
        (folder / 'packages').unlink()
        code, said, out = make(folder, 'test')
        tap.ok(code == 0 and said == ['compile -C build'],
               'a system without such a list is left alone', (said, out))
    tap.done()


main()
