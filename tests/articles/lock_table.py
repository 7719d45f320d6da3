# SPDX-License-Identifier: MIT
"""What goes wrong with a table of locks under a unique index, as the articles
have it, on a real server; and what Holdfast does in its place."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / 'cli'))
import harness  # noqa: E402
import sql  # noqa: E402
from beside import acquire, who_is_late_releases_nothing  # noqa: E402
from harness import case  # noqa: E402

DUPLICATE, TOO_LONG, DEADLOCK = 1062, 1406, 1213
IN_TEN_SECONDS = 'NOW() + INTERVAL 10 SECOND'


def columns_of(session, t, name, *columns):
    """Of Holdfast's record of the name, as numbers."""
    database = sql.URL.rpartition('/')[2]
    return [int(cell) for cell in session.ask(
        f"SELECT {', '.join(columns)} FROM {database}.holdfast_lock"
        f" WHERE name_key = '{sql.prefix_of(t)}:{name}'")[0]]


@case
def a_lock_without_an_end_is_never_cleaned_away(t):
    """Taken without a time, it leaves expire_time NULL: no comparison with
    that is true, however late it is."""
    first, _ = sql.fresh(t)
    sql.locks_table(first)
    first.run(sql.take('forgotten', 'one'))
    first.run(sql.take('ended', 'one', IN_TEN_SECONDS))
    first.run("SET timestamp = UNIX_TIMESTAMP('2037-12-31')")
    t.equal(first.changed(sql.CLEAN), 1, 'count of expired locks')
    t.equal(first.ask('SELECT lock_key FROM named_lock'), [['forgotten']],
            'what the cleaner leaves')
    t.equal(first.error(sql.take('forgotten', 'two')), DUPLICATE, 'for ever')

    acquire(t, 'forgotten')  # without a time, too
    left = t.json('who', 'forgotten')['remaining_ms']
    t.check(0 < left <= 30000, left)
    acquire(t, 'ended', '--lease', '100ms')  # and nobody renews it
    t.code(t.run('run', '--wait', '30s', 'ended', '--', 'true'), 0)
    acquire(t, 'unused', '--lease', '100ms')
    t.until(lambda: t.is_free('unused'), 'its lease ends')
    gone = t.json('gc', '--idle', '0')
    t.equal((gone['expired'], gone['released']), (1, 1), 'unused and ended')


@case
def who_frees_by_the_name_alone_frees_anothers_lock(t):
    first, session = sql.fresh(t)
    second, third = session(), session()
    sql.locks_table(first)
    first.run(sql.take('job', 'one', 'NOW() - INTERVAL 1 SECOND'))
    t.equal(second.changed(sql.CLEAN), 1, 'the first one is too late')
    second.run(sql.take('job', 'two', IN_TEN_SECONDS))
    t.equal(first.changed("DELETE FROM named_lock WHERE lock_key = 'job'"), 1,
            'frees that of the second')
    third.run(sql.take('job', 'three', IN_TEN_SECONDS))  # two are inside
    t.equal(first.changed("DELETE FROM named_lock WHERE lock_key = 'job'"
                          " AND lock_value = 'one'"), 0, 'by its own value')

    who_is_late_releases_nothing(t)


@case
def blanks_and_case_make_no_other_name(t):
    """Under the collation that a table has unless it is told another."""
    first, _ = sql.fresh(t)
    sql.locks_table(first)
    first.run(sql.take('Job', 'one'))
    for key in ('job', 'Job  '):
        t.equal(first.error(sql.take(key, 'two')), DUPLICATE, repr(key))

    for name in ('Job', 'job', 'Job  '):
        acquire(t, name, '--try')


@case
def names_that_are_cut_are_one(t):
    first, _ = sql.fresh(t)
    sql.locks_table(first)
    common = 'o' * 100
    t.equal(first.error(sql.take(common + '1', 'one')), TOO_LONG, 'strict')
    first.ask("SET sql_mode = ''", sql.take(common + '1', 'one'))
    t.equal(first.error(sql.take(common + '2', 'two')), DUPLICATE, 'lenient')

    common = 'o' * 254
    acquire(t, common + '1', '--try')
    acquire(t, common + '2', '--try')
    t.code(t.run('acquire', common + '33', '--try'), 64)


@case
def attempts_that_fail_burn_numbers(t):
    first, _ = sql.fresh(t)
    sql.locks_table(first)
    first.run(sql.take('job', 'one'))
    for _ in range(5):
        t.equal(first.changed(sql.take('job', 'two').replace(
            'INSERT', 'INSERT IGNORE')), 0, 'rows')
    first.run(sql.take('other', 'one'))
    t.equal(first.one("SELECT id FROM named_lock WHERE lock_key = 'other'"),
            '7', 'the second row')

    acquire(t, 'job')
    before = columns_of(first, t, 'job', 'fence', 'revision')
    for _ in range(3):
        t.code(t.run('acquire', 'job', '--try'), 75)
    t.equal(columns_of(first, t, 'job', 'fence', 'revision'), before,
            'fence and revision after tries')


@case
def a_lease_below_a_second_is_over_when_it_begins(t):
    first, _ = sql.fresh(t)
    sql.locks_table(first)
    first.run('SET timestamp = 1700000000.1')
    first.run(sql.take('job', 'one', 'NOW(6) + INTERVAL 300000 MICROSECOND'))
    t.equal(first.one('SELECT expire_time < NOW(6) FROM named_lock'), '1',
            'is it over in the same instant?')

    acquire(t, 'job', '--lease', '300ms')
    end, start = columns_of(first, t, 'job', 'expires', 'changed_at')
    t.equal(end - start, 300000, 'the lease in microseconds')


@case
def clearing_what_expired_before_taking_it_deadlocks_two_names(t):
    """A DELETE that finds nothing locks the gap where the row would stand,
    beside others that do, and then each INSERT waits for the other's gap."""
    first, session = sql.fresh(t)
    second = session()
    sql.locks_table(first)
    for one, name in ((first, 'alpha'), (second, 'beta')):
        one.run('START TRANSACTION')
        t.equal(one.changed(f"{sql.CLEAN} AND lock_key = '{name}'"), 0, name)
    first.send(sql.take('alpha', 'one'))
    second.send(sql.take('beta', 'two'))
    t.equal(sql.errors(first.answer() + second.answer()), [DEADLOCK],
            'one of the two ends with')


if __name__ == '__main__':
    harness.main()
