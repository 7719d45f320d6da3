/* SPDX-License-Identifier: MIT */
/*
 * Waiting for a row: how long, what comes then, and that the session and its
 * transaction are as they were.
 */
#include "tests/rows/world.h"

#include <stdio.h>
#include <string.h>

/* ---- patience */

TEST(a_wait_ends_at_its_limit_and_leaves_the_transaction_open)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();
    char before[VALUE];
    int64_t start;

    make_accounts(a);
    tell(a, "BEGIN");
    EXPECT_IS(lock_for(a, 1, HF_FOREVER), HF_OK);
    tell(b, "%s", its.far_limit);
    snprintf(before, sizeof before, "%s", session_of(b));
    tell(b, "BEGIN");
    tell(b, "UPDATE account SET n=7 WHERE id=3");
    start = hf__test_now_ms();
    /* MySQL counts seconds: 0.3 is 1. */
    EXPECT_SAFE_IS(lock_for(b, 1, 300), HF_BUSY);
    EXPECT_MORE(hf__test_now_ms() - start, its.kind == ON_MYSQL ? 500 : 250);
    EXPECT_TEXT(said(), its.busy);
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
    char before[VALUE];

    EXPECT_TEXT(value(a, "%s", its.show_limit), its.limit);
    make_accounts(a);
    tell(a, "BEGIN");
    EXPECT_IS(lock_for(a, 1, HF_FOREVER), HF_OK);
    tell(b, "BEGIN");
    tell(b, "%s", its.near_limit);
    snprintf(before, sizeof before, "%s", session_of(b));
    EXPECT_IS(lock_for(b, 1, HF_FOREVER), HF_BUSY);
    EXPECT_IS(lock_row(b, row_of("account", 1), NULL, &info, &err), HF_BUSY);
    EXPECT_TEXT(session_of(b), before);
    EXPECT_IS(info.in_transaction, 1);
}

TEST(a_table_that_is_being_altered_is_not_waited_for_longer)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();
    char before[VALUE];

    make_accounts(a);
    tell(a, "%s", its.close_table);
    tell(b, "BEGIN");
    snprintf(before, sizeof before, "%s", session_of(b));
    EXPECT_IS(lock_for(b, 1, its.tick_ms), HF_BUSY);
    EXPECT_IS(lock_for(b, 1, 0), HF_BUSY);
    EXPECT_IS(lock_skipping(b, 1), HF_BUSY);
    EXPECT_IS(info.in_transaction, 1);
    EXPECT_TEXT(session_of(b), before);
}

TEST(who_waits_gets_the_row_as_it_is_committed)
{
    for (int i = 0; i < its.n_patient; i++) {
        AUTO_DB *a = enter();
        AUTO_DB *b = enter();
        struct waiter w = {b, 60000, 1, -1, HF_ROW_INFO_INIT};
        struct hf__test_thread *thread;

        make_accounts(a);
        set_level(b, its.levels[i]);
        tell(a, "BEGIN");
        tell(a, "UPDATE account SET n=111 WHERE id=1");
        tell(b, "BEGIN");
        thread = hf__test_start(wait_for_row, &w);
        UNTIL(waiting() == 1);
        tell(a, "COMMIT");
        hf__test_join(thread);
        EXPECT_SAFE_IS(w.status, HF_OK);
        /* The call took no snapshot before it waited. */
        EXPECT_SAFE(
            strcmp(value(b, "SELECT n FROM account WHERE id=1"), "111") == 0);
        tell(a, "BEGIN");
        EXPECT_SAFE_IS(lock_for(a, 1, 0), HF_BUSY);
        tell(a, "COMMIT");
    }
}

TEST(who_waits_for_a_row_that_is_replaced_gets_the_new_one)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();
    struct waiter w = {b, 60000, 1, -1, HF_ROW_INFO_INIT};
    struct hf__test_thread *thread;

    make_accounts(a);
    tell(a, "BEGIN");
    tell(a, "DELETE FROM account WHERE id=1");
    tell(a, "INSERT INTO account(id,n) VALUES(1,5)");
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

