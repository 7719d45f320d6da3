/* SPDX-License-Identifier: MIT */
/*
 * Waiting for a row on PostgreSQL: what ends the caller's transaction, and what
 * does not.
 */
#include "tests/rows/postgres/world.h"

TEST(a_row_that_changed_after_the_snapshot_ends_the_transaction)
{
    static const char *const levels[] = {"REPEATABLE READ", "SERIALIZABLE"};

    for (int i = 0; i < 4; i++) {
        AUTO_DB *a = enter();
        AUTO_DB *b = enter();

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

TEST(a_statement_that_takes_too_long_is_no_wait)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();

    make_accounts(a);
    tell(a, "BEGIN");
    EXPECT_IS(lock_for(a, 1, 0), HF_OK);
    tell(b, "BEGIN;SET LOCAL statement_timeout=50");
    EXPECT_IS(lock_for(b, 1, 60000), HF_EUNAVAIL);
    EXPECT_TEXT(err.sqlstate, "57014");
    tell(b, "COMMIT");
}
