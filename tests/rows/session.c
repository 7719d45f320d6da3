/* SPDX-License-Identifier: MIT */
/*
 * Waiting for a row: how long, what the server does when that is over, and
 * that the session and its transaction are as they were.
 */
#include "tests/rows/world.h"

#include <stdio.h>
#include <string.h>

static const char *const levels[] = {"READ UNCOMMITTED", "READ COMMITTED",
                                     "REPEATABLE READ", "SERIALIZABLE"};

static int lock_skipping(MYSQL *db, int64_t id)
{
    hf_mysql_lock_opts opts = HF_MYSQL_LOCK_OPTS_INIT;

    opts.wait_ms = 0;
    opts.skip_locked = 1;
    return hf_mysql_lock_row(db, row_of("account", id), &opts, &info, &err);
}

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
    snprintf(before, sizeof before, "%s", session_of(b));
    tell(b, "BEGIN");
    tell(b, "UPDATE account SET n=7 WHERE id=3");
    start = hf__test_now_ms();
    /* The server counts seconds: 0.3 is 1. */
    EXPECT_IS(lock_for(b, 1, 300), HF_BUSY);
    EXPECT_MORE(hf__test_now_ms() - start, 500);
    EXPECT_IS(err.native, 1205);
    EXPECT_IS(info.in_transaction, 1);
    EXPECT_TEXT(session_of(b), before);
    tell(b, "COMMIT");
    EXPECT_TEXT(value(a, "SELECT n FROM account WHERE id=3"), "7");
}

TEST(the_sessions_own_limit_counts_if_none_is_given)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();

    EXPECT_TEXT(value(a, "SELECT @@innodb_lock_wait_timeout"), "50");
    make_accounts(a);
    tell(a, "BEGIN");
    EXPECT_IS(lock_for(a, 1, HF_FOREVER), HF_OK);
    tell(b, "SET SESSION innodb_lock_wait_timeout=1");
    tell(b, "BEGIN");
    EXPECT_IS(lock_for(b, 1, HF_FOREVER), HF_BUSY);
    EXPECT_IS(hf_mysql_lock_row(b, row_of("account", 1), NULL, &info, &err),
              HF_BUSY);
}

TEST(a_table_that_is_being_altered_is_not_waited_for_longer)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();
    char before[512];

    make_accounts(a);
    tell(a, "LOCK TABLES account WRITE");
    tell(b, "BEGIN");
    snprintf(before, sizeof before, "%s", session_of(b));
    EXPECT_IS(lock_for(b, 1, 1000), HF_BUSY);
    EXPECT_IS(lock_for(b, 1, 0), HF_BUSY);
    EXPECT_IS(info.in_transaction, 1);
    EXPECT_TEXT(session_of(b), before);
}

struct waiter {
    MYSQL *db;
    int64_t wait_ms;
    int64_t id;
    int status;
    hf_mysql_info info;
};

static void wait_for_row(void *arg)
{
    struct waiter *w = arg;

    w->status = lock_for(w->db, w->id, w->wait_ms);
    w->info = info;
}

TEST(who_waits_gets_the_row_as_it_is_committed)
{
    for (int i = 0; i < 4; i++) {
        AUTO_DB *a = enter();
        AUTO_DB *b = enter();
        struct waiter w = {b, 60000, 1, -1, HF_MYSQL_INFO_INIT};
        struct hf__test_thread *thread;

        tell(a, "DROP TABLE IF EXISTS account");
        make_accounts(a);
        tell(b, "SET SESSION TRANSACTION ISOLATION LEVEL %s", levels[i]);
        tell(a, "BEGIN");
        tell(a, "UPDATE account SET n=111 WHERE id=1");
        tell(b, "BEGIN");
        thread = hf__test_start(wait_for_row, &w);
        UNTIL(waiting() == 1);
        tell(a, "COMMIT");
        hf__test_join(thread);
        EXPECT_IS(w.status, HF_OK);
        /* The call took no snapshot before it waited. */
        EXPECT_SAFE(
            strcmp(value(b, "SELECT n FROM account WHERE id=1"), "111") == 0);
        tell(b, "COMMIT");
    }
}

TEST(the_row_is_locked_as_it_is_now_also_behind_an_older_snapshot)
{
    for (int i = 0; i < 3; i++) {
        AUTO_DB *a = enter();
        AUTO_DB *b = enter();

        tell(a, "DROP TABLE IF EXISTS account");
        make_accounts(a);
        tell(b, "SET SESSION TRANSACTION ISOLATION LEVEL %s", levels[i]);
        tell(b, "BEGIN");
        EXPECT_TEXT(value(b, "SELECT n FROM account WHERE id=1"), "100");
        tell(a, "UPDATE account SET n=111 WHERE id=1");
        EXPECT_IS(lock_for(b, 1, 0), HF_OK);
        EXPECT_TEXT(value(b, "SELECT n FROM account WHERE id=1 FOR UPDATE"),
                    "111");
        EXPECT_TEXT(value(b, "SELECT @@tx_isolation='%s'",
                          i == 0   ? "READ-UNCOMMITTED"
                          : i == 1 ? "READ-COMMITTED"
                                   : "REPEATABLE-READ"),
                    "1");
        tell(b, "COMMIT");
    }
}

