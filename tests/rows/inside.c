/* SPDX-License-Identifier: MIT */
/*
 * Updates by version within a transaction of the caller's, whose snapshot may
 * be old, and from many connections at once.
 */
#include "tests/rows/change.h"

#include <string.h>

TEST(in_a_transaction_the_row_is_read_as_it_is_now_and_locked)
{
    for (int m = 0; m < its.n_manners; m++) {
        AUTO_DB *db = enter_as(m);
        AUTO_DB *other = enter();
        struct change c = {.by = 1};
        hf_row_update u = by_version(&c);

        make_accounts(db);
        tell(db, "BEGIN");
        if (level_of(m) < its.n_fresh) { /* a snapshot that grows old */
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
        tell(other, "COMMIT");
    }
}

TEST(a_rollback_of_the_caller_takes_the_change_back)
{
    AUTO_DB *db = enter();
    struct change c = {.by = 1};
    hf_row_update u = by_version(&c);

    make_accounts(db);
    tell(db, "BEGIN");
    EXPECT_IS(change(db, 1, &u), HF_OK);
    EXPECT_IS(change(db, 1, &u), HF_OK);
    EXPECT_IS(change(db, 99, &u), HF_ROW_GONE);
    EXPECT_TEXT(row_says(db, 1), "102 3");
    tell(db, "ROLLBACK");
    EXPECT_TEXT(row_says(db, 1), "100 1");
}

TEST(a_transaction_outlives_a_change_that_is_refused)
{
    AUTO_DB *db = enter();
    struct change c = {.by = 1};
    hf_row_update u = by_version(&c);

    make_accounts(db);
    tell(db, "ALTER TABLE account ADD UNIQUE(n)");
    tell(db, "BEGIN");
    EXPECT_IS(change(db, 1, &u), HF_OK);
    c.by = 99;
    EXPECT_IS(change(db, 1, &u), HF_ROW_EREFUSED);
    EXPECT_IS(info.in_transaction, 1);
    tell(db, "COMMIT");
    EXPECT_TEXT(row_says(db, 1), "101 2");
}

/* ---- many at once */

enum { SELLERS = 4, SALES = 25 };

static void sell(void *arg)
{
    AUTO_DB *db = enter();
    struct change c = {.by = -1};
    hf_row_update u = by_version(&c);

    u.retries = HF_ROW_RETRIES_MAX;
    u.limit_ms = 60000;
    set_level(db, arg);
    for (int i = 0; i < SALES; i++) {
        EXPECT_IS(change(db, 1, &u), HF_OK);
    }
}

TEST(many_who_change_one_row_lose_no_change)
{
    static char levels[][20] = {"READ COMMITTED", "REPEATABLE READ"};
    AUTO_DB *db = enter();

    for (int i = 0; i < 2; i++) {
        struct hf__test_thread *threads[SELLERS];

        make_accounts(db);
        hf__test_start_all(threads, SELLERS, sell, levels[i]);
        hf__test_join_all(threads, SELLERS);
        EXPECT_SAFE(strcmp(row_says(db, 1), "0 101") == 0);
    }
}

/* ---- a deadlock */

static void change_other(void *arg)
{
    struct waiter *w = arg;
    struct change c = {.by = 1};
    hf_row_update u = by_version(&c);

    u.limit_ms = w->wait_ms;
    w->status = change(w->db, w->id, &u);
    w->info = info;
    tell(w->db, w->status == HF_OK ? "COMMIT" : "ROLLBACK");
}

TEST(in_a_transaction_a_deadlock_ends_one_and_the_other_goes_on)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();
    struct waiter first = {a, 60000, 2, -1, HF_ROW_INFO_INIT};
    struct waiter second = {b, 60000, 1, -1, HF_ROW_INFO_INIT};
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
