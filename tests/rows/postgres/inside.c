/* SPDX-License-Identifier: MIT */
/*
 * Updates by version within a transaction of PostgreSQL, whose older snapshot
 * ends it.
 */
#include "tests/rows/change.h"

#include <string.h>

TEST(a_snapshot_that_is_older_than_the_row_ends_the_transaction)
{
    AUTO_DB *db = enter();
    AUTO_DB *other = enter();
    struct change c = {.by = 1};
    hf_row_update u = by_version(&c);

    make_accounts(db);
    tell(db, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    EXPECT_TEXT(row_says(db, 1), "100 1");
    tell(other, "UPDATE account SET n=500,version=version+1 WHERE id=1");
    EXPECT_SAFE_IS(change(db, 1, &u), HF_DEADLOCK);
    EXPECT_TEXT(err.sqlstate, "40001");
    EXPECT_IS(info.tries, 1);
    EXPECT_IS(c.calls, 0);
    EXPECT_IS(info.in_transaction, 0);
    tell(db, "COMMIT"); /* which the server makes a ROLLBACK of */
    EXPECT_SAFE(strcmp(row_says(other, 1), "500 2") == 0);
}
