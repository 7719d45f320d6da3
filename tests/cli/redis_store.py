# SPDX-License-Identifier: MIT
"""The command on a Redis server: what it says and does there, secrets, and
the words of docs/reference.md for redis-cli and for an ACL, as they are
written there."""
import json
import os
import pathlib
import re
import socket
import subprocess
import zlib

import harness
import page
from harness import case

SOCKET = os.environ['HOLDFAST_TEST_REDIS_SOCKET']
PORT = os.environ['HOLDFAST_TEST_REDIS_PORT']
ADMIN = ['redis-cli', '--no-auth-warning', '-s', SOCKET,
         '--user', os.environ['HOLDFAST_TEST_REDIS_ADMIN'],
         '--pass', os.environ['HOLDFAST_TEST_REDIS_ADMIN_PASSWORD']]
# Denied by the rule of the page, they cost no more than a word of an error.
WISHED = {'TYPE'}


def admin(*words, n='0'):
    return subprocess.run(ADMIN + ['-n', n, *words], check=True, text=True,
                          capture_output=True).stdout.strip()


def denied(user):
    """What the server has ever denied that user."""
    found = set()
    entry = {}
    lines = admin('ACL', 'LOG', '100').split('\n')
    for key, value in zip(lines[::2], lines[1::2]):
        entry = {} if key == 'count' else entry
        entry[key] = value
        if entry.get('username') == user:
            found.add(entry['object'])
    return found


def listens(path):
    """The file of a socket is there before somebody listens on it."""
    with socket.socket(socket.AF_UNIX) as s:
        return s.connect_ex(str(path)) == 0


def fence_of(name, n):
    return admin('HGET', f'holdfast:{{{name}}}', 'fence', n=n)


def fresh(t):
    """The number of a database that this case has to itself, for it is not
    alone on the server; the command uses it from now on."""
    number = str(1 + zlib.crc32(str(t.dir).encode()) % 9000)
    t.env['HOLDFAST_URL'] = f'redis://127.0.0.1:{PORT}/{number}'
    return number


def url_of(user, number):
    return f'redis://{user}@127.0.0.1:{PORT}/{number}'


@case
def a_run_holds_and_lets_go(t):
    n = fresh(t)
    result = t.run('run', 'job', '--', 'sh', '-c',
                   f'echo $HOLDFAST_FENCE; redis-cli -p {PORT} -n {n} HGET '
                   "'holdfast:{job}' fence", code=0)
    fence, stored = result.out.split()
    t.equal(fence, stored, 'the fence')
    t.equal(admin('HGET', 'holdfast:{job}', 'token', n=n), '', 'the token')
    t.code(t.run('run', '--try', 'job', '--', 'false'), 1)


@case
def a_check_says_what_it_found(t):
    fresh(t)
    result = t.run('check', '--json', code=0)
    told = json.loads(result.out)
    t.equal((told['fit'], told['reach']), (True, 'hosts'), 'fit, reach')
    names = [item['name'] for item in told['items']]
    for name in ('version', 'mode', 'role', 'privileges', 'channels',
                 'maxmemory_policy', 'appendfsync', 'replicas', 'waiting',
                 'clock_ahead_of_ours', 'round_trip', 'worst_takeover'):
        t.check(name in names, names)


@case
def a_socket_and_a_database_by_number(t):
    n = fresh(t)
    other = '9999'
    t.code(t.run('run', '--url', f'redis:///{other}?socket={SOCKET}', 'job',
                 '--', 'true'), 0)
    t.equal(admin('EXISTS', 'holdfast:{job}', n=other), '1', 'there')
    t.equal(admin('EXISTS', 'holdfast:{job}', n=n), '0', 'here')


@case
def who_is_not_let_in_hears_so(t):
    n = fresh(t)
    admin('ACL', 'SETUSER', 'bob', 'on', '>sesame', '~*', '&*', '+@all')
    bare = url_of('bob', n)
    t.env['HOLDFAST_PASSWORD'] = 'not-the-word'
    result = t.run('run', '--url', bare, 'job', '--', 'true', code=77)
    t.says(result.err, 'password')
    t.check('not-the-word' not in result.err, result.err)
    t.env['HOLDFAST_PASSWORD'] = 'sesame'
    t.code(t.run('run', '--url', bare, 'job', '--', 'true'), 0)
    del t.env['HOLDFAST_PASSWORD']
    result = t.run('run', '--url', bare.replace('bob@', 'bob:sesame@'), 'job',
                   '--', 'true', code=0)
    t.equal(result.err.count('can be seen by others'), 1, result.err)
    t.check('sesame' not in result.err, result.err)
    admin('ACL', 'DELUSER', 'bob')


