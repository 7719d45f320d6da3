/* SPDX-License-Identifier: MIT */
/*
 * All libraries in one program, once as archives and once as shared objects:
 * a lock's fence guards a row, and what the two for rows have alike is not in
 * each other's way.
 */
#include "include/holdfast-postgres.h"
#include "tests/rows/mysql/world.h"

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
    EXPECT_IS(changed(db, "UPDATE account SET n=1 WHERE id=1 AND %s", guard),
              1);
    tell(db, "COMMIT");
    EXPECT_IS(hf_release(lock, &err), HF_OK);
    hf_free(lock);
    hf_close(client);
}

TEST(rows_of_both_kinds_of_server_in_one_program)
{
    PGconn *none = PQconnectdb("host=/nobody");
    char guard[320];

    EXPECT_IS(hf_mysql_guard_sql(guard, sizeof guard, "f", 17, &err), HF_OK);
    EXPECT_TEXT(guard, "`f`<=17");
    EXPECT_IS(hf_postgres_guard_sql(guard, sizeof guard, "f", 17, &err), HF_OK);
    EXPECT_TEXT(guard, "\"f\"<=17");
    EXPECT_IS(
        hf_postgres_lock_row(none, row_of("account", 1), NULL, &info, &err),
        HF_EUNAVAIL);
    PQfinish(none);
}
