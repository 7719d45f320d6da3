# SPDX-License-Identifier: MIT
"""Which store is used: --url, HOLDFAST_URL, the user's and the system's
configuration, the default. Each test runs in a mount namespace with an /etc
and a /var/lib of its own, so that it needs root."""
import json
import os
import shutil

import harness
from harness import case

USER = 4242
SETUP = ('mount --make-rprivate / && mount --bind "$1/etc" /etc && '
         'mount --bind "$1/lib" /var/lib && '
         'mount --bind "$1/tmp" /var/tmp && shift && ')
AS_USER = (f'exec setpriv --reuid {USER} --regid {USER} --clear-groups '
           '--no-new-privs "$@"')


class World:
    """Root, a user whose home is t.dir/home, and their configurations."""

    def __init__(self, t):
        if os.geteuid():
            raise harness.Skipped('needs root')
        self.t = t
        self.holdfast, _ = t.copy_for_all()
        t.env['HOLDFAST_URL'] = None
        self.home = t.dir / 'home'
        self.root_home = t.dir / 'root'
        for path in (self.home, self.root_home, t.dir / 'lib', t.dir / 'tmp',
                     t.dir / 'etc/holdfast'):
            path.mkdir(parents=True)
        (t.dir / 'tmp').chmod(0o1777)
        os.chown(self.home, USER, USER)
        for name in ('ld.so.cache', 'ld.so.conf', 'nsswitch.conf', 'group'):
            if os.path.exists(f'/etc/{name}'):
                shutil.copy(f'/etc/{name}', t.dir / 'etc')
        self.passwd(self.home)

    def passwd(self, home):
        (self.t.dir / 'etc/passwd').write_text(
            f'root:x:0:0::{self.root_home}:/bin/sh\n'
            f'user:x:{USER}:{USER}::{home}:/bin/sh\n')

    def user_config(self, text):
        path = self.home / '.config/holdfast/config'
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def system_config(self, text):
        (self.t.dir / 'etc/holdfast/config').write_text(text)

    def run(self, *args, user=True, **env):
        script = SETUP + (AS_USER if user else 'exec "$@"')
        return self.t.spawn(
            ['unshare', '--mount', 'sh', '-c', script, 'sh', self.t.dir,
             self.holdfast, *args], env=env).wait()

    def store(self, *args, user=True, **env):
        result = self.run('who', '--json', *args, 'job', user=user, **env)
        self.t.code(result, 1)
        return json.loads(result.out)['store']


def default_of(world):
    return f'sqlite:{world.home}/.local/state/holdfast/locks.db'


@case
def the_first_of_five_places_wins(t):
    world = World(t)
    at = {name: f'sqlite:{world.home}/{name}.db'
          for name in ('option', 'variable', 'user', 'system')}
    t.equal(world.store(), default_of(world), 'the default')
    world.system_config(f'url = {at["system"]}\n')
    t.equal(world.store(), at['system'], 'the system over the default')
    world.user_config(f'# mine\n\n  url={at["user"]}  # here\n')
    t.equal(world.store(), at['user'], 'the user over the system')
    t.equal(world.store(HOLDFAST_URL=at['variable']), at['variable'],
            'HOLDFAST_URL over the user')
    t.equal(world.store('--url', at['option'], HOLDFAST_URL=at['variable']),
            at['option'], '--url over all')
    t.equal(world.store(HOLDFAST_URL=''), at['user'], 'empty is not set')


@case
def home_is_the_passwd_entry_and_never_the_variable(t):
    world = World(t)
    for home in (None, '/', str(t.dir / 'elsewhere'), ''):
        t.equal(world.store(HOME=home, XDG_CONFIG_HOME=home,
                            XDG_STATE_HOME=home), default_of(world), home)
    world.user_config(f'url = sqlite:{world.home}/mine.db\n')
    t.equal(world.store(HOME='/'), f'sqlite:{world.home}/mine.db', 'config')
    result = world.run('run', 'job', '--', 'printenv', 'HOME', HOME='/x')
    t.equal(result.out, '/x\n', "the command's HOME")


def mode(path):
    return oct(path.stat().st_mode & 0o7777)


@case
def what_the_default_makes_is_private(t):
    world = World(t)
    t.code(world.run('run', 'job', '--', 'true'), 0)
    folder = world.home / '.local/state/holdfast'
    for path in (folder, folder.parent, folder.parent.parent):
        t.equal(mode(path), '0o700', str(path))
        t.equal(path.stat().st_uid, USER, str(path))
    for path in folder.iterdir():
        t.equal(mode(path), '0o600', str(path))
    t.check((folder / 'locks.db').exists(), 'locks.db')