@case
def a_password_that_the_server_repeats_is_not_shown(t):
    """A server that does not know AUTH says what it was given."""
    pid = re.search(r'process_id:(\d+)', admin('INFO', 'server')).group(1)
    program = t.dir / 'redis-server'  # by its name it knows that it is one
    program.symlink_to(os.readlink(f'/proc/{pid}/exe'))
    path = t.dir / 'own.sock'
    # It must not outlive the test that is killed: nothing would find it.
    t.spawn(['setpriv', '--pdeathsig', 'KILL', program, '--port', '0',
             '--unixsocket', path, '--save', '', '--dir', t.dir,
             '--rename-command', 'AUTH', 'XAUTH'])
    t.until(lambda: listens(path), 'the server starts')
    for user in ('u', ''):
        url = f'redis://{user}:s3cretpw@localhost/0?socket={path}'
        t.env['HOLDFAST_URL'] = url
        for words in (('check',), ('check', '--json'), ('who', 'job'),
                      ('run', 'job', '--', 'true'), ('ls',)):
            result = t.run(*words)
            t.check(result.code != 0, result)
            t.says(result.out + result.err, 'AUTH: the server ')
            for part in ('s3cr', 'etpw'):
                t.check(part not in result.out + result.err, result)


@case
def the_page_reads_what_is_stored(t):
    """Each line for redis-cli finds what it says, of a name that is held."""
    n = fresh(t)
    t.hold('nightly', '--note', 'by the page')
    lines = page.block_with('redis-cli').strip().split('\n')
    said = {}
    for line in lines:
        command = line.replace('redis-cli', f'redis-cli -p {PORT} -n {n}')
        result = subprocess.run(['sh', '-c', command], check=True, text=True,
                                capture_output=True)
        said[line.split()[1]] = result.stdout
    t.equal(len(said), 4, said)
    t.says(said['--scan'], 'holdfast:{nightly}')
    t.says(said['HMGET'], 'by the page')
    t.says(said['HMGET'], fence_of('nightly', n))
    t.hold('nightly-readers', '--shared')
    t.says(admin('HVALS', 'holdfast:{nightly-readers}:b', n=n), 's ')


@case
def a_run_inside_without_the_password_is_told_how(t):
    n = fresh(t)
    admin('ACL', 'SETUSER', 'carol', 'on', '>sesame', '~*', '&*', '+@all')
    t.env['HOLDFAST_URL'] = url_of('carol', n)
    inner = ('--', t.holdfast, 'run', 'two', '--', *t.actor('say=in', 'exit=0'))
    result = t.run('run', 'one', *inner, env={'HOLDFAST_PASSWORD': 'sesame'})
    t.code(result, 77)
    t.says(result.err, 'HOLDFAST_PASSWORD_FILE', '--pass-password')
    t.equal(t.log(), [], 'started')
    t.code(t.run('run', '--pass-password', 'one', *inner,
                 env={'HOLDFAST_PASSWORD': 'sesame'}), 0)
    path = t.dir / 'password'
    path.write_text('sesame')
    path.chmod(0o600)
    t.code(t.run('run', 'one', *inner,
                 env={'HOLDFAST_PASSWORD_FILE': str(path)}), 0)
    t.equal(len(t.pids('in')), 2, 'started')
    result = t.run('run', 'one', *inner, code=77)
    t.check('--pass-password' not in result.err, result.err)


