# SPDX-License-Identifier: MIT
"""What the command finds: its environment, descriptors, arguments, working
folder; and what of all that `run` itself never touches."""
import os
import re

import harness
from harness import case

OURS = ('HOLDFAST_NAME', 'HOLDFAST_FENCE', 'HOLDFAST_FENCES',
        'HOLDFAST_TOKEN', 'HOLDFAST_STORE', 'HOLDFAST_DEADLINE_MS')


def environment(t, *args, **options):
    result = t.run('run', *args, 'my job', '--', 'env', '-0', **options)
    t.code(result, 0)
    return dict(entry.split('=', 1) for entry in result.out.split('\0')
                if entry)


@case
def the_environment_tells_the_grant(t):
    before = harness.boot_ns() / 1e6
    found = environment(t, '--lease', '20s')
    after = harness.boot_ns() / 1e6
    t.equal(found['HOLDFAST_NAME'], 'my job', 'name')
    t.check(int(found['HOLDFAST_FENCE']) > 0, found)
    t.equal(found['HOLDFAST_FENCES'], found['HOLDFAST_FENCE'], 'fences')
    t.check(re.fullmatch('[0-9a-f]{32}', found['HOLDFAST_TOKEN']), found)
    t.equal(found['HOLDFAST_STORE'], t.url, 'store')
    deadline = int(found['HOLDFAST_DEADLINE_MS'])
    t.check(before + 15000 < deadline < after + 20000,
            f'{deadline} from {before} to {after}')


@case
def the_rest_of_the_environment_is_as_it_was(t):
    t.env.update(LANG='C', EMPTY='', WORD='a=b c')
    found = environment(t)
    for name in OURS:
        del found[name]
    t.equal(found, t.env, 'environment')


@case
def the_password_of_the_store_stays_with_holdfast(t):
    t.env.update(HOLDFAST_PASSWORD='sesame', HOLDFAST_PASSWORD_FILE='file')
    for args, password in (((), None), (('--pass-password',), 'sesame')):
        found = environment(t, *args)
        t.equal(found.get('HOLDFAST_PASSWORD'), password, f'{args}')
        t.equal(found['HOLDFAST_PASSWORD_FILE'], 'file', 'the file')
        hook = 'echo "hook: $HOLDFAST_PASSWORD."'
        holder = t.start('run', *args, '--lost-hook', hook, 'lost', '--',
                         'sleep', '60')
        t.until(lambda: t.run('who', 'lost').code == 0, 'held')
        t.code(t.run('break', 'lost', '--force'), 0)
        t.says(holder.wait().err, f'hook: {password or ""}.')
        inner = ('--', t.holdfast, 'run', *args, '--reentrant', 'job', '--',
                 'sh', '-c', 'echo "inner: $HOLDFAST_PASSWORD."')
        result = t.run('run', 'job', '--', 'env', 'HOLDFAST_PASSWORD=sesame',
                       *inner[1:])
        t.equal(result.out, f'inner: {password or ""}.\n', 'inner')


@case
def an_inherited_url_stays_as_it_was(t):
    other = f'sqlite:{t.dir}/other.db'
    found = environment(t, '--url', other)
    t.equal(found['HOLDFAST_URL'], t.url, 'HOLDFAST_URL')
    t.equal(found['HOLDFAST_STORE'], other, 'HOLDFAST_STORE')
    found = environment(t, '--url', other, env={'HOLDFAST_URL': None})
    t.check('HOLDFAST_URL' not in found, 'HOLDFAST_URL was added')


@case
def each_grant_has_another_token_and_a_higher_fence(t):
    grants = [environment(t) for _ in range(5)]
    fences = [int(grant['HOLDFAST_FENCE']) for grant in grants]
    t.rising(fences)
    t.equal(len({grant['HOLDFAST_TOKEN'] for grant in grants}), 5, 'tokens')


@case
def arguments_behind_the_dashes_are_untouched(t):
    words = ('--help', '-v', '--', '--url', 'x', '', 'a b', '--try', '-E')
    result = t.run('run', 'job', '--', 'printf', '[%s]', *words, code=0)
    t.equal(result.out, ''.join(f'[{word}]' for word in words), 'arguments')


@case
def no_shell_is_used_unless_asked_for(t):
    result = t.run('run', 'job', '--', 'printf', '%s', '$HOME; `id` *')
    t.equal(result.out, '$HOME; `id` *', 'without -c')
    result = t.run('run', '-c', 'job', '--', 'echo b a | tr " " "\\n" | sort')
    t.equal(result.out, 'a\nb\n', 'with -c')
    result = t.run('run', '-c', 'job', '--', 'exit 6', code=6)


@case
def stdin_and_stdout_are_the_callers(t):
    script = ('printf "one\\ntwo\\n" | "$0" run job -- sort -r | '
              '"$0" run job2 -- tr a-z A-Z')
    result = t.spawn(['sh', '-c', script, t.holdfast]).wait()
    t.equal((result.out, result.err), ('TWO\nONE\n', ''), 'through the pipe')