@case
def the_folders_that_are_there_stay_as_they_are(t):
    world = World(t)
    local = world.home / '.local'
    local.mkdir(mode=0o755)
    os.chown(local, USER, USER)
    t.code(world.run('run', 'job', '--', 'true'), 0)
    t.equal(mode(local), '0o755', '.local')
    t.equal(mode(local / 'state/holdfast'), '0o700', 'holdfast')


@case
def roots_default_is_the_system_folder(t):
    world = World(t)
    t.equal(world.store(user=False), 'sqlite:/var/lib/holdfast/locks.db',
            'store')
    t.code(world.run('run', 'job', '--', 'true', user=False), 0)
    t.equal(mode(t.dir / 'lib/holdfast'), '0o700', 'folder')
    t.equal(mode(t.dir / 'lib/holdfast/locks.db'), '0o600', 'file')


@case
def two_users_do_not_share_the_default(t):
    world = World(t)
    script = '"$0" run -n job -- true'
    result = world.run('run', 'job', '--', 'sh', '-c', script,
                       world.holdfast)
    t.code(result, 75)
    t.code(world.run('run', 'job', '--', 'true', user=False), 0)


WAYS = ('--url', 'HOLDFAST_URL', '~/.config/holdfast/config',
        '/etc/holdfast/config')


@case
def a_wrong_configuration_is_told_in_the_status_file(t):
    """Not the status of an earlier run."""
    world = World(t)
    path = world.home / 'status'
    args = ('run', '--status-file', path, 'job', '--', 'true')
    t.code(world.run(*args), 0)
    world.user_config('nonsense\n')
    t.code(world.run(*args), 78)
    t.equal(t.status(path), {'outcome': 'configuration', 'status': 78,
                             'child_exit': None, 'child_signal': None},
            'status file')


@case
def no_place_at_all_is_78_with_the_ways_to_set_one(t):
    world = World(t)
    world.passwd('/nonexistent')
    for verb in (('who', 'job'), ('run', 'job', '--', 'true'), ('ls',),
                 ('check',), ('break', 'job', '--force')):
        result = world.run(*verb)
        t.code(result, 78)
        t.says(result.err, '/nonexistent', *WAYS)
        t.equal(result.err.count('\n'), 1, result.err)
    told = json.loads(world.run('who', '--json', 'job').out)
    t.says(told['error'], '/nonexistent', *WAYS)
    url = f'sqlite:{world.home}/x.db'
    t.equal(world.store(HOLDFAST_URL=url), url, 'a way')


@case
def a_home_that_cannot_be_written_is_78(t):
    world = World(t)
    os.chown(world.home, 0, 0)
    result = world.run('run', 'job', '--', 'true')
    t.code(result, 78)
    t.says(result.err, str(world.home), *WAYS)


@case
def a_user_without_an_entry_is_78(t):
    world = World(t)
    (t.dir / 'etc/passwd').write_text('root:x:0:0::/root:/bin/sh\n')
    result = world.run('who', 'job')
    t.code(result, 78)
    t.says(result.err, str(USER), *WAYS)


@case
def a_folder_that_others_can_write_or_own_is_78(t):
    world = World(t)
    folder = world.home / '.local/state/holdfast'
    folder.mkdir(parents=True)
    for path in (folder, folder.parent, folder.parent.parent):
        os.chown(path, USER, USER)
    folder.chmod(0o777)
    result = world.run('run', 'job', '--', 'true')
    t.code(result, 78)
    t.says(result.err, str(folder), 'chmod')
    folder.chmod(0o700)
    os.chown(folder, 7, 7)
    result = world.run('run', 'job', '--', 'true')
    t.code(result, 78)
    t.says(result.err, str(folder), 'uid 7')


@case
def a_link_in_place_of_the_folder_is_78(t):
    world = World(t)
    state = world.home / '.local/state'
    state.mkdir(parents=True)
    (world.home / 'other').mkdir()
    (state / 'holdfast').symlink_to(world.home / 'other')
    for path in (state, state.parent, world.home / 'other'):
        os.chown(path, USER, USER)
    result = world.run('run', 'job', '--', 'true')
    t.code(result, 78)
    t.says(result.err, 'link')