TEST(the_row_is_locked_as_it_is_now_also_behind_an_older_snapshot)
{
    for (int i = 0; i < its.n_fresh; i++) {
        AUTO_DB *a = enter();
        AUTO_DB *b = enter();
        char before[VALUE];

        make_accounts(a);
        set_level(b, its.levels[i]);
        snprintf(before, sizeof before, "%s", session_of(b));
        tell(b, "BEGIN");
        EXPECT_TEXT(value(b, "SELECT n FROM account WHERE id=1"), "100");
        tell(a, "UPDATE account SET n=111 WHERE id=1");
        EXPECT_IS(lock_for(b, 1, 0), HF_OK);
        EXPECT_TEXT(value(b, "SELECT n FROM account WHERE id=1 FOR UPDATE"),
                    "111");
        EXPECT_TEXT(session_of(b), before);
        tell(b, "COMMIT");
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
    if (its.kind == ON_POSTGRES) {
        EXPECT_TEXT(said(), ""); /* no error to the server */
    }
    EXPECT_IS(lock_skipping(b, 2), HF_OK);
    EXPECT_IS(lock_skipping(b, 99), HF_ROW_GONE);
    EXPECT_IS(info.in_transaction, 1);
    tell(a, "COMMIT");
    tell(a, "BEGIN");
    EXPECT_SAFE_IS(lock_for(a, 2, 0), HF_BUSY);
    EXPECT_IS(lock_skipping(b, 1), HF_OK);
}

/* ---- ends */

/* On PostgreSQL the other waits until the one is rolled back, which is for the
 * caller. */
static void wait_and_end(void *arg)
{
    struct waiter *w = arg;

    wait_for_row(w);
    EXPECT_IS(state_of(w->db) == 'T', w->info.in_transaction);
    tell(w->db, w->status == HF_OK ? "COMMIT" : "ROLLBACK");
}

TEST(a_deadlock_is_an_outcome_of_its_own_and_ends_the_transaction)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();
    struct waiter first = {a, 60000, 2, -1, HF_ROW_INFO_INIT};
    struct waiter second = {b, 60000, 1, -1, HF_ROW_INFO_INIT};
    struct hf__test_thread *thread;
    char before[VALUE];

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
        EXPECT_TEXT(said(), its.deadlock);
        EXPECT_HAS(err.text, "begin it again");
    }
}

TEST(a_statement_that_is_cancelled_locks_nothing_and_ends_nothing)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();
    struct waiter w = {b, 60000, 1, -1, HF_ROW_INFO_INIT};
    struct hf__test_thread *thread;
    char before[VALUE];

    make_accounts(a);
    snprintf(before, sizeof before, "%s", session_of(b));
    tell(a, "BEGIN");
    EXPECT_IS(lock_for(a, 1, 0), HF_OK);
    tell(b, "BEGIN");
    tell(b, "UPDATE account SET n=7 WHERE id=3");
    thread = hf__test_start(wait_for_row, &w);
    UNTIL(waiting() == 1);
    cancel(a, b);
    hf__test_join(thread);
    EXPECT_IS(w.status, HF_EUNAVAIL);
    EXPECT_IS(w.info.in_transaction, 1);
    EXPECT_TEXT(session_of(b), before);
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
    end_session(a, b);
    EXPECT_IS(lock_for(b, 2, 0), HF_EUNAVAIL);
    EXPECT_NOT(info.in_transaction, 1);
    if (its.kind == ON_POSTGRES) { /* whose client library knows it */
        EXPECT_IS(info.in_transaction, 0);
    }
    EXPECT_IS(lock_for(b, 2, 0), HF_EUNAVAIL);
    tell(a, "BEGIN");
    UNTIL(lock_for(a, 1, 0) == HF_OK);
}
