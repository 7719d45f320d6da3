# SPDX-License-Identifier: MIT
"""What the articles have wrong of the server's own lock functions, on a real
server; and what Holdfast answers to the same questions, with locks in its table
and with these, scheme=session."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / 'cli'))
import harness  # noqa: E402
import sql  # noqa: E402
from beside import release  # noqa: E402
from harness import case  # noqa: E402

UNKNOWN_COLUMN, NOT_OWNER = 1054, 1095


def thread_of(session, number):
    """What the server's list says that this connection does."""
    return session.ask('SELECT command, state FROM'
                       f' information_schema.processlist WHERE id = {number}')


@case
def release_lock_says_0_of_anothers_lock_and_null_of_nobodys(t):
    first, session = sql.fresh(t)
    second = session()
    name = f"'{sql.prefix_of(t)}'"
    t.equal(first.one(f'SELECT GET_LOCK({name}, 0)'), '1', 'it is got')
    t.equal(second.one(f'SELECT GET_LOCK({name}, 0)'), '0', 'it is busy')
    free = f'SELECT RELEASE_LOCK({name})'
    t.equal(second.one(free), '0', "another's")
    t.equal(first.one(free), '1', 'its own')
    t.equal(first.one(free), 'NULL', "nobody's, for its owner of before")
    t.equal(second.one(free), 'NULL', "nobody's")

    # One answer for both: it is not yours, whosever it may be.
    token = t.run('acquire', 'job', code=0).out.strip()
    t.equal(release(t, 'job', '1' * 32), 1, "another's: HF_LOST")
    t.equal(release(t, 'job', token), 0, 'its own')
    t.equal(release(t, 'job', token), 1, "nobody's: HF_LOST")


@case
def a_wait_without_end_is_not_the_same_everywhere(t):
    """0 is a try on all servers. Below 0 MySQL waits for ever; MariaDB does
    not wait, and answers as if something had failed."""
    first, session = sql.fresh(t)
    name = f"'{sql.prefix_of(t)}'"
    version = first.one('SELECT VERSION()')
    t.equal(first.one(f'SELECT GET_LOCK({name}, -1)'),
            'NULL' if 'MariaDB' in version else '1', 'of a free lock')


@case
def the_state_to_look_for_is_that_of_a_waiter(t):
    """Who holds a lock sleeps like any idle connection, so what is found by
    the state, and killed, is one that waits."""
    first, session = sql.fresh(t)
    second, person = session(), session()
    name = f"'{sql.prefix_of(t)}'"
    t.equal(first.one(f'SELECT GET_LOCK({name}, 0)'), '1', 'it is got')
    second.send(f'SELECT GET_LOCK({name}, 3600)')
    t.until(lambda: thread_of(person, second.id) == [['Query', 'User lock']],
            'the waiter has the state')
    t.until(lambda: thread_of(person, first.id) == [['Sleep', '']],
            'the holder sleeps')
    for column in ('thread_id', 'lock_name', 'processlist_id'):
        t.equal(person.error(f'SELECT {column} FROM'
                             ' information_schema.processlist'
                             " WHERE state = 'User lock'"),
                UNKNOWN_COLUMN, column)
    holder = f'SELECT IS_USED_LOCK({name})'
    t.equal(person.one(holder), first.id, 'who has it')
    person.run(f'KILL {second.id}')
    t.until(lambda: 'ERROR' in second.said(), 'the waiter is told')
    t.equal(person.one(holder), first.id, 'it is still held by')
    person.run(f'KILL {person.one(holder)}')
    t.until(lambda: person.one(holder) == 'NULL', 'it is free')

    # The same by one word: it is the holder's end, and no waiter's.
    url = t.env['HOLDFAST_URL']
    t.env['HOLDFAST_URL'] = url + '&scheme=session'
    run = t.hold('mine')
    waiter = t.next_waiter('mine')
    t.run('break', 'mine', '--force', code=0)
    run.wait(code=76)
    waiter.wait(code=0)
    t.env['HOLDFAST_URL'] = url

    t.run('acquire', 'job', '--owner', 'me', code=0)
    t.equal(t.json('who', 'job')['owner']['label'], 'me', 'who has it')


@case
def who_may_not_kill_may_break(t):
    first, session = sql.fresh(t)
    ordinary = session(sql.USER)
    t.equal(ordinary.error(f'KILL {first.id}'), NOT_OWNER, 'KILL')

    t.env['HOLDFAST_TOKEN'] = t.run('acquire', 'job', code=0).out.strip()
    fence = t.json('who', 'job')['fence']
    t.code(t.run('break', 'job', '--fence', str(fence - 1)), 1)  # of no one
    t.code(t.run('renew', 'job'), 0)
    t.code(t.run('break', 'job', '--fence', str(fence)), 0)
    t.code(t.run('renew', 'job'), 1)
    t.check(t.is_free('job'), 'it is free')


if __name__ == '__main__':
    harness.main()