@case
def a_reader_that_went_away_ends_the_command_not_the_wrapper(t):
    script = '"$0" run job -- yes | head -n 1; "$0" run -n job -- true'
    result = t.spawn(['sh', '-c', script, t.holdfast]).wait(code=0)
    t.equal(result.out, 'y\n', 'output')


@case
def run_itself_never_writes_to_stdout(t):
    for args in ((), ('--verbose',), ('--json',), ('-v', '--json')):
        result = t.run('run', *args, 'job', '--', 'true', code=0)
        t.equal(result.out, '', f'stdout with {args}')
    t.hold('job')
    for args in ((), ('--json',)):
        t.equal(t.run('run', '-n', *args, 'job', '--', 'true').out, '', args)


@case
def the_command_has_the_callers_descriptors_and_no_more(t):
    t.code(t.run('run', 'job', '--', *t.actor('fds')), 0)
    read_end, write_end = os.pipe()
    t.code(t.run('run', 'job', '--', *t.actor('fds'),
                 pass_fds=(read_end, write_end)), 0)
    os.close(read_end)
    os.close(write_end)
    fds = [line.text for line in t.log()]
    t.equal(fds, ['fds 0 1 2', f'fds 0 1 2 {read_end} {write_end}'], 'fds')


@case
def the_working_folder_is_the_callers(t):
    result = t.run('run', 'job', '--', 'pwd')
    t.equal(result.out.strip(), os.path.realpath(t.dir), 'folder')


@case
def the_command_leads_a_group_of_its_own_in_the_callers_session(t):
    script = 'ps -o pid=,pgid=,sid= -p $$'
    words = t.run('run', 'job', '--', 'sh', '-c', script).out.split()
    t.equal(words[0], words[1], 'group')
    t.equal(int(words[2]), os.getsid(0), 'session')


@case
def events_go_to_stderr_as_json(t):
    events = t.events(t.run('run', '--json', 'job', '--', 'true').err)
    t.equal([event['event'] for event in events],
            ['acquired', 'released', 'exit'], 'events')
    for event in events:
        t.equal(event['name'], 'job', 'name')
        t.check(re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z',
                             event['time']), event)
    t.check(events[0]['fence'] > 0, events[0])
    t.equal((events[0]['store'], events[0]['grade'], events[0]['reach']),
            (t.url, 'B', 'user'), 'store')
    t.equal({key: events[2][key] for key in
             ('outcome', 'status', 'child_exit', 'child_signal')},
            {'outcome': 'exited', 'status': 0, 'child_exit': 0,
             'child_signal': None}, 'the last event')


@case
def events_go_to_a_descriptor_and_text_stays(t):
    t.hold('job')
    read_end, write_end = os.pipe()
    result = t.run('run', '-n', '--json-fd', str(write_end), 'job', '--',
                   'true', pass_fds=(write_end,))
    os.close(write_end)
    with os.fdopen(read_end) as stream:
        events = t.events(stream.read())
    t.equal([event['event'] for event in events], ['busy', 'exit'], 'events')
    t.equal(events[1]['status'], 75, 'status')
    t.equal(events[0]['holder']['owner']['label'], 'cli_actor', 'holder')
    t.says(result.err, 'holdfast: job is held')


@case
def the_event_descriptor_does_not_reach_the_command(t):
    read_end, write_end = os.pipe()
    t.code(t.run('run', '--json-fd', str(write_end), 'job', '--',
                 *t.actor('fds'), pass_fds=(write_end,)), 0)
    os.close(write_end)
    os.close(read_end)
    t.equal(t.log()[-1].text, 'fds 0 1 2', 'descriptors')


@case
def verbose_says_what_goes_well(t):
    result = t.run('run', '-v', 'job', '--', 'true')
    t.says(result.err, 'job', 'fence', t.url, 'released')
    t.check('taken over' not in result.err, result.err)
    t.equal(t.run('run', 'job', '--', 'true').err, '', 'without it')


@case
def verbose_says_what_was_taken_over(t):
    words = 'taken over, the last holder let it expire or died'
    for name in ('a', 'b'):
        t.code(t.run('acquire', '--lease', '100ms', name), 0)
        t.until(lambda name=name: t.is_free(name), f'{name} expires')
    result = t.run('run', '-v', 'b', '--lock', 'a', '--lock', 'c', '--',
                   'true', code=0)
    t.says(result.err, 'holdfast: b and 2 more: 2 taken over, their last '
           'holders let them expire or died\n')
    t.check('event=' not in result.err, result.err)
    t.check('taken over' not in t.run('run', '-v', 'a', '--', 'true').err,
            'after a release')
    t.code(t.run('acquire', '--lease', '100ms', 'a'), 0)
    t.until(lambda: t.is_free('a'), 'it expires')
    told = [event for event in
            t.events(t.run('run', '--json', 'a', '--', 'true', code=0).err)
            if event['event'] == 'takeover']
    t.equal([(event['taken_over'], event['text']) for event in told],
            [(1, f'a: {words}')], 'JSON')
    t.code(t.run('acquire', '--lease', '100ms', 'a'), 0)
    t.until(lambda: t.is_free('a'), 'it expires')
    t.equal(t.run('run', 'a', '--', 'true').err, '', 'without it')


if __name__ == '__main__':
    harness.main()
