/* SPDX-License-Identifier: MIT */
/*
 * Waiting for a row on MySQL: settings of the server that change what comes of
 * it.
 */
#include "tests/rows/mysql/world.h"

#include <stdio.h>

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
        char before[VALUE];

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
