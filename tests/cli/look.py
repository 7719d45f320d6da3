# SPDX-License-Identifier: MIT
"""who, ls, check, backends, version, help: text for people, JSON for
programs, exit codes."""
import datetime
import json
import os
import re
import socket

import harness
from harness import case

FIELDS = {'name', 'state', 'owner', 'note', 'fence', 'acquired_at',
          'remaining_ms', 'mode', 'slots', 'slot', 'holders', 'waiters',
          'store', 'grade', 'reach'}
OWNER = {'label', 'host', 'pid', 'thread', 'tid'}
NAMES = ("a b", "it's", '"q" \\ back', 'žluť 漢字 🔒', 'new\nline', '-dash',
         'tab\there', 'a/b:c', '$HOME', '*')


def stamp(text):
    """An RFC 3339 time in UTC."""
    assert re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z', text), text
    return datetime.datetime.fromisoformat(text.replace('Z', '+00:00'))


@case
def who_of_a_held_lock(t):
    holder = t.hold('job', '--lease', '20s', '--owner', 'nightly', '--note',
                    'ticket 42')
    result = t.run('who', 'job', code=0)
    t.says(result.out, 'job is held', 'nightly', socket.gethostname(),
           str(holder.pid), 'ticket 42', t.url, 'reach user', 'grade B')
    t.equal(result.err, '', 'stderr')


@case
def who_of_a_held_lock_as_json(t):
    holder = t.hold('job', '--lease', '20s', '--owner', 'nightly')
    result = t.run('who', '--json', 'job', code=0)
    shown = json.loads(result.out)
    t.equal(set(shown), FIELDS, 'fields')
    t.equal(set(shown['owner']), OWNER, 'owner')
    t.equal((shown['name'], shown['state'], shown['owner']['label'],
             shown['owner']['host'], shown['owner']['pid']),
            ('job', 'held', 'nightly', socket.gethostname(), holder.pid),
            'values')
    t.check(isinstance(shown['fence'], int) and 0 < shown['fence'] < 2 ** 53,
            shown['fence'])
    t.check(12000 < shown['remaining_ms'] <= 20000, shown['remaining_ms'])
    age = datetime.datetime.now(datetime.timezone.utc) - \
        stamp(shown['acquired_at'])
    t.check(-1 < age.total_seconds() < 60, shown['acquired_at'])
    t.equal((shown['store'], shown['grade'], shown['reach']),
            (t.url, 'B', 'user'), 'store')
    t.check(shown['note'] in (None, ''), shown['note'])
    t.check(shown['waiters'] is None or isinstance(shown['waiters'], list),
            shown['waiters'])


def thread_of(holder, shown):
    """(id, name) as shown, which must be one of that process."""
    tid, name = shown['owner']['tid'], shown['owner']['thread']
    return tid, name, os.path.exists(f'/proc/{holder.pid}/task/{tid}')


@case
def the_thread_of_a_holder_is_shown(t):
    holder = t.hold('job')
    tid, name, is_its = thread_of(holder, t.json('who', 'job'))
    t.check(is_its, (tid, name))
    t.says(t.run('who', 'job', code=0).out, f'thread {tid} {name})')
    t.says(t.run('ls', code=0).out, 'THREAD', f'{tid} {name}')


@case
def an_owner_may_have_fields(t):
    holder = t.hold('job', '--owner', '%h/%p %t %T 100%%')
    shown = t.json('who', 'job')
    tid, name, _ = thread_of(holder, shown)
    t.equal(shown['owner']['label'],
            f'{socket.gethostname()}/{holder.pid} {tid} {name} 100%', 'label')


@case
def the_classic_owner_has_address_node_thread_and_time(t):
    t.env['HOLDFAST_NODE'] = '7'
    t.hold('job', '--owner', '%i-%n-%t-%T-%e')
    shown = t.json('who', 'job')['owner']
    found = re.fullmatch(r'([0-9a-f.:]+)-7-(\d+)-(.+)-(\d{13})',
                         shown['label'])
    t.check(found, shown)
    t.equal((int(found[2]), found[3]), (shown['tid'], shown['thread']),
            'thread')