@case
def the_rule_of_the_page_suffices(t):
    """A user who may only what the page says: all that the command does."""
    n = fresh(t)
    admin(*page.rule_for('holdfast', 'knock'))
    t.env['HOLDFAST_PASSWORD'] = 'knock'
    t.env['HOLDFAST_URL'] = url_of('holdfast', n)
    told = json.loads(t.run('check', '--json').out)
    items = {item['name']: item for item in told['items']}
    t.equal(items['privileges']['verdict'], 'fine', items['privileges'])
    t.equal(items['channels']['verdict'], 'fine', items['channels'])
    t.equal(items['listing']['verdict'], 'fine', items['listing'])
    t.equal(items['late requests']['verdict'], 'fine', items)
    t.hold('job')
    t.code(t.run('run', '--wait', '300ms', 'job', '--', 'true'), 75)
    t.code(t.run('who', 'job'), 0)
    t.says(t.run('ls').out, 'job')
    t.code(t.run('break', 'job', '--fence', fence_of('job', n)), 0)
    t.code(t.run('run', 'job', '--', 'true'), 0)
    t.hold('seats', '--slots', '1')
    t.code(t.run('run', '--fair', '--slots', '1', '--wait', '300ms', 'seats',
                 '--', 'true'), 75)
    t.code(t.run('run', '--shared', 'readers', '--', 'true'), 0)
    t.code(t.run('run', '--once-per', '1h', 'daily', '--', 'true'), 0)
    token = t.run('acquire', 'detached').out.strip()
    t.code(t.run('renew', 'detached', env={'HOLDFAST_TOKEN': token}), 0)
    t.code(t.run('release', 'detached', env={'HOLDFAST_TOKEN': token}), 0)
    t.code(t.run('gc', '--idle', '0'), 0)
    t.equal(denied('holdfast') - {'config|get', 'acl|whoami'}, set(),
            'what the server denied')


@case
def the_page_has_all_that_a_server_refuses(t):
    """Each word by which a server's refusal is known, with its status."""
    root = pathlib.Path(__file__).parents[2]
    known = {word: status.replace('HF__AGAIN', 'HF_EUNAVAIL')
             for word, status in re.findall(
                 r'\{"([A-Z]+) ?", (?:NULL|"\w+"), (\w+),',
                 (root / 'src/backend/redis/errors.c').read_text())
             if word not in ('HOLDFAST', 'NOSCRIPT')}
    told = {}
    for line in page.CHAPTER.split('\n'):
        cells = line.split('|')
        if len(cells) == 4 and '`HF_E' in cells[2]:
            status = re.search(r'HF_\w+', cells[2]).group()
            told.update(dict.fromkeys(re.findall(r'`([A-Z]+)`', cells[1]),
                                      status))
    t.check(len(known) > 15, known)
    t.equal(told, known, 'what the page has')


@case
def one_command_less_is_unfit(t):
    n = fresh(t)
    rule = page.rule_for('less', 'knock')
    admin(*rule)
    t.env['HOLDFAST_PASSWORD'] = 'knock'
    t.env['HOLDFAST_URL'] = url_of('less', n)
    for word in [word for word in rule if re.match(r'\+[hz]|\+p?expire|\+del',
                                                   word)]:
        admin('ACL', 'SETUSER', 'less', '-' + word[1:])
        result = t.run('check', code=1)
        t.says(result.out, word[1:].upper())
        admin('ACL', 'SETUSER', 'less', word)
    t.code(t.run('check'), 0)


@case
def a_key_of_something_else_is_told_with_and_without_its_type(t):
    n = fresh(t)
    admin(*page.rule_for('few', 'knock'))
    admin('SET', 'holdfast:{job}', '5f0c', 'PX', '3600000', n=n)
    t.env['HOLDFAST_PASSWORD'] = 'knock'
    t.env['HOLDFAST_URL'] = url_of('few', n)
    for added, said in (('-type', 'is no hash'), ('+type', 'is a string')):
        admin('ACL', 'SETUSER', 'few', added)
        result = t.run('run', '--try', 'job', '--', 'true', code=69)
        t.says(result.err, 'job', said, 'that expires in 3', 'SET … NX PX',
               'another prefix=')
        t.check('5f0c' not in result.err, result.err)


@case
def the_rule_has_every_command_of_the_scripts(t):
    root = pathlib.Path(__file__).parents[2]
    rule = page.rule_for('any', 'knock')
    probe = (root / 'src/backend/redis/acl.c').read_text()
    called = {word for path in (root / 'src/backend/redis/lua').glob('*.lua')
              for word in re.findall(r"call\('([A-Z]+)'", path.read_text())}
    t.check(len(called) > 10, called)
    for word in called - WISHED:
        t.check('+' + word.lower() in rule, f'{word} is not in the rule')
        t.check(word == 'PUBLISH' or f"{{'{word}'" in probe,
                f'{word} is not asked for by check')


if __name__ == '__main__':
    harness.main()
