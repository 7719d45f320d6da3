# SPDX-License-Identifier: MIT
"""Several names in one lock: run and hold with --lock."""
import json
import signal

import harness
from harness import case

THREE = ('--lock', 'c', 'b', '--lock', 'a')
ENVIRONMENT = ('echo "$HOLDFAST_NAME|$HOLDFAST_FENCE|$HOLDFAST_FENCES|'
               '$HOLDFAST_TOKEN"')


def state(t, name):
    return t.json('who', name)['state']


def fences(t, *names):
    return [t.json('who', name)['fence'] for name in names]


@case
def all_names_are_held_while_the_command_runs(t):
    run = t.start('run', *THREE, '--', 'sh', '-c', ENVIRONMENT + '; read x; :',
                  stdin=harness.subprocess.PIPE)
    t.until(lambda: run.out.endswith('\n'), 'the command runs')
    name, fence, all_fences, token = run.out.strip().split('|')
    wanted = fences(t, 'b', 'c', 'a')
    t.equal(name, 'b', 'HOLDFAST_NAME')
    t.equal(fence, str(wanted[0]), 'HOLDFAST_FENCE')
    t.equal(all_fences, ' '.join(map(str, wanted)), 'HOLDFAST_FENCES')
    t.equal(len(token), 32, 'HOLDFAST_TOKEN')
    for each in 'abc':
        t.code(t.run('run', '-n', each, '--', 'true'), 75)
    run.popen.stdin.close()
    t.code(run.wait(), 0)
    t.equal([state(t, each) for each in 'abc'], ['free'] * 3, 'afterwards')


@case
def one_busy_name_is_named_and_none_is_got(t):
    t.hold('b')
    for names in (THREE, ('a', '--lock=b', '--lock', 'c')):
        result = t.run('run', '-n', *names, '--', 'true', code=75)
        t.says(result.err, 'b is held by', 'holdfast who b', '--fence')
        t.equal([state(t, each) for each in 'ac'], ['free'] * 2, 'the others')


@case
def the_one_in_the_way_is_named_while_waiting(t):
    holder = t.hold('b')
    run = t.waits('run', '--json', '--lock', 'b', 'a', '--lock', 'c', '--',
                  'true')
    t.until(lambda: state(t, 'a') == 'held', 'what sorts before is kept')
    t.equal(state(t, 'c'), 'free', 'what sorts behind')
    holder.signal(signal.SIGTERM)
    result = run.wait(code=0)
    events = {event['event']: event for event in t.events(result.err)}
    t.soon(events['waiting']['holder'], 'it was not known at that moment')
    t.equal(events['waiting']['holder']['name'], 'b', 'in the way')
    t.equal(events['waiting']['name'], 'a', 'the event is about NAME')
    locks = events['acquired']['locks']
    t.equal([lock['name'] for lock in locks], ['a', 'b', 'c'], 'names')
    t.equal(locks[0]['fence'], events['acquired']['fence'], 'the first')


@case
def a_wait_in_vain_names_it_and_leaves_nothing(t):
    t.hold('b')
    result = t.run('run', '--wait', '400ms', '--json', *THREE, '--', 'true')
    t.code(result, 75)
    busy = [event for event in t.events(result.err)
            if event['event'] == 'timed-out'][0]
    t.equal(busy['holder']['name'], 'b', 'holder')
    t.says(busy['text'], 'waited 400ms for b')
    t.equal([state(t, each) for each in 'ac'], ['free'] * 2, 'the others')


@case
def a_signal_ends_the_wait_and_leaves_nothing(t):
    t.hold('b')
    run = t.start('run', *THREE, '--', 'true')
    t.until(lambda: 'waiting for b' in run.err, 'it waits')
    t.code(run.end(), 128 + signal.SIGTERM)
    t.equal([state(t, each) for each in 'ac'], ['free'] * 2, 'the others')


@case
def one_that_is_broken_ends_the_command_and_is_named(t):
    run = t.start('run', '--lease', harness.lease(3), *THREE, '--',
                  *t.actor('beat'))
    t.until(lambda: state(t, 'a') == 'held', 'held')
    t.until(t.log, 'the command runs')
    t.code(t.run('break', 'a', '--force'), 0)
    result = run.wait(code=76)
    t.says(result.err, '"a" was lost', 'exit 76')
    t.equal([state(t, each) for each in 'abc'], ['free'] * 3, 'afterwards')