@case
def a_wrong_field_is_a_usage_error(t):
    result = t.run('run', '--owner', '%q', 'job', '--', 'true', code=64)
    t.says(result.err, '%q', '%h %i %n %p %t %T %e')


@case
def a_command_may_have_a_percent_sign_in_its_name(t):
    script = t.dir / '50%q'
    script.write_text('#!/bin/sh\n"$@"\n')
    script.chmod(0o755)
    result = t.run('run', 'job', '--', str(script), t.holdfast, 'who',
                   '--json', 'job', code=0)
    t.equal(json.loads(result.out)['owner']['label'], '50%q', 'label')


@case
def who_of_a_free_lock(t):
    for _ in range(2):
        result = t.run('who', 'job', code=1)
        t.says(result.out, 'job is free', t.url)
        shown = t.json('who', 'job')
        t.equal(set(shown), FIELDS, 'fields')
        t.equal((shown['name'], shown['state'], shown['owner'],
                 shown['acquired_at'], shown['remaining_ms']),
                ('job', 'free', None, None, None), 'values')
        t.code(t.run('run', 'job', '--', 'true'), 0)


@case
def a_store_that_does_not_answer_is_69(t):
    url = f'fault+sqlite:{t.db}?{harness.io_timeout(300)}&fault='
    for rules, verbs in (('lose_request:inspect', (('who', 'job'),)),
                         ('die:list', (('ls',),)),
                         ('die:open', (('who', 'job'), ('ls',), ('check',),
                                       ('break', 'job', '--force')))):
        for verb in verbs:
            result = t.run(*verb, '--url', url + rules, code=69)
            t.equal((result.out, result.err.count('\n')), ('', 1), verb)


@case
def ls_shows_what_is_held_in_order(t):
    t.equal(t.json('ls'), [], 'nothing')
    t.code(t.run('ls'), 0)
    holders = [t.hold(name) for name in ('b', 'a', 'c/1', 'c/2', 'B')]
    t.code(t.run('run', 'free', '--', 'true'), 0)
    listed = t.json('ls')
    t.equal([entry['name'] for entry in listed],
            ['B', 'a', 'b', 'c/1', 'c/2'], 'names')
    for entry in listed:
        t.equal(set(entry), FIELDS, 'fields')
        t.equal(entry['state'], 'held', 'state')
    t.equal(listed[1]['owner']['pid'], holders[1].pid, 'pid')
    t.equal([entry['name'] for entry in t.json('ls', 'c/')],
            ['c/1', 'c/2'], 'prefix')
    t.equal(t.json('ls', 'none'), [], 'no such prefix')


@case
def ls_for_people(t):
    holder = t.hold('job', '--owner', 'nightly', '--note', 'ticket 42')
    result = t.run('ls', code=0)
    t.says(result.out, 'job', 'nightly', str(holder.pid), 'ticket 42', t.url)
    t.equal(result.err, '', 'stderr')


@case
def any_name_is_shown_without_harm(t):
    for name in NAMES[:5]:
        t.hold(name, '--note', f'note {name}')
    listed = t.json('ls')
    t.equal([entry['name'] for entry in listed],
            sorted(NAMES[:5], key=str.encode), 'names')
    t.equal([entry['note'] for entry in listed],
            [f'note {entry["name"]}' for entry in listed], 'notes')
    text = t.run('ls').out
    t.equal(text.count('\n'), 7, f'lines of {text}')
    for name in NAMES[:5]:
        result = t.run('who', '--', name, code=0)
        t.equal(t.run('who', '--json', '--', name).out.count('\n'), 1, name)
        t.check('new\nline' not in result.out, result.out)


