/* SPDX-License-Identifier: MIT */
/*
 * Both libraries in one program, once as archives and once as shared objects:
 * a lock's fence guards a row.
 */
#include "tests/rows/world.h"

TEST(a_lock_and_a_row_in_one_program)
{
    AUTO_DB *db = enter();
    hf_client *client = NULL;
    hf_lock *lock = NULL;
    char guard[320];

    make_accounts(db);
    EXPECT_IS(hf_open("memory:both", NULL, &client, &err), HF_OK);
    EXPECT_IS(hf_acquire(client, "account:1", NULL, &lock, &err), HF_OK);
    EXPECT_IS(hf_mysql_guard_sql(guard, sizeof guard, "version", hf_fence(lock),
                                 &err),
              HF_OK);
    tell(db, "BEGIN");
    EXPECT_IS(lock_for(db, 1, 0), HF_OK);
    tell(db, "UPDATE account SET n=1 WHERE id=1 AND %s", guard);
    EXPECT_IS(mysql_affected_rows(db), 1);
    tell(db, "COMMIT");
    EXPECT_IS(hf_release(lock, &err), HF_OK);
    hf_free(lock);
    hf_close(client);
}
