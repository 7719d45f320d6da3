# SPDX-License-Identifier: MIT
"""The command on a ZooKeeper server: what it says and does there, what is
refused and with which remedy, credentials, and the words of
docs/reference.md for who looks at the tree by hand. What ends a lock there
is zookeeper_end.py's."""
import json
import re
import subprocess

import harness
import page
import zookeeper
from harness import case
from zookeeper import ask, children, fresh, only_child, stat, url


# ---- the verbs


@case
def a_run_holds_and_lets_go(t):
    chroot = fresh(t)
    result = t.run('run', 'job', '--', 'sh', '-c',
                   f'echo $HOLDFAST_FENCE; {zookeeper.ASK} {zookeeper.PORT} '
                   f'ls {chroot}/holdfast/job', code=0)
    t.equal(result.err, '', 'stderr')
    fence, child = result.out.split()
    t.check(re.fullmatch(r'x-[0-9a-f]{32}-\d{10}', child), child)
    t.check(int(fence) > 0, fence)
    t.equal(children(f'{chroot}/holdfast/job'), [], 'what is left')
    t.code(t.run('run', '--try', 'job', '--', 'false'), 1)
    later = t.run('run', 'job', '--', 'sh', '-c', 'echo $HOLDFAST_FENCE').out
    t.rising([int(fence), int(later)])


@case
def who_and_ls_tell_of_the_holder(t):
    chroot = fresh(t)
    t.code(t.run('who', 'job'), 1)
    t.equal(t.run('ls', '--json').out, '[]\n', 'nothing yet')
    holder = t.hold('job', '--note', 'night shift')
    result = t.run('run', '--try', 'job', '--', 'true', code=75)
    t.says(result.err, 'held by', 'holdfast break job --fence')
    t.code(t.run('run', '--try', '-E', '0', 'job', '--', 'true'), 0)
    t.code(t.run('run', '--wait', '300ms', 'job', '--', 'true'), 75)
    told = t.run('who', 'job', code=0)
    t.says(told.out, 'night shift', 'grade B')
    shown = t.json('who', 'job')
    t.equal((shown['state'], shown['mode'], shown['remaining_ms']),
            ('held', 'exclusive', None), 'who')
    t.equal(shown['owner']['pid'], holder.pid, 'the holder')
    found = stat(only_child(t, f'{chroot}/holdfast/job'))
    t.equal(shown['fence'], int(found['czxid']), 'fence')
    listed = t.json('ls')
    t.equal([(one['name'], one['fence']) for one in listed],
            [('job', shown['fence'])], 'ls')
    t.equal(t.json('ls', 'other'), [], 'ls of others')


@case
def a_break_is_of_the_one_that_is_meant(t):
    chroot = fresh(t)
    t.code(t.run('break', 'job', '--force'), 1)
    holder = t.hold('job', words=('ignore=TERM', 'beat'))
    fence = t.json('who', 'job')['fence']
    t.code(t.run('break', 'job'), 64)
    t.code(t.run('break', 'job', '--fence', str(fence + 1)), 1)
    result = t.run('break', 'job', '--stale', code=1)
    t.says(result.err, 'not known to be gone')
    t.check(holder.is_running(), holder.err)
    broken = harness.boot_ns()
    t.code(t.run('break', 'job', '--fence', str(fence)), 0)
    result = holder.wait(code=76)
    t.says(result.err, 'broken')
    lived = (t.last_ns() - broken) / 1e9
    t.soon(lived < 1.5 * harness.SLOW, f'the command lived {lived:.2f} s')
    t.equal(children(f'{chroot}/holdfast/job'), [], 'what is left')
    later = t.run('run', 'job', '--', 'sh', '-c', 'echo $HOLDFAST_FENCE').out
    t.rising([fence, int(later)])


@case
def those_who_wait_stand_in_line(t):
    """Nobody has to say --fair: the line is the recipe's."""
    fresh(t)
    holder = t.hold('job')
    runs = [zookeeper.waiting(t, 'job', '--owner', f'w{i}', count=i + 1)
            for i in range(3)]
    shown = t.json('who', 'job')
    t.equal([one['owner']['label'] for one in shown['waiters']],
            ['w0', 'w1', 'w2'], 'the line')
    t.run('run', '--try', 'job', '--', 'true', code=75)
    holder.signal(15)
    for process in runs:
        t.code(process.wait(), 0)
    order = [line.pid for line in t.log() if line.text == 'next']
    t.equal(len(order), 3, 'who entered')
    t.excluded(3)