@case
def a_killed_run_frees_all_names(t):
    run = t.start('run', *THREE, '--', *t.actor('beat'))
    t.until(lambda: state(t, 'a') == 'held' and t.log(), 'held')
    run.end(signal.SIGKILL)
    for each in 'abc':
        t.code(t.run('run', '--wait', '10s', each, '--', 'true'), 0)


@case
def runs_in_any_order_do_not_wait_in_a_circle(t):
    (t.dir / 'count').write_text('0\n')
    script = 'n=$(cat count); sleep 0.01; echo $((n + 1)) >count'
    loop = ('for i in 1 2 3 4 5 6; do "$0" run $2 -- sh -c "$1" || exit; '
            'done')
    orders = ('--lock b a', '--lock a b', '--lock c --lock a b',
              '--lock b c', 'c --lock a --lock b', 'b --lock c')
    runs = [t.spawn(['sh', '-c', loop, t.holdfast, script, order])
            for order in orders]
    for run in runs:
        t.code(run.wait(40 * harness.SLOW), 0)
    t.equal((t.dir / 'count').read_text(), '36\n', 'all have b in common')


@case
def hold_says_all_fences(t):
    hold = t.start('hold', *THREE, stdin=harness.subprocess.PIPE)
    t.until(lambda: hold.out.endswith('\n'), 'it says that it holds')
    wanted = fences(t, 'b', 'c', 'a')
    t.equal(hold.out.split(),
            ['held', 'b', f'fence={wanted[0]}', 'lease_ms=30000',
             f'pid={hold.pid}', 'fences=' + ','.join(map(str, wanted))],
            'the line')
    hold.popen.stdin.close()
    t.code(hold.wait(), 0)
    t.equal([state(t, each) for each in 'abc'], ['free'] * 3, 'afterwards')


@case
def hold_as_json_lists_the_locks(t):
    hold = t.start('hold', '--json', *THREE, stdin=harness.subprocess.PIPE)
    t.until(lambda: hold.out.endswith('\n'), 'it says that it holds')
    shown = json.loads(hold.out)
    t.equal(shown['name'], 'b', 'name')
    t.equal([(lock['name'], lock['fence']) for lock in shown['locks']],
            list(zip('bca', fences(t, *'bca'))), 'locks')
    t.code(t.run('break', 'c', '--force'), 0)
    hold.popen.stdin.close()
    result = hold.wait(code=76)
    t.says(result.err, '"c" was lost')


@case
def once_per_marks_the_first_name(t):
    for names, code in ((('a', '--lock', 'b'), 0), (('a', '--lock', 'b'), 75),
                        (('a',), 75), (('b', '--lock', 'a'), 0)):
        result = t.run('run', '--once-per', '1h', *names, '--', 'true')
        t.code(result, code)


@case
def a_line_that_cannot_be_is_refused(t):
    for words, text in (
            (('run', '--lock', 'a', 'a', '--', 'true'), "'a' is named twice"),
            (('run', '--lock', 'b', '--lock=b', 'a', '--', 'true'),
             "'b' is named twice"),
            (('run', '--lock', '', 'a', '--', 'true'), '0 bytes'),
            (('run', '--lock', 'x' * 256, 'a', '--', 'true'), '256 bytes'),
            (('run', '--lock', 'b', '--', 'true'), 'NAME is missing'),
            (('run', '--reentrant', '--lock', 'b', 'a', '--', 'true'),
             '--reentrant is for one name'),
            (('acquire', '--lock', 'b', 'a'), "unknown option '--lock'"),
            (('run', *(word for i in range(256)
                       for word in ('--lock', f'n{i}')), 'a', '--', 'true'),
             'more than 255 times')):
        result = t.run(*words, code=64)
        t.says(result.err, text)


@case
def as_many_as_there_can_be_are_one_lock(t):
    names = [word for i in range(255) for word in ('--lock', f'n{i}')]
    result = t.run('run', *names, 'a', '--', 'sh', '-c',
                   'echo $HOLDFAST_FENCES | wc -w', code=0)
    t.equal(result.out.strip(), '256', 'fences')


@case
def inside_of_a_run_that_holds_one_of_them_it_is_told(t):
    for names in (('b', '--lock', 'a'), ('a', '--lock', 'b')):
        result = t.run('run', 'a', '--', t.holdfast, 'run', *names, '--',
                       'true', code=75)
        t.says(result.err, 'a is held by the enclosing run')


if __name__ == '__main__':
    harness.main()
