# SPDX-License-Identifier: MIT
"""cell: a value is read, replaced, deleted, and put through a command; no
change overwrites another unseen, and what fails changes nothing."""
import base64
import json
import os
import pty

import harness
from harness import case

CELL_MAX = 65536


def fed(t, data):
    """A file with that to be read."""
    path = t.dir / f'input{next(t.numbers)}'
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path.open('rb')


def put(t, key, data, *args, code=0):
    with fed(t, data) as file:
        return t.run('cell', 'put', *args, key, stdin=file, code=code)


def value(t, key):
    return t.run('cell', 'get', key, code=0).out


@case
def what_was_put_is_got(t):
    result = t.run('cell', 'get', 'stock', code=1)
    t.equal(result.out, '', 'stdout')
    t.says(result.err, 'stock', 'no value')
    put(t, 'stock', 'ten\n')
    t.equal(value(t, 'stock'), 'ten\n', 'as it was put')
    put(t, 'stock', '')
    t.equal(value(t, 'stock'), '', 'empty')


@case
def every_byte_is_kept(t):
    data = bytes(range(256)) * 4
    put(t, 'blob', data)
    process = t.start('cell', 'get', 'blob')
    process.wait(code=0)
    t.equal((t.dir / f'{process.base}.out').read_bytes(), data, 'bytes')
    shown = t.json('cell', 'get', 'blob')
    t.equal((shown['exists'], shown['value']), (True, None), 'no text')
    t.equal(base64.b64decode(shown['base64']), data, 'base64')


@case
def as_json(t):
    shown = json.loads(t.run('cell', 'get', '--json', 'stock', code=1).out)
    t.equal((shown['key'], shown['exists'], shown['version'], shown['value']),
            ('stock', False, 0, None), 'never')
    told = json.loads(put(t, 'stock', 'a "b"\n', '--json').out)
    t.equal((told['key'], told['changed']), ('stock', True), 'put')
    shown = t.json('cell', 'get', 'stock')
    t.equal((shown['exists'], shown['version'], shown['value'], shown['store']),
            (True, told['version'], 'a "b"\n', t.url), 'put')
    gone = json.loads(t.run('cell', 'delete', '--json', 'stock', code=0).out)
    t.check(gone['changed'] and gone['version'] > told['version'], gone)
    again = json.loads(t.run('cell', 'delete', '--json', 'stock', code=1).out)
    t.equal((again['changed'], 'version' in again), (False, False), 'again')


@case
def another_version_is_left_alone(t):
    first = json.loads(put(t, 'stock', 'a', '--json', '--if-version', 0).out)
    put(t, 'stock', 'b', '--if-version', 0, code=1)
    second = json.loads(put(t, 'stock', 'c', '--json', '--if-version',
                            first['version']).out)
    result = put(t, 'stock', 'd', '--if-version', first['version'], code=1)
    t.says(result.err, 'stock', str(second['version']), str(first['version']))
    t.run('cell', 'delete', 'stock', '--if-version', first['version'], code=1)
    t.equal(value(t, 'stock'), 'c', 'as it was')
    t.run('cell', 'delete', 'stock', '--if-version', second['version'], code=0)
    t.run('cell', 'get', 'stock', code=1)


@case
def a_command_has_the_value_and_writes_the_next(t):
    t.run('cell', 'update', 'n', '--', 'sh', '-c', 'cat; echo one', code=0)
    t.run('cell', 'update', 'n', '--', 'sh', '-c', 'cat; echo two', code=0)
    t.equal(value(t, 'n'), 'one\ntwo\n', 'value')
    t.run('cell', 'update', 'n', '--', 'sh', '-c', 'echo $HOLDFAST_CELL; '
          'echo ${HOLDFAST_PASSWORD-none}', env={'HOLDFAST_PASSWORD': 'x'},
          code=0)
    t.equal(value(t, 'n'), 'n\nnone\n', 'environment')


@case
def a_command_that_fails_changes_nothing(t):
    put(t, 'n', 'before')
    t.run('cell', 'update', 'n', '--', 'sh', '-c', 'echo after; exit 3', code=3)
    t.run('cell', 'update', 'n', '--', 'sh', '-c', 'echo after; kill -9 $$',
          code=137)
    result = t.run('cell', 'update', 'n', '--', 'no-such-command', code=127)
    t.says(result.err, 'no-such-command')
    result = t.run('cell', 'update', 'n', '--', '/', code=126)
    t.says(result.err, '/')
    result = t.run('cell', 'update', 'n', '--', 'head', '-c', CELL_MAX + 1,
                   '/dev/zero', code=64)
    t.says(result.err, 'head', str(CELL_MAX))
    t.equal(value(t, 'n'), 'before', 'value')


