/* SPDX-License-Identifier: MIT */
/*
 * Waiting for a row: how long, what comes then, and that the session and its
 * transaction are as they were.
 */
#include "tests/rows/postgres/world.h"

#include <stdio.h>
#include <string.h>

/* ---- patience */

TEST(a_wait_ends_at_its_limit_and_leaves_the_transaction_open)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();
    char before[512];
    int64_t start;

    make_accounts(a);
    tell(a, "BEGIN");
    EXPECT_IS(lock_for(a, 1, HF_FOREVER), HF_OK);
    tell(b, "SET lock_timeout='7min'");
    snprintf(before, sizeof before, "%s", session_of(b));
    tell(b, "BEGIN;UPDATE account SET n=7 WHERE id=3");
    start = hf__test_now_ms();
    EXPECT_SAFE_IS(lock_for(b, 1, 300), HF_BUSY);
    EXPECT_MORE(hf__test_now_ms() - start, 250);
    EXPECT_TEXT(err.sqlstate, "55P03");
    EXPECT_HAS(err.text, "account");
    EXPECT_SAFE_IS(info.in_transaction, 1);
    EXPECT_TEXT(session_of(b), before);
    EXPECT_IS(lock_for(b, 2, 300), HF_OK);
    EXPECT_TEXT(session_of(b), before); /* put back, not rolled back */
    tell(b, "COMMIT");
    EXPECT_TEXT(session_of(b), before);
    EXPECT_TEXT(value(a, "SELECT n FROM account WHERE id=3"), "7");
}

TEST(the_sessions_own_limit_counts_if_none_is_given)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();

    make_accounts(a);
    tell(a, "BEGIN");
    EXPECT_IS(lock_for(a, 1, HF_FOREVER), HF_OK);
    tell(b, "BEGIN;SET LOCAL lock_timeout=20");
    EXPECT_IS(lock_for(b, 1, HF_FOREVER), HF_BUSY);
    EXPECT_IS(hf_postgres_lock_row(b, row_of("account", 1), NULL, &info, &err),
              HF_BUSY);
    EXPECT_TEXT(value(b, "SHOW lock_timeout"), "20ms");
    EXPECT_IS(info.in_transaction, 1);
}

TEST(a_table_that_is_being_altered_is_not_waited_for_longer)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();

    make_accounts(a);
    tell(a, "BEGIN;LOCK TABLE account");
    tell(b, "BEGIN");
    EXPECT_IS(lock_for(b, 1, 100), HF_BUSY);
    EXPECT_IS(lock_for(b, 1, 0), HF_BUSY);
    EXPECT_IS(lock_skipping(b, 1), HF_BUSY);
    EXPECT_IS(info.in_transaction, 1);
}

TEST(who_waits_gets_the_row_as_it_is_committed)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();
    struct waiter w = {b, 60000, 1, -1, HF_ROW_INFO_INIT};
    struct hf__test_thread *thread;

    make_accounts(a);
    tell(a, "BEGIN;UPDATE account SET n=111 WHERE id=1");
    tell(b, "BEGIN");
    thread = hf__test_start(wait_for_row, &w);
    UNTIL(waiting() == 1);
    tell(a, "COMMIT");
    hf__test_join(thread);
    EXPECT_SAFE_IS(w.status, HF_OK);
    EXPECT_SAFE(strcmp(value(b, "SELECT n FROM account WHERE id=1"), "111") ==
                0);
    tell(a, "BEGIN");
    EXPECT_SAFE_IS(lock_for(a, 1, 0), HF_BUSY);
}

TEST(who_waits_for_a_row_that_is_replaced_gets_the_new_one)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();
    struct waiter w = {b, 60000, 1, -1, HF_ROW_INFO_INIT};
    struct hf__test_thread *thread;

    make_accounts(a);
    tell(a, "BEGIN;DELETE FROM account WHERE id=1;"
            "INSERT INTO account(id,n) VALUES(1,5)");
    tell(b, "BEGIN");
    thread = hf__test_start(wait_for_row, &w);
    UNTIL(waiting() == 1);
    tell(a, "COMMIT");
    hf__test_join(thread);
    EXPECT_SAFE_IS(w.status, HF_OK);
    tell(a, "BEGIN");
    EXPECT_SAFE_IS(lock_for(a, 1, 0), HF_BUSY);
    EXPECT_TEXT(value(b, "SELECT n FROM account WHERE id=1"), "5");
}

/* ---- snapshots */

TEST(read_committed_locks_the_row_as_it_is_now)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();

    make_accounts(a);
    tell(b, "BEGIN");
    EXPECT_TEXT(value(b, "SELECT n FROM account WHERE id=1"), "100");
    tell(a, "UPDATE account SET n=111 WHERE id=1");
    EXPECT_IS(lock_for(b, 1, 0), HF_OK);
    EXPECT_TEXT(value(b, "SELECT n FROM account WHERE id=1"), "111");
}

