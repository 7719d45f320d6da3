#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stores as modules: where they are looked for and where not, what is said of
one that cannot be used, and that threads and forks find one store.

    modules.py HOLDFAST LIBRARY GONE VISITOR PLUG

The library is one of these tests, whose table has modules made here. A case
puts what it needs in a folder of its own.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / 'house'))
from tap import Tap  # noqa: E402

HOLDFAST, LIBRARY, GONE, VISITOR, PLUG = (
    pathlib.Path(word).absolute() for word in sys.argv[1:])
BUILT = LIBRARY.parent
SONAME = 'libholdfast.so.0'
ALL = ('dummy', 'slow', 'needy', 'holey', 'stale', 'odd')
ENVIRONMENT = {key: value for key, value in os.environ.items()
               if key == 'PATH' or key.endswith('SAN_OPTIONS')}


class Place:
    """A folder with the library, and modules in places below it."""

    def __init__(self, folder, modules=ALL, where='lib/holdfast'):
        self.folder = pathlib.Path(folder)
        self.lib = self.folder / 'lib'
        self.lib.mkdir()
        shutil.copy(LIBRARY, self.lib / SONAME)
        self.put(modules, where)

    def put(self, modules, where):
        (self.folder / where).mkdir(exist_ok=True)
        for name in modules:
            shutil.copy(BUILT / f'holdfast-{name}.so', self.folder / where)

    def run(self, *command, path=None, cwd='/'):
        env = {**ENVIRONMENT, 'LD_LIBRARY_PATH': str(path or self.lib)}
        return subprocess.run([str(word) for word in command], env=env,
                              cwd=cwd, capture_output=True, text=True,
                              timeout=100, check=False)

    def visit(self, *words, **options):
        return self.run(VISITOR, *words, **options)


cases = []


def case(function):
    cases.append(function)
    return function


def same(tap, ran, code, out, name):
    tap.ok((ran.returncode, ran.stdout) == (code, out), name, ran)


def refused(tap, ran, name, *words):
    """With HF_ENOTSUP, and a text that has the words."""
    tap.ok(ran.returncode == 1 and 'open: HF_ENOTSUP ' in ran.stdout and
           all(str(word) in ran.stdout for word in words), name, ran)


@case
def found_beside(tap, folder):
    place = Place(folder)
    for url in ('dummy:', 'puppet:', 'stand-in:', 'fault+dummy:',
                'fault+puppet:'):
        same(tap, place.visit('lock', url), 0, 'held, fence 1\n',
             f'{url} is loaded from the folder holdfast beside the library')
    same(tap, place.visit('open', 'dummy:refuse'), 1,
         'open: HF_EAUTH dummy refuses\n', "a module's own error comes through")
    ran = place.visit('open', 'pupp:')
    tap.ok('HF_EINVAL' in ran.stdout, 'part of a name is no name', ran)


@case
def found_in_a_build_folder(tap, folder):
    place = Place(folder, where='lib')
    same(tap, place.visit('lock', 'dummy:'), 0, 'held, fence 1\n',
         'a module is loaded from right beside the library')
    ran = subprocess.run([VISITOR, 'lock', 'dummy:'], env=ENVIRONMENT,
                         capture_output=True, text=True, check=False)
    same(tap, ran, 0, 'held, fence 1\n', 'and so from the build folder')


@case
def found_by_a_relative_path(tap, folder):
    place = Place(folder)
    ran = place.visit('chdir', '/', 'dummy:', path='lib', cwd=folder)
    same(tap, ran, 0, 'held, fence 1\n',
         'a library of a relative path finds its modules after chdir()')


@case
def found_behind_a_link(tap, folder):
    place = Place(folder)
    other = pathlib.Path(folder) / 'other'
    other.mkdir()
    (other / SONAME).symlink_to(place.lib / SONAME)
    same(tap, place.visit('lock', 'dummy:', path=other), 0,
         'held, fence 1\n', 'the modules are beside the file, not beside a link')


@case
def found_by_a_private_library(tap, folder):
    place = Place(folder)
    same(tap, place.run(PLUG, place.lib / SONAME, 'dummy:'), 0, '',
         'a library loaded with RTLD_LOCAL is the one that its module uses')


@case
def not_found_elsewhere(tap, folder):
    place = Place(folder, modules=())
    place.put(ALL, 'elsewhere')
    elsewhere = place.folder / 'elsewhere'
    paths = f'{place.lib}:{elsewhere}'
    ran = place.visit('open', 'dummy:', path=paths, cwd=elsewhere)
    refused(tap, ran, 'neither LD_LIBRARY_PATH nor the current folder is '
            'searched', 'not installed', 'holdfast-dummy.so',
            place.lib / 'holdfast', 'libsome1')
    place.put(['dummy'], 'lib/holdfast')
    same(tap, place.visit('lock', 'dummy:'), 0, 'held, fence 1\n',
         'the same program finds it where it belongs')