@case
def any_name_can_be_locked_and_asked_for(t):
    for name in NAMES:
        if name[0] != '-':
            result = t.run('run', name, '--', 'printenv', 'HOLDFAST_NAME')
            t.code(result, 0)
            t.equal(result.out, f'{name}\n', 'HOLDFAST_NAME')
        result = t.run('who', '--json', '--', name, code=1)
        t.equal(json.loads(result.out)['name'], name, 'name')


@case
def escapes_in_a_label_do_not_reach_the_terminal(t):
    t.hold('job', '--owner', 'red\033[31m\rfake', '--note', 'b\x07ell')
    for verb in (('who', 'job'), ('ls',), ('run', '-n', 'job', '--', 'true')):
        result = t.run(*verb)
        text = result.out + result.err
        for bad in '\033\r\x07':
            t.check(bad not in text, f'{verb}: {text!r}')
    t.equal(t.json('who', 'job')['owner']['label'], 'red\033[31m\rfake',
            'in JSON it is whole')


@case
def check_of_a_fit_store(t):
    result = t.run('check', code=0)
    t.says(result.out, 'fit', t.url, 'reach user')
    shown = t.json('check')
    t.equal((shown['fit'], shown['store'], shown['grade'], shown['reach']),
            (True, t.url, 'B', 'user'), 'values')
    t.check(shown['items'], 'nothing was looked at')
    for item in shown['items']:
        t.equal(set(item), {'name', 'value', 'verdict', 'remedy'}, 'item')
        t.check(item['verdict'] in ('fine', 'warn'), item)
        t.check((item['verdict'] == 'fine') == (item['remedy'] is None), item)


@case
def check_of_an_unfit_store_is_1_and_has_a_remedy(t):
    folder = t.dir / 'open'
    folder.mkdir()
    folder.chmod(0o777)
    url = f'sqlite:{folder}/locks.db'
    result = t.run('check', '--url', url, code=1)
    t.says(result.out + result.err, 'unfit', 'chmod')
    result = t.run('check', '--url', url, '--json', code=1)
    shown = json.loads(result.out)
    t.equal(shown['fit'], False, 'fit')
    bad = [item for item in shown['items'] if item['verdict'] == 'unfit']
    t.check(bad and bad[0]['remedy'], shown)


@case
def reach_demanded_of_any_verb(t):
    for verb in (('who', 'job'), ('ls',), ('check',),
                 ('break', 'job', '--force')):
        result = t.run(*verb, '--reach', 'hosts', code=77)
        t.says(result.err, 'hosts', str(t.db))


@case
def backends_lists_what_this_build_can_open(t):
    result = t.run('backends', code=0)
    listed = result.out.split('\n')
    t.says(result.out, 'sqlite', 'memory')
    t.equal(t.json('backends')['backends'], listed[:-1], 'as JSON')
    t.code(t.run('backends', env={'HOLDFAST_URL': 'nonsense'}), 0)


@case
def version_is_one_line(t):
    result = t.run('version', code=0)
    t.check(re.fullmatch(r'holdfast \d+\.\d+\.\d+\n', result.out), result)
    t.equal(t.json('version')['version'], result.out.split()[1], 'as JSON')
    for word in ('--version', '-V'):
        t.equal(t.run(word).out, result.out, word)


@case
def help_explains_each_verb(t):
    general = t.run('help', code=0)
    verbs = ('run', 'hold', 'acquire', 'renew', 'release', 'who', 'ls',
             'break', 'gc', 'check', 'backends', 'version', 'help')
    t.says(general.out, *verbs)
    for word in ('--help', '-h'):
        t.equal(t.run(word).out, general.out, word)
    for verb in verbs:
        result = t.run('help', verb, code=0)
        t.says(result.out, f'holdfast {verb}')
        t.equal(t.run(verb, '--help').out, result.out, f'{verb} --help')


