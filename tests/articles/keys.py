# SPDX-License-Identifier: MIT
"""What goes wrong with a key of Redis as a lock where two commands stand for
one step, as the articles have it, on a real server; and what Holdfast does."""
import os
import pathlib
import subprocess
import sys
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / 'cli'))
import harness  # noqa: E402
from beside import acquire, who_is_late_releases_nothing  # noqa: E402
from harness import case  # noqa: E402

PORT = os.environ['HOLDFAST_TEST_REDIS_PORT']
# What frees only one's own: GET and DEL as one step of the server's.
COMPARE_AND_DELETE = ("return redis.call('GET', KEYS[1]) == ARGV[1]"
                      " and redis.call('DEL', KEYS[1]) or 0")


def fresh(t):
    """A database that this case has to itself. Gives what asks there: each
    command by a client of its own, which ends with it."""
    number = str(1 + zlib.crc32(str(t.dir).encode()) % 9000)
    t.env['HOLDFAST_URL'] = f'redis://127.0.0.1:{PORT}/{number}'

    def ask(*words):
        return subprocess.run(
            ['redis-cli', '-p', PORT, '-n', number, *words], check=True,
            capture_output=True, text=True).stdout.strip()
    return ask


@case
def who_asks_and_then_deletes_may_delete_anothers_lock(t):
    ask = fresh(t)
    t.equal(ask('SET', 'job', 'one', 'NX', 'PX', '60000'), 'OK', 'the first')
    t.equal(ask('GET', 'job'), 'one', 'still its own')
    ask('PEXPIREAT', 'job', '1')  # and now its time is over
    t.equal(ask('SET', 'job', 'two', 'NX', 'PX', '60000'), 'OK', 'the second')
    free = ('EVAL', COMPARE_AND_DELETE, '1', 'job', 'one')
    t.equal(ask(*free), '0', 'in one step')
    t.equal(ask('DEL', 'job'), '1', 'in two: that of the second')
    t.equal(ask('SET', 'job', 'three', 'NX', 'PX', '60000'), 'OK',
            'a third one is inside beside the second')

    who_is_late_releases_nothing(t)


@case
def who_ends_between_setnx_and_expire_leaves_a_lock_for_ever(t):
    ask = fresh(t)
    t.equal(ask('SETNX', 'job', 'one'), '1', 'it is got')
    # Here its client ended.
    t.equal(ask('PTTL', 'job'), '-1', 'its time: none')
    t.equal(ask('SETNX', 'job', 'two'), '0', 'for ever')

    acquire(t, 'job', '--lease', '100ms')  # and nobody renews it
    t.check(int(ask('PTTL', 'holdfast:{job}')) > 0, 'its record ends, too')
    t.code(t.run('run', '--wait', '30s', 'job', '--', 'true'), 0)


@case
def a_key_of_the_articles_and_a_holdfast_name_are_two_locks(t):
    """So both ways of locking one thing do not exclude each other."""
    ask = fresh(t)
    t.equal(ask('SET', 'job', 'one', 'NX', 'PX', '60000'), 'OK', 'theirs')
    acquire(t, 'job', '--try')
    t.equal(ask('GET', 'job'), 'one', 'theirs is as it was')


if __name__ == '__main__':
    harness.main()
