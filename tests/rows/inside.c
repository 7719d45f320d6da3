/* SPDX-License-Identifier: MIT */
/*
 * Updates by version within a transaction of the caller's, whose snapshot may
 * be old, and from many connections at once.
 */
#include "tests/rows/change.h"

#include <stdio.h>
#include <string.h>

static const char *const levels[] = {"READ UNCOMMITTED", "READ COMMITTED",
                                     "REPEATABLE READ", "SERIALIZABLE"};

TEST(in_a_transaction_the_row_is_read_as_it_is_now_and_locked)
{
    for (int i = 0; i < 4; i++) {
        AUTO_DB *db = enter_with(i % 2 == 0 ? 0 : CLIENT_FOUND_ROWS,
                                 hf__mariadb_port(server()));
        AUTO_DB *other = enter();
        struct change c = {.by = 1};
        hf_mysql_update u = by_version(&c);

        tell(db, "DROP TABLE IF EXISTS account");
        make_accounts(db);
        tell(db, "SET SESSION TRANSACTION ISOLATION LEVEL %s", levels[i]);
        tell(db, "BEGIN");
        if (i < 3) { /* a snapshot that grows old; SERIALIZABLE would lock */
            EXPECT_TEXT(row_says(db, 1), "100 1");
        }
        tell(other, "UPDATE account SET n=500,version=version+1 WHERE id=1");
        EXPECT_SAFE_IS(change(db, 1, &u), HF_OK);
        EXPECT_SAFE_IS(c.seen, 500);
        EXPECT_IS(info.tries, 1);
        EXPECT_IS(info.in_transaction, 1);
        tell(other, "BEGIN");
        EXPECT_SAFE_IS(lock_for(other, 1, 0), HF_BUSY);
        tell(db, "COMMIT");
        EXPECT_IS(lock_for(other, 1, 0), HF_OK);
        EXPECT_TEXT(row_says(other, 1), "501 3");
    }
}

TEST(with_autocommit_each_level_finds_the_newer_version)
{
    for (int i = 0; i < 4; i++) {
        AUTO_DB *db = enter_with(i % 2 == 0 ? 0 : CLIENT_FOUND_ROWS,
                                 hf__mariadb_port(server()));
        AUTO_DB *rival = enter();
        struct change c = {.by = 1,
                           .rival = rival,
                           .meanwhile =
                               "UPDATE account SET n=n+1000,version=version+1 "
                               "WHERE id=1",
                           .times = 2};
        hf_mysql_update u = by_version(&c);

        tell(db, "DROP TABLE IF EXISTS account");
        make_accounts(db);
        tell(db, "SET SESSION TRANSACTION ISOLATION LEVEL %s", levels[i]);
        EXPECT_SAFE_IS(change(db, 1, &u), HF_OK);
        EXPECT_TEXT(row_says(db, 1), "2101 4");
    }
}

TEST(a_rollback_of_the_caller_takes_the_change_back)
{
    AUTO_DB *db = enter();
    struct change c = {.by = 1};
    hf_mysql_update u = by_version(&c);

    make_accounts(db);
    tell(db, "BEGIN");
    EXPECT_IS(change(db, 1, &u), HF_OK);
    EXPECT_IS(change(db, 1, &u), HF_OK);
    EXPECT_IS(change(db, 99, &u), HF_MYSQL_GONE);
    EXPECT_TEXT(row_says(db, 1), "102 3");
    tell(db, "ROLLBACK");
    EXPECT_TEXT(row_says(db, 1), "100 1");
}

/* ---- many at once */

enum { SELLERS = 4, SALES = 25 };

static void sell(void *arg)
{
    AUTO_DB *db = enter();
    struct change c = {.by = -1};
    hf_mysql_update u = by_version(&c);

    (void)arg;
    u.retries = HF_MYSQL_RETRIES_MAX;
    u.limit_ms = 60000;
    for (int i = 0; i < SALES; i++) {
        EXPECT_IS(change(db, 1, &u), HF_OK);
    }
}

TEST(many_who_change_one_row_lose_no_change)
{
    AUTO_DB *db = enter();
    struct hf__test_thread *threads[SELLERS];

    make_accounts(db);
    hf__test_start_all(threads, SELLERS, sell, NULL);
    hf__test_join_all(threads, SELLERS);
    EXPECT_SAFE(strcmp(row_says(db, 1), "0 101") == 0);
}

/* ---- others at the row */

TEST(in_a_transaction_a_locked_row_is_busy_and_all_else_stays)
{
    AUTO_DB *db = enter();
    AUTO_DB *other = enter();
    struct change c = {.by = 1};
    hf_mysql_update u = by_version(&c);
    char before[512];

    make_accounts(db);
    tell(other, "BEGIN");
    EXPECT_IS(lock_for(other, 1, 0), HF_OK);
    snprintf(before, sizeof before, "%s", session_of(db));
    tell(db, "BEGIN");
    tell(db, "UPDATE account SET n=7 WHERE id=3");
    u.limit_ms = 1000;
    EXPECT_IS(change(db, 1, &u), HF_BUSY);
    EXPECT_IS(c.calls, 0);
    EXPECT_IS(info.in_transaction, 1);
    EXPECT_TEXT(session_of(db), before);
    tell(db, "COMMIT");
    EXPECT_TEXT(row_says(other, 3), "7 1");
}

struct changer {
    MYSQL *db;
    int64_t id;
    int status;
    hf_mysql_info info;
};

static void change_other(void *arg)
{
    struct changer *w = arg;
    struct change c = {.by = 1};
    hf_mysql_update u = by_version(&c);

    u.limit_ms = 60000;
    w->status = change(w->db, w->id, &u);
    w->info = info;
    if (w->status == HF_OK) {
        tell(w->db, "COMMIT");
    }
}

TEST(in_a_transaction_a_deadlock_ends_one_and_the_other_goes_on)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();
    struct changer first = {a, 2, -1, HF_MYSQL_INFO_INIT};
    struct changer second = {b, 1, -1, HF_MYSQL_INFO_INIT};
    struct hf__test_thread *thread;

    make_accounts(a);
    tell(a, "BEGIN");
    tell(b, "BEGIN");
    EXPECT_IS(lock_for(a, 1, 0), HF_OK);
    EXPECT_IS(lock_for(b, 2, 0), HF_OK);
    thread = hf__test_start(change_other, &first);
    UNTIL(waiting() == 1);
    change_other(&second);
    hf__test_join(thread);
    EXPECT_SAFE_IS(first.status + second.status, HF_OK + HF_DEADLOCK);
    EXPECT_SAFE_IS(
        (first.status == HF_DEADLOCK ? first : second).info.in_transaction, 0);
    EXPECT_IS((first.status == HF_OK ? first : second).info.in_transaction, 1);
}

TEST(a_transaction_outlives_a_change_that_is_refused)
{
    AUTO_DB *db = enter();
    struct change c = {.by = 1};
    hf_mysql_update u = by_version(&c);

    make_accounts(db);
    tell(db, "ALTER TABLE account ADD UNIQUE only_one(n)");
    tell(db, "BEGIN");
    EXPECT_IS(change(db, 1, &u), HF_OK);
    c.by = 99;
    EXPECT_IS(change(db, 1, &u), HF_MYSQL_EREFUSED);
    EXPECT_IS(info.in_transaction, 1);
    tell(db, "COMMIT");
    EXPECT_TEXT(row_says(db, 1), "101 2");
}