@case
def how_a_command_ended_is_known_though_children_are_ignored(t):
    put(t, 'n', 'before')
    t.spawn(['sh', '-c', 'trap "" CHLD; exec "$0" cell update n -- sh -c '
             '"exit 3"', t.holdfast]).wait(code=3)
    t.equal(value(t, 'n'), 'before', 'value')


@case
def a_closed_stdin_is_no_value(t):
    put(t, 'n', 'before')
    process = t.spawn(['sh', '-c', 'exec "$0" cell put n <&-', t.holdfast])
    process.wait(code=64)
    t.says(process.err, 'stdin')
    t.equal(value(t, 'n'), 'before', 'value')


@case
def a_command_may_read_nothing_or_write_before_it_has_read(t):
    put(t, 'n', b'x' * CELL_MAX)
    t.run('cell', 'update', 'n', '--', 'echo', 'short', code=0)
    t.equal(value(t, 'n'), 'short\n', 'unread')
    put(t, 'n', b'x' * CELL_MAX)
    t.run('cell', 'update', 'n', '--', 'sh', '-c',
          f'head -c {CELL_MAX - 1} /dev/zero | tr "\\0" y; wc -c >&2', code=0)
    t.equal(value(t, 'n'), 'y' * (CELL_MAX - 1), 'both ways at once')


@case
def too_much_is_refused(t):
    put(t, 'n', b'x' * CELL_MAX)
    result = put(t, 'n', b'y' * (CELL_MAX + 1), code=64)
    t.says(result.err, str(CELL_MAX))
    t.equal(value(t, 'n'), 'x' * CELL_MAX, 'value')


@case
def updates_of_many_at_once_all_count(t):
    crowd, turns = 6, 5
    script = (f'for i in $(seq {turns}); do "$0" cell update n -- sh -c '
              '\'read n; echo $((n + 1))\' || exit 1; done')
    started = [t.spawn(['sh', '-c', script, t.holdfast]) for _ in range(crowd)]
    for process in started:
        process.wait(code=0)
    t.equal(value(t, 'n'), f'{crowd * turns}\n', 'value')


@case
def who_changes_it_meanwhile_is_met(t):
    put(t, 'n', '1')
    t.run('cell', 'update', 'n', '--wait', '0', '--', 'sh', '-c',
          'cat; "$0" cell update n -- echo other', t.holdfast, code=75)
    t.equal(value(t, 'n'), 'other\n', 'value')
    t.run('cell', 'update', 'n', '--', 'sh', '-c',
          'cat; test -e seen || { touch seen; "$0" cell update n -- '
          'echo third; }', t.holdfast, code=0)
    t.equal(value(t, 'n'), 'third\n', 'computed anew')


@case
def to_a_terminal_nothing_is_written_that_moves_the_cursor(t):
    put(t, 'n', b'one\x1b[2Jtwo\nthree\x00four')
    main, side = pty.openpty()
    t.spawn(['sh', '-c', f'"$0" cell get n >&{side}', t.holdfast],
            pass_fds=(side,)).wait(code=0)
    os.close(side)
    seen = os.read(main, 4096).replace(b'\r\n', b'\n')
    os.close(main)
    t.equal(seen, b'one\\x1b[2Jtwo\nthree\\x00four\n', 'on a terminal')


@case
def a_wrong_line_is_64(t):
    for args, word in ((['cell'], 'KEY'), (['cell', 'get'], 'KEY'),
                       (['cell', 'fetch', 'n'], 'fetch'),
                       (['cell', 'get', 'n', 'm'], "'m'"),
                       (['cell', 'update', 'n'], '-- CMD'),
                       (['cell', 'update', 'n', '--'], '-- CMD'),
                       (['cell', 'get', 'n', '--', 'cat'], 'only update'),
                       (['cell', 'get', '--if-version', '3', 'n'],
                        '--if-version'),
                       (['cell', 'put', '--if-version', str(2 ** 53), 'n'],
                        '--if-version')):
        t.says(t.run(*args, code=64).err, word)


@case
def a_store_without_cells_says_so(t):
    result = t.run('cell', 'get', 'n', '--url',
                   'mysql://nobody@127.0.0.1:1/x?scheme=session&'
                   f'{harness.io_timeout(100)}')
    t.check(result.code in (69, 77), result.err)


@case
def a_store_that_fails_changes_nothing_or_says_that_it_may_have(t):
    put(t, 'n', 'before')
    url = f'fault+{t.url}?fault=die:cell:*&{harness.io_timeout(300)}'
    with fed(t, 'after') as file:
        result = t.run('cell', 'put', 'n', '--url', url, stdin=file, code=69)
    t.says(result.err, 'cell put n')
    t.equal(value(t, 'n'), 'before', 'value')


if __name__ == '__main__':
    harness.main()