@case
def shared_slots_and_several_names(t):
    chroot = fresh(t)
    t.hold('job', '--shared')
    t.code(t.run('run', '--try', '--shared', 'job', '--', 'true'), 0)
    t.code(t.run('run', '--try', 'job', '--', 'true'), 75)
    t.hold('seats', '--slots', '2')
    result = t.run('run', '--try', '--slots', '2', 'seats', '--', 'sh', '-c',
                   f'echo $HOLDFAST_SLOT; {zookeeper.ASK} {zookeeper.PORT} '
                   f'ls {chroot}/holdfast/seats')
    t.equal(result.out.split()[0], '1', 'the slot')
    t.equal(sorted(name.split('-')[0] for name in result.out.split()[1:]),
            ['k0', 'k1', 'n2', 'n2'], 'the nodes')
    t.code(t.run('run', '--try', '--slots', '3', 'seats', '--', 'true'), 64)
    result = t.run('run', '--lock', 'disk', '--lock', 'net', 'backup', '--',
                   'sh', '-c', 'echo $HOLDFAST_FENCES', code=0)
    t.equal(len(set(result.out.split())), 3, 'fences')
    t.code(t.run('run', '--try', '--lock', 'job', 'free', '--', 'true'), 75)
    t.code(t.run('who', 'free'), 1)


@case
def a_hold_lasts_until_its_leash_is_let_go(t):
    fresh(t)
    process = t.start('hold', 'job', stdin=subprocess.PIPE)
    t.until(lambda: process.out.endswith('\n'), 'it says that it holds')
    t.says(process.out, 'held job fence=', 'lease_ms=20000')
    t.code(t.run('run', '--try', 'job', '--', 'true'), 75)
    process.popen.stdin.close()
    t.code(process.wait(), 0)
    t.code(t.run('who', 'job'), 1)


@case
def a_check_says_what_it_found(t):
    fresh(t)
    result = t.run('check', '--json', code=0)
    told = json.loads(result.out)
    t.equal((told['fit'], told['grade'], told['reach'], told['lease_ms']),
            (True, 'B', 'hosts', 20000), 'fit, grade, reach, lease')
    items = {item['name']: item for item in told['items']}
    t.equal(list(items), ['version', 'mode', 'ensemble', 'session_timeout',
                          'chroot', 'write', 'access', 'containers'], 'items')
    t.equal((items['mode']['value'], items['ensemble']['verdict']),
            ('standalone', 'warn'), 'alone')
    t.equal((items['access']['value'], items['access']['verdict']),
            ('open', 'warn'), 'who may')
    # The tests' servers give a session two minutes at most.
    told = t.json('check', '--url', url('/x', 'session_timeout=10m'))
    items = {item['name']: item for item in told['items']}
    t.equal((items['session_timeout']['verdict'], told['lease_ms']),
            ('warn', 80000), 'what the server allows')
    t.says(items['session_timeout']['remedy'], 'maxSessionTimeout')
    t.equal(children('/x'), [], 'what a check leaves')


@case
def idle_names_go(t):
    """By gc, or by the server, which needs no telling."""
    chroot = fresh(t)
    for name in ('a', 'b', 'c'):
        t.code(t.run('run', name, '--', 'true'), 0)
    t.check(t.run('gc').out.startswith('removed 0 records'), 'too many')
    t.code(t.run('gc', '--idle', '0'), 0)
    t.equal(children(f'{chroot}/holdfast'), [], 'what is left')


# ---- what is refused, and with which remedy


@case
def another_lease_than_the_sessions_is_refused(t):
    fresh(t)
    for verb, command in (('run', ['--', 'true']), ('hold', [])):
        result = t.run(verb, '--lease', '1m', 'job', *command, code=77)
        t.says(result.err, 'a lease of 20s', 'leave out --lease',
               'session_timeout=')
    t.code(t.run('run', '--lease', '20s', 'job', '--', 'true'), 0)
    t.env['HOLDFAST_URL'] += '?session_timeout=90s'
    t.code(t.run('run', '--lease', '1m', 'job', '--', 'true'), 0)
    t.code(t.run('run', '--grace', '21s', 'job', '--', 'true'), 64)
    result = t.run('run', '--url', url('/x', 'session_timeout=900ms'), 'job',
                   '--', 'true', code=64)
    t.says(result.err, 'longer session_timeout=')