TEST(a_row_that_changed_after_the_snapshot_is_a_conflict_where_that_is_asked)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();

    make_accounts(a);
    tell(b, "SET SESSION innodb_snapshot_isolation=ON");
    tell(b, "BEGIN");
    EXPECT_TEXT(value(b, "SELECT n FROM account WHERE id=1"), "100");
    tell(a, "UPDATE account SET n=111 WHERE id=1");
    EXPECT_IS(lock_for(b, 1, 0), HF_CONFLICT);
    EXPECT_IS(err.native, 1020);
    EXPECT_TEXT(value(b, "SELECT @@in_transaction"),
                info.in_transaction == 1 ? "1" : "0");
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
    EXPECT_IS(lock_skipping(b, 2), HF_OK);
    EXPECT_IS(lock_skipping(b, 99), HF_MYSQL_GONE);
    EXPECT_IS(info.in_transaction, 1);
    tell(a, "BEGIN");
    EXPECT_SAFE_IS(lock_for(a, 2, 0), HF_BUSY);
    EXPECT_IS(lock_skipping(b, 1), HF_OK);
}

TEST(where_a_timeout_rolls_back_it_is_told_and_skip_locked_does_not)
{
    static const char *const options[] = {"--innodb-rollback-on-timeout=ON",
                                          NULL};
    struct hf__mariadb *m =
        hf__mariadb_start(&(struct hf__mariadb_opts){.extra = options});

    use_server(m);
    {
        AUTO_DB *a = enter();
        AUTO_DB *b = enter();
        char before[512];

        make_accounts(a);
        tell(a, "BEGIN");
        EXPECT_IS(lock_for(a, 1, 0), HF_OK);
        snprintf(before, sizeof before, "%s", session_of(b));
        tell(b, "BEGIN");
        tell(b, "UPDATE account SET n=7 WHERE id=3");
        EXPECT_IS(lock_skipping(b, 1), HF_BUSY);
        EXPECT_IS(info.in_transaction, 1);
        EXPECT_HAS(err.text, "or there is none");
        EXPECT_IS(lock_for(b, 1, 1000), HF_BUSY);
        EXPECT_SAFE_IS(info.in_transaction, 0);
        EXPECT_HAS(err.text, "rolled the transaction back");
        EXPECT_TEXT(session_of(b), before);
        EXPECT_TEXT(value(b, "SELECT n FROM account WHERE id=3"), "300");
        tell(b, "BEGIN");
        EXPECT_IS(lock_for(b, 1, 0), HF_BUSY);
        /* NOWAIT is such a timeout, too. */
        EXPECT_SAFE_IS(info.in_transaction, 0);
    }
    hf__mariadb_free(m);
}

/* ---- deadlocks */

TEST(a_deadlock_is_an_outcome_of_its_own_and_ends_the_transaction)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();
    struct waiter w = {a, 60000, 2, -1, HF_MYSQL_INFO_INIT};
    struct hf__test_thread *thread;
    char before[512];
    int status;
    bool is_a;

    make_accounts(a);
    snprintf(before, sizeof before, "%s", session_of(a));
    tell(a, "BEGIN");
    tell(b, "BEGIN");
    EXPECT_IS(lock_for(a, 1, 0), HF_OK);
    EXPECT_IS(lock_for(b, 2, 0), HF_OK);
    thread = hf__test_start(wait_for_row, &w);
    UNTIL(waiting() == 1);
    status = lock_for(b, 1, 60000);
    if (status == HF_OK) {
        tell(b, "COMMIT");
    }
    hf__test_join(thread);
    is_a = w.status == HF_DEADLOCK;
    EXPECT_IS(is_a ? status : w.status, is_a ? HF_OK : HF_BUSY - 1);
    EXPECT_SAFE_IS(is_a ? w.status : status, HF_DEADLOCK);
    EXPECT_SAFE_IS(is_a ? w.info.in_transaction : info.in_transaction, 0);
    EXPECT_TEXT(session_of(a), before);
    EXPECT_TEXT(session_of(b), before);
    if (!is_a) {
        EXPECT_IS(err.native, 1213);
        EXPECT_HAS(err.text, "begin it again");
        EXPECT_TEXT(value(b, "SELECT @@in_transaction"), "0");
    }
}

TEST(a_statement_that_is_killed_locks_nothing_and_puts_the_limits_back)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();
    struct waiter w = {b, 60000, 1, -1, HF_MYSQL_INFO_INIT};
    struct hf__test_thread *thread;
    char before[512];

    make_accounts(a);
    snprintf(before, sizeof before, "%s", session_of(b));
    tell(a, "BEGIN");
    EXPECT_IS(lock_for(a, 1, 0), HF_OK);
    tell(b, "BEGIN");
    thread = hf__test_start(wait_for_row, &w);
    UNTIL(waiting() == 1);
    tell(a, "KILL QUERY %lu", mysql_thread_id(b));
    hf__test_join(thread);
    EXPECT_IS(w.status, HF_EUNAVAIL);
    EXPECT_IS(w.info.in_transaction, 1);
    EXPECT_TEXT(session_of(b), before);
}

TEST(a_connection_that_is_ended_takes_the_transaction_along)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();

    make_accounts(a);
    tell(b, "BEGIN");
    EXPECT_IS(lock_for(b, 1, 0), HF_OK);
    tell(a, "KILL %lu", mysql_thread_id(b));
    EXPECT_IS(lock_for(b, 2, 0), HF_EUNAVAIL);
    tell(a, "BEGIN");
    UNTIL(lock_for(a, 1, 0) == HF_OK);
}
