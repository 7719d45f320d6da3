# SPDX-License-Identifier: MIT
"""gc: the records of names that nobody uses go, and how many is told."""
import contextlib
import sqlite3

import harness
from harness import case


@case
def nothing_is_old_enough_at_first(t):
    t.code(t.run('run', 'job', '--', 'true'), 0)
    result = t.run('gc', code=0)
    t.equal(result.out, 'removed 0 records that nobody used for 1d\n',
            'stdout')


@case
def idle_names_go_and_held_ones_stay(t):
    for name in ('a', 'b', 'c'):
        t.code(t.run('run', name, '--', 'true'), 0)
    holder = t.hold('held')
    t.code(t.run('acquire', 'detached'), 0)
    result = t.run('gc', '--idle', '0', code=0)
    t.equal(result.out, 'removed 3 records (3 released)\n', 'stdout')
    t.equal([lock['name'] for lock in t.json('ls')], ['detached', 'held'],
            'what is left')
    t.check(holder.is_running(), holder.err)
    t.equal(t.run('gc', '--idle', '0').out, 'removed 0 records\n', 'again')
    t.code(t.run('run', 'a', '--', 'true'), 0)
    t.equal(t.run('gc', '--idle', '0').out, 'removed 1 record (1 released)\n', 'one')


@case
def what_expired_and_marks_are_told_apart(t):
    t.code(t.run('run', 'released', '--', 'true'), 0)
    t.code(t.run('run', 'started', '--once-per', '100ms', '--', 'true'), 0)
    for name in ('one', 'two'):
        t.code(t.run('acquire', '--lease', '100ms', name), 0)
        t.until(lambda name=name: t.is_free(name), f'{name} expires')
    t.equal(t.run('gc', '--idle', '0', code=0).out,
            'removed 5 records (2 expired, 2 released, 1 mark)\n', 'stdout')
    t.code(t.run('acquire', '--lease', '100ms', 'one'), 0)
    t.code(t.run('run', 'released', '--', 'true'), 0)
    t.until(lambda: t.is_free('one'), 'it expires again')
    shown = t.json('gc', '--idle', '0')
    t.equal({word: shown[word] for word in
             ('removed', 'expired', 'released', 'marks')},
            {'removed': 2, 'expired': 1, 'released': 1, 'marks': 0}, 'JSON')


@case
def deleted_cells_go_when_they_are_old(t):
    path = t.dir / 'value'
    path.write_text('ten')
    with path.open('rb') as file:
        t.run('cell', 'put', 'stock', stdin=file, code=0)
    t.run('cell', 'delete', 'stock', code=0)
    t.equal(t.run('gc', '--idle', '0', code=0).out, 'removed 0 records\n',
            'young')
    with contextlib.closing(sqlite3.connect(t.db)) as db:
        db.execute('UPDATE holdfast_cell SET version=1000')
        db.commit()
    t.equal(t.run('gc', '--idle', '0', code=0).out,
            'removed 1 record (1 deleted cell)\n', 'old')


@case
def a_store_that_fails_is_69(t):
    t.code(t.run('run', 'job', '--', 'true'), 0)
    result = t.run('gc', '--url', f'fault+{t.url}?fault=lose_request:gc:*&'
                   f'{harness.io_timeout(500)}', code=69)
    t.equal(result.out, '', 'stdout')
    t.says(result.err, 'gc: ', 'removed')


@case
def as_json(t):
    shown = t.json('gc', '--idle', '1h30m')
    t.equal(shown, {'removed': 0, 'expired': 0, 'released': 0,
                    'marks': 0, 'cells': 0, 'idle_ms': 5400000, 'store': t.url,
                    'grade': 'B', 'reach': 'user'}, 'the object')


if __name__ == '__main__':
    harness.main()