@case
def what_would_outlive_its_session_is_refused(t):
    fresh(t)
    for words in (('acquire', 'job'), ('acquire', '--lease', '10m', 'job'),
                  ('acquire', '--token-file', 'token', 'job')):
        result = t.run(*words, code=77)
        t.says(result.err, 'holdfast hold', 'holdfast run')
    t.check(not (t.dir / 'token').exists(), 'a token')
    for verb in ('renew', 'release'):
        result = t.run(verb, 'job', env={'HOLDFAST_TOKEN': 32 * 'a'}, code=77)
        t.says(result.err, 'session')
    for option in ('--min-hold', '--once-per'):
        result = t.run('run', option, '5s', 'job', '--', 'true', code=77)
        t.says(result.err, 'use another store', f'leave out {option}')


@case
def the_simple_recipe_has_one_holder_and_no_line(t):
    chroot = fresh(t, 'recipe=simple')
    result = t.run('run', 'job', '--', 'sh', '-c', 'echo $HOLDFAST_FENCE')
    t.code(result, 0)
    holder = t.hold('job', '--note', 'simple')
    t.says(children(f'{chroot}/holdfast/job'), 'lock')
    shown = t.json('who', 'job')
    t.equal((shown['note'], shown['fence'], shown['waiters']),
            ('simple', int(stat(f'{chroot}/holdfast/job/lock')['czxid']), None),
            'who')
    t.rising([int(result.out), shown['fence']])
    for option in (['--fair'], ['--shared'], ['--slots', '2']):
        result = t.run('run', '--try', *option, 'job', '--', 'true', code=77)
        t.says(result.err, f'leave out {option[0]}')
    waiter = t.next_waiter('job')
    t.code(t.run('break', 'job', '--fence', str(shown['fence'])), 0)
    t.code(holder.wait(), 76)
    t.code(waiter.wait(), 0)


@case
def a_name_has_one_recipe(t):
    fair = fresh(t)
    simple = url(fair, 'recipe=simple')
    t.hold('one')
    result = t.run('run', '--try', '--url', simple, 'one', '--', 'true')
    t.code(result, 77)
    t.says(result.err, 'recipe=fair', 'one recipe')
    t.hold('two', '--url', simple)
    result = t.run('run', '--try', 'two', '--', 'true', code=77)
    t.says(result.err, 'recipe=simple', 'one recipe')
    for name in ('one', 'two'):
        t.code(t.run('who', name), 0)


@case
def a_url_that_is_wrong_is_told_what_helps(t):
    for words, wanted in (
            (url('/x', 'recipe=lifo'), 'fair, simple'),
            (url('/x', 'session_timeout=100ms'), '500ms'),
            (url('/x', 'nonsense=1'), 'valid ones'),
            (url('/x', 'tls=verify'), 'no TLS'),
            ('zookeeper:///x', 'zookeeper://h1:2181'),
            (url('/x//y'), 'is none of a node'),
            (url('/x', user='bob@'), 'no password is given')):
        result = t.run('run', '--url', words, 'job', '--', 'true', code=64)
        t.says(result.err, wanted)


@case
def a_server_that_is_not_there_is_told_at_once(t):
    result = t.run('run', '--url', url('/x', port=1), 'job', '--', 'true')
    t.code(result, 69)
    t.says(result.err, '127.0.0.1:1', 'refused')
    t.soon(result.seconds < 3 * harness.SLOW, f'{result.seconds} s')
    result = t.run('who', '--url', 'zk://no-such-host.invalid/x', 'job')
    t.code(result, 69)
    t.says(result.err, 'no-such-host.invalid')


@case
def a_server_without_room_is_told_as_such(t):
    server = zookeeper.Server(t, '--maxClientCnxns=1')
    t.env['HOLDFAST_URL'] = f'{server.url}/x?connect_timeout=1s'
    t.hold('job')
    result = t.run('who', 'job', code=69)
    t.says(result.err, 'maxClientCnxns')


# ---- users