@case
def help_of_run_pins_the_defaults(t):
    text = ' '.join(t.run('help', 'run').out.split())
    for default in ('forever', '30s', '5s', 'none', '75', '76'):
        t.says(text, f'default {default}')
    listed = {row['option']: row['default'] for verb in
              t.json('help', 'run')['verbs'] for row in verb['options']}
    t.equal((listed['--wait'], listed['--lease'], listed['--grace'],
             listed['--kill-after'], listed['--busy-exit'],
             listed['--lost-exit']),
            ('forever', '30s', '5s', None, '75', '76'), 'defaults')
    t.equal((listed['--min-hold'], listed['--once-per'], listed['--once-key']),
            ('0s', None, None), 'defaults')


@case
def help_pins_the_defaults_of_the_other_verbs(t):
    for verb, wanted in (
            ('hold', {'--wait': 'forever', '--lease': '30s',
                      '--min-hold': '0s', '--busy-exit': '75',
                      '--lost-exit': '76'}),
            ('acquire', {'--wait': 'forever', '--lease': '30s',
                         '--min-hold': '0s', '--busy-exit': '75'}),
            ('renew', {'--lease': '30s'}), ('release', {}),
            ('gc', {'--idle': '24h'})):
        listed = {row['option']: row['default'] for entry in
                  t.json('help', verb)['verbs'] for row in entry['options']
                  if row['default']}
        t.equal(listed, wanted, verb)


@case
def an_answer_that_nobody_can_read_is_no_success(t):
    for verb in (('version',), ('ls',), ('help',)):
        result = t.spawn(['sh', '-c', '"$@" >/dev/full', 'sh', t.holdfast,
                          *verb]).wait()
        t.check(result.code not in (0, 1), f'{verb}: {result}')
        t.says(result.err, 'stdout')


VERBS = {'hold': ('job',), 'acquire': ('job',), 'renew': ('job',),
         'release': ('job',), 'who': ('job',), 'ls': (),
         'break': ('job', '--force'), 'gc': (), 'check': ()}


def failure(t, code, *args, **env):
    """The one object that a failure is."""
    result = t.run(*args, '--json', env=env, code=code)
    t.equal(result.out.count('\n'), 1, f'lines of {args}: {result.out}')
    told = json.loads(result.out)
    t.equal(told['exit'], code, 'exit')
    t.check(told['error'] and told['error'] in result.err, result)
    return told


@case
def a_failure_is_one_object_too(t):
    token = {'HOLDFAST_TOKEN': '0123456789abcdef' * 2}
    for verb, words in VERBS.items():
        url = f'sqlite:{t.dir}/none/x.db'
        told = failure(t, 69, verb, '--url', url, *words, **token)
        t.equal(set(told), {'error', 'exit'}, verb)
        t.says(told['error'], f'{t.dir}/none')
        failure(t, 77, verb, '--reach', 'hosts', *words, **token)
        failure(t, 64, verb, '--url', 'mysql://a:s3cr3t', *words, **token)
        failure(t, 64, verb, '--url', 'pigeon:', *words, **token)
        failure(t, 64, verb, '--nonsense', *words, **token)
    for args in (('backends', 'x'), ('version', 'x'), ('help', 'x'), ('x',),
                 ('break', 'job'), ('renew', 'job'), ('who',)):
        failure(t, 64, *args)
    t.equal(t.run('who', '--nonsense', 'job').out, '', 'not asked for')
    t.equal(t.run('run', '--json', '--nonsense', 'job', '--', 'true').out, '',
            'run has no answer')


@case
def a_lock_that_is_busy_is_one_object_with_its_holder(t):
    holder = t.hold('job')
    for verb in ('hold', 'acquire'):
        for wait in ('-n', '-w100ms'):
            told = failure(t, 75, verb, wait, 'job')
            t.equal(told['holder']['owner']['pid'], holder.pid, 'holder')
            t.equal(told['store'], t.url, 'store')
        waiter = t.waits(verb, '--json', 'job')
        result = waiter.end(code=143)
        t.equal(json.loads(result.out)['exit'], 143, 'exit')


if __name__ == '__main__':
    harness.main()