TEST(a_row_that_changed_after_the_snapshot_ends_the_transaction)
{
    static const char *const levels[] = {"REPEATABLE READ", "SERIALIZABLE"};

    for (int i = 0; i < 4; i++) {
        AUTO_DB *a = enter();
        AUTO_DB *b = enter();

        tell(a, "DROP TABLE IF EXISTS account CASCADE");
        make_accounts(a);
        tell(b, "BEGIN ISOLATION LEVEL %s", levels[i / 2]);
        EXPECT_TEXT(value(b, "SELECT n FROM account WHERE id=1"), "100");
        EXPECT_IS(lock_for(b, 2, 0), HF_OK);
        tell(a, "UPDATE account SET n=111 WHERE id=1");
        EXPECT_SAFE_IS(i % 2 == 0 ? lock_for(b, 1, 1000) : lock_skipping(b, 1),
                       HF_DEADLOCK);
        EXPECT_TEXT(err.sqlstate, "40001");
        EXPECT_HAS(err.text, "begin it again");
        EXPECT_SAFE_IS(info.in_transaction, 0);
        EXPECT_TEXT(attempt(b, "SELECT 1"), "25P02");
        /* What comes next is told without asking the server. */
        EXPECT_IS(lock_for(b, 2, 0), HF_EINVAL);
        EXPECT_HAS(err.text, "ROLLBACK");
        EXPECT_IS(info.in_transaction, 0);
        tell(b, "ROLLBACK;BEGIN ISOLATION LEVEL %s", levels[i / 2]);
        EXPECT_IS(lock_for(b, 1, 0), HF_OK);
    }
}

/* ---- SKIP LOCKED */

TEST(skip_locked_tells_a_locked_row_from_one_that_is_not_there)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();

    make_accounts(a);
    tell(a, "BEGIN");
    EXPECT_IS(lock_for(a, 1, 0), HF_OK);
    tell(b, "BEGIN");
    EXPECT_SAFE_IS(lock_skipping(b, 1), HF_BUSY);
    EXPECT_TEXT(err.sqlstate, ""); /* no error to the server */
    EXPECT_IS(lock_skipping(b, 2), HF_OK);
    EXPECT_IS(lock_skipping(b, 99), HF_ROW_GONE);
    EXPECT_IS(info.in_transaction, 1);
    tell(a, "COMMIT;BEGIN");
    EXPECT_SAFE_IS(lock_for(a, 2, 0), HF_BUSY);
    EXPECT_IS(lock_skipping(b, 1), HF_OK);
}

/* ---- ends */

/* The other waits until the one is rolled back, which is for the caller. */
static void wait_and_end(void *arg)
{
    struct waiter *w = arg;

    wait_for_row(w);
    tell(w->db, w->status == HF_OK ? "COMMIT" : "ROLLBACK");
}

TEST(a_deadlock_is_an_outcome_of_its_own_and_ends_the_transaction)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();
    struct waiter first = {a, 60000, 2, -1, HF_ROW_INFO_INIT};
    struct waiter second = {b, 60000, 1, -1, HF_ROW_INFO_INIT};
    struct hf__test_thread *thread;
    char before[512];

    make_accounts(a);
    snprintf(before, sizeof before, "%s", session_of(a));
    tell(a, "BEGIN");
    tell(b, "BEGIN");
    EXPECT_IS(lock_for(a, 1, 0), HF_OK);
    EXPECT_IS(lock_for(b, 2, 0), HF_OK);
    thread = hf__test_start(wait_and_end, &first);
    UNTIL(waiting() == 1);
    wait_and_end(&second);
    hf__test_join(thread);
    EXPECT_SAFE_IS(first.status + second.status, HF_OK + HF_DEADLOCK);
    EXPECT_SAFE_IS(
        (first.status == HF_DEADLOCK ? first : second).info.in_transaction, 0);
    EXPECT_IS((first.status == HF_OK ? first : second).info.in_transaction, 1);
    EXPECT_TEXT(session_of(a), before);
    EXPECT_TEXT(session_of(b), before);
    if (second.status == HF_DEADLOCK) {
        EXPECT_TEXT(err.sqlstate, "40P01");
        EXPECT_HAS(err.text, "begin it again");
    }
}

TEST(a_statement_that_is_cancelled_locks_nothing_and_ends_nothing)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();
    struct waiter w = {b, 60000, 1, -1, HF_ROW_INFO_INIT};
    struct hf__test_thread *thread;
    char before[512];

    make_accounts(a);
    snprintf(before, sizeof before, "%s", session_of(b));
    tell(a, "BEGIN");
    EXPECT_IS(lock_for(a, 1, 0), HF_OK);
    tell(b, "BEGIN;UPDATE account SET n=7 WHERE id=3");
    thread = hf__test_start(wait_for_row, &w);
    UNTIL(waiting() == 1);
    tell(a, "SELECT pg_cancel_backend(%d)", PQbackendPID(b));
    hf__test_join(thread);
    EXPECT_IS(w.status, HF_EUNAVAIL);
    EXPECT_IS(w.info.in_transaction, 1);
    EXPECT_TEXT(session_of(b), before);
    tell(b, "SET LOCAL statement_timeout=50");
    EXPECT_IS(lock_for(b, 1, 60000), HF_EUNAVAIL);
    EXPECT_TEXT(err.sqlstate, "57014");
    tell(b, "COMMIT");
    EXPECT_TEXT(value(a, "SELECT n FROM account WHERE id=3"), "7");
}

TEST(a_connection_that_is_ended_takes_the_transaction_along)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();

    make_accounts(a);
    tell(b, "BEGIN");
    EXPECT_IS(lock_for(b, 1, 0), HF_OK);
    tell(a, "SELECT pg_terminate_backend(%d)", PQbackendPID(b));
    EXPECT_IS(lock_for(b, 2, 0), HF_EUNAVAIL);
    EXPECT_IS(info.in_transaction, 0);
    EXPECT_IS(lock_for(b, 2, 0), HF_EUNAVAIL);
    tell(a, "BEGIN");
    UNTIL(lock_for(a, 1, 0) == HF_OK);
}