@case
def a_mistake_in_a_configuration_is_78_at_file_and_line(t):
    world = World(t)
    path = world.home / '.config/holdfast/config'
    for text, line, *words in (
            ('url = sqlite:/x\nurll = sqlite:/y\n', 2, "'urll'", 'url'),
            ('\n# x\nretries = 3\n', 3, "'retries'", 'url', 'reach'),
            ('url sqlite:/x\n', 1, 'key = value'),
            ('url =\n', 1, 'url'),
            ('reach = planet\n', 1, "'planet'", 'hosts'),
            ('url = sqlite:/x\nurl = sqlite:/y\n', 2, 'url'),
            ('[section]\n', 1, 'section')):
        world.user_config(text)
        result = world.run('who', 'job')
        t.code(result, 78)
        t.says(result.err, f'{path}:{line}:', *words)
    world.user_config('')
    world.system_config('\n\nurk = 1\n')
    result = world.run('who', 'job')
    t.code(result, 78)
    t.says(result.err, '/etc/holdfast/config:3:', "'urk'")


@case
def a_configuration_that_cannot_be_read_is_78(t):
    world = World(t)
    path = world.user_config('url = sqlite:/x\n')
    path.chmod(0o600)
    result = world.run('who', 'job')
    t.code(result, 78)
    t.says(result.err, str(path))
    path.unlink()
    path.mkdir()
    path.chmod(0o755)
    t.code(world.run('who', 'job'), 78)


@case
def a_password_in_a_configuration_for_all_is_78(t):
    world = World(t)
    path = world.user_config('')
    os.chown(path, USER, USER)
    for url in ('mysql://me:sesame@127.0.0.1:9/db',
                'redis://me@127.0.0.1:9/0?password=sesame'):
        path.write_text(f'reach = host\nurl = {url}\n')
        for mode in (0o644, 0o604, 0o602):
            path.chmod(mode)
            result = world.run('who', 'job')
            t.code(result, 78)
            t.says(result.err, f'{path}:2:', f'({mode:04o})', 'chmod 600',
                   'password_file=')
            t.check('sesame' not in result.err, result.err)
        for mode in (0o600, 0o640):
            path.chmod(mode)
            result = world.run('who', 'job')
            t.check(result.code != 78 or 'chmod' not in result.err, result.err)
    path.chmod(0o644)
    path.write_text(f'url = sqlite:{world.home}/x.db\n')
    t.code(world.run('who', 'job'), 1)
    path.unlink()
    world.system_config('url = mysql://me:sesame@127.0.0.1:9/db\n')
    result = world.run('who', 'job')
    t.code(result, 78)
    t.says(result.err, '/etc/holdfast/config:1:', 'chmod 600')


@case
def a_bad_url_in_a_configuration_is_78_and_names_it(t):
    world = World(t)
    path = world.user_config(f'url = sqlite:{world.home}/x.db?nonsense=1\n')
    result = world.run('who', 'job')
    t.code(result, 78)
    t.says(result.err, str(path), 'nonsense')


@case
def reach_can_be_demanded_in_a_configuration(t):
    world = World(t)
    world.user_config('reach = hosts\n')
    for verb in (('run', 'job', '--', 'true'), ('who', 'job'), ('check',)):
        result = world.run(*verb)
        t.code(result, 77)
        t.says(result.err, 'hosts')
    t.code(world.run('run', '--reach', 'user', 'job', '--', 'true'), 0)
    world.user_config('reach = user\n')
    t.code(world.run('run', 'job', '--', 'true'), 0)


@case
def a_shared_folder_is_shared_through_its_group(t):
    world = World(t)
    folder = t.dir / 'shared'
    folder.mkdir()
    os.chown(folder, 0, USER)
    folder.chmod(0o2770)
    url = f'sqlite:{folder}/locks.db'
    t.code(world.run('run', '--url', url, 'job', '--', 'true', user=False), 0)
    for path in folder.iterdir():
        t.equal((mode(path), path.stat().st_gid), ('0o660', USER), str(path))
    script = f'exec "$0" run --url {url} job -- sleep 60'
    holder = t.spawn(['sh', '-c', script, world.holdfast])
    t.until(lambda: world.run('who', '--url', url, 'job').code == 0, 'held')
    result = world.run('run', '-n', '--url', url, 'job', '--', 'true')
    t.code(result, 75)
    t.says(result.err, 'reach host', str(holder.pid))


if __name__ == '__main__':
    harness.main()