@case
def refused_ones(tap, folder):
    place = Place(folder)
    modules = place.lib / 'holdfast'
    shutil.copy(GONE, modules / 'holdfast-alien.so')
    shutil.copy(modules / 'holdfast-dummy.so', modules / 'holdfast-wrong.so')
    refused(tap, place.visit('open', 'absent:'), 'a missing module is named',
            'holdfast-absent.so', modules, 'libsome1')
    refused(tap, place.visit('open', 'needy:'),
            'a missing library of a module is named',
            modules / 'holdfast-needy.so', GONE.name, 'libsome1')
    refused(tap, place.visit('open', 'holey:'),
            'a function that the library does not have is named',
            modules / 'holdfast-holey.so', 'hf__not_there')
    refused(tap, place.visit('open', 'stale:'), 'another version is refused',
            modules / 'holdfast-stale.so', '0.0.7', 'of one version')
    refused(tap, place.visit('open', 'odd:'), 'another contract is refused',
            modules / 'holdfast-odd.so', 'of one build')
    refused(tap, place.visit('open', 'alien:'),
            'what is no module is refused', 'is no module')
    refused(tap, place.visit('open', 'wrong:'),
            'the module of another store is refused', 'the store "dummy"')
    refused(tap, place.visit('open', 'fault+absent:'),
            'a decorated one says the same', 'holdfast-absent.so')
    (modules / 'holdfast-alien.so').write_text('nonsense')
    refused(tap, place.visit('open', 'alien:'), 'nonsense is refused',
            'holdfast-alien.so')


@case
def mended_ones(tap, folder):
    place = Place(folder)
    shutil.copy(GONE, place.folder / GONE.name)
    same(tap, place.visit('lock', 'needy:', path=f'{place.lib}:{folder}'), 0,
         'held, fence 1\n', 'with its library the module is loaded')
    (place.lib / 'holdfast/holdfast-absent.so').symlink_to('holdfast-absent.so')
    ran = place.visit('open', 'absent:')
    tap.ok('HF_EUNAVAIL' in ran.stdout and 'holdfast-absent.so' in ran.stdout,
           'a module that cannot be opened is said', ran)


@case
def together(tap, folder):
    place = Place(folder)
    ran = place.visit('threads', 'slow:')
    same(tap, ran, 0, 'winners 1\n', 'threads that load at once get one store')
    tap.ok(ran.stderr.count('loading') == 1, 'it is loaded once', ran)


@case
def forks(tap, folder):
    place = Place(folder)
    ran = place.visit('forks', 'slow:')
    same(tap, ran, 0, 'whole 1\nchild 0\n',
         'a child forked while a module was being loaded can load')
    ran = place.visit('inherits', 'dummy:')
    same(tap, ran, 0, 'held, fence 1\nchild 0\n',
         'a module that was loaded before a fork works in the child')


@case
def hidden(tap, folder):
    place = Place(folder)
    same(tap, place.visit('hides', 'dummy:'), 0, 'seen 0\n',
         'what a module has is shown to nobody else')


@case
def one_heap(tap, folder):
    place = Place(folder)
    same(tap, place.visit('allocates', 'dummy:'), 0, 'allocated 1\n',
         "a module's memory comes from the program's allocator")


@case
def the_command(tap, folder):
    place = Place(folder, modules=('dummy', 'stale'))
    ran = place.run(HOLDFAST, 'backends')
    lines = ran.stdout.splitlines()
    tap.ok(ran.returncode == 0 and 'dummy' in lines and
           any(line.startswith('absent (cannot be used: ') and
               'holdfast-absent.so' in line for line in lines),
           'backends lists what can be used, and why another cannot', ran)
    ran = place.run(HOLDFAST, 'backends', '--json')
    told = json.loads(ran.stdout)
    unusable = {one['store']: one['reason'] for one in told['unusable']}
    tap.ok({'dummy', 'stale', 'sqlite'} <= set(told['backends']) and
           'dummy' not in unusable and '0.0.7' in unusable['stale'],
           'as JSON, too', ran)
    ran = place.run(HOLDFAST, 'run', '--reach', 'process', '--url',
                    'dummy:', 'job', '--', 'true')
    same(tap, ran, 0, '', 'a command runs under a lock of a module')
    ran = place.run(HOLDFAST, 'run', '--url', 'stale:', 'job', '--', 'true')
    tap.ok(ran.returncode == 77 and '0.0.7' in ran.stderr,
           'a module that does not fit is exit 77', ran)


def main():
    tap = Tap()
    for function in cases:
        with tempfile.TemporaryDirectory() as folder:
            function(tap, folder)
    tap.done()


main()