@case
def who_gives_a_password_has_nodes_of_its_own(t):
    chroot = fresh(t)
    bare = url(chroot, user='bob@')
    t.env['HOLDFAST_PASSWORD'] = 'sesame'
    t.env['HOLDFAST_URL'] = bare
    t.code(t.run('run', 'job', '--', 'true'), 0)
    t.check(re.fullmatch(r'digest:bob:\S+:rwcda',
                         ask('acl', f'{chroot}/holdfast')), 'the ACL')
    items = {one['name']: one for one in t.json('check')['items']}
    t.equal(items['access']['verdict'], 'fine', items['access'])
    t.env['HOLDFAST_PASSWORD'] = 'not-the-word'
    result = t.run('run', 'job', '--', 'true', code=77)
    t.says(result.err, 'ACL', 'user and password')
    t.check('not-the-word' not in result.err, result.err)
    t.code(t.run('check'), 1)
    del t.env['HOLDFAST_PASSWORD']
    t.code(t.run('run', '--url', url(chroot), 'job', '--', 'true'), 77)
    path = t.dir / 'password'
    path.write_text('sesame\n')
    path.chmod(0o644)
    t.env['HOLDFAST_URL'] = f'{bare}?password_file={path}'
    result = t.run('run', 'job', '--', 'true', code=77)
    t.says(result.err, 'chmod 600')
    path.chmod(0o600)
    result = t.run('run', 'job', '--', 'true', code=0)
    t.equal(result.err, '', 'stderr')


@case
def who_may_only_create_there_can_do_all(t):
    """The least that an administrator gives at a chroot."""
    chroot = fresh(t)
    ask('put', chroot, '')
    ask('setacl', chroot, 'world:anyone:c')
    t.env['HOLDFAST_URL'] = url(chroot, user='bob@')
    t.env['HOLDFAST_PASSWORD'] = 'sesame'
    t.hold('job', '--shared')
    t.code(t.run('run', '--try', '--shared', 'job', '--', 'true'), 0)
    t.code(t.run('run', '--try', 'job', '--', 'true'), 75)
    t.code(t.run('break', 'job', '--force'), 0)
    t.equal(t.json('ls'), [], 'ls')
    t.code(t.run('check'), 0)
    t.until(lambda: children(chroot) == ['holdfast'], 'a check leaves nothing')


@case
def a_password_in_argv_works_and_warns_once(t):
    secret = url(fresh(t), user='bob:sesame@')
    result = t.run('run', '--url', secret, 'job', '--', 'sh', '-c',
                   'echo $HOLDFAST_STORE', code=0)
    t.equal(result.err.count('can be seen by others'), 1, result.err)
    told = t.run('check', '--json', '--url', secret)
    for text in (result.out, result.err, told.out):
        t.check('sesame' not in text, text)


# ---- the page


@case
def the_page_finds_what_is_stored(t):
    """Each line for zkCli.sh finds what it says, of a name that is held."""
    chroot = fresh(t)
    t.hold('nightly', '--note', 'by the page')
    lines = page.block_with('zkCli.sh').strip().split('\n')
    child = children(f'{chroot}/holdfast/nightly')[0]
    said = []
    for line in lines:
        verb, path = re.fullmatch(
            r'zkCli\.sh -server \S+ (ls|get|stat) (\S+)', line).groups()
        path = re.sub(r'x-[0-9a-f…]+-\d+', child, path.replace(
            '/locks/', f'{chroot}/', 1))
        said.append(ask(verb, path))
    t.equal(said[0], 'nightly', lines[0])
    t.equal(said[1], child, lines[1])
    t.says(said[2], 'label cli_actor', 'note by the page')
    t.says(said[3], f'czxid {t.json("who", "nightly")["fence"]}')
    t.equal(len(said), 4, lines)


@case
def names_are_written_as_the_page_says(t):
    chroot = fresh(t, 'prefix=team')
    look = [zookeeper.ASK, zookeeper.PORT, 'ls', f'{chroot}/team']
    for name, folder in (('a/b 100%', 'a%2Fb 100%25'), ('..', '%2E%2E'),
                         ('Grüße', 'Grüße')):
        result = t.run('run', name, '--', *look, code=0)
        t.check(folder in result.out.splitlines(), result.out)
        t.hold(name)
    t.equal([one['name'] for one in t.json('ls')],
            ['..', 'Grüße', 'a/b 100%'], 'ls')


if __name__ == '__main__':
    harness.main()
