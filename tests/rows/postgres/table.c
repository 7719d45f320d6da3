/* SPDX-License-Identifier: MIT */
/*
 * Which rows PostgreSQL can lock: those that a unique index answers for, of
 * tables that others see.
 */
#include "tests/rows/world.h"

TEST(a_rollback_to_a_savepoint_of_before_unlocks_the_row)
{
    AUTO_DB *db = enter();
    AUTO_DB *other = enter();

    make_accounts(db);
    tell(db, "BEGIN;SAVEPOINT mine");
    EXPECT_IS(lock_for(db, 1, 0), HF_OK);
    tell(db, "ROLLBACK TO SAVEPOINT mine");
    tell(other, "BEGIN");
    EXPECT_IS(lock_for(other, 1, 0), HF_OK);
}

static void expect_unsafe(struct db *db, const char *column)
{
    EXPECT_SAFE_IS(lock_where(db, "account", column, 1, NULL, 0), HF_EUNSAFE);
    EXPECT_HAS(err.text, "unique index");
    EXPECT_IS(info.in_transaction, 1);
}

TEST(without_a_unique_index_it_is_refused)
{
    AUTO_DB *db = enter();
    AUTO_DB *other = enter();

    make_accounts(db);
    tell(db, "ALTER TABLE account ADD a INT,ADD b INT,ADD c INT,ADD d INT,"
             "ADD e INT UNIQUE;"
             "CREATE INDEX ON account(n);"
             "CREATE UNIQUE INDEX ON account(a) WHERE a>0;"
             "ALTER TABLE account ADD UNIQUE(b) DEFERRABLE;"
             "CREATE UNIQUE INDEX ON account((c+0));"
             "CREATE UNIQUE INDEX ON account(d,e) INCLUDE(version);"
             "UPDATE account SET a=id,b=id,c=id,d=id,e=id");
    tell(db, "BEGIN");
    expect_unsafe(db, "n");
    expect_unsafe(db, "version");
    expect_unsafe(db, "a");
    expect_unsafe(db, "b");
    expect_unsafe(db, "c");
    expect_unsafe(db, "d");
    EXPECT_IS(lock_where(db, "account", "e", 1, NULL, 0), HF_OK);
    EXPECT_IS(lock_where(db, "account", "e", 2, "n", 200), HF_OK);
    EXPECT_IS(lock_where(db, "account", "e", 3, "n", 1), HF_ROW_GONE);
    /* Nothing was locked on the way. */
    tell(other, "UPDATE account SET n=n+1 WHERE id=3");
}

TEST(an_index_that_is_not_valid_does_not_count)
{
    AUTO_DB *db = enter();

    make_accounts(db);
    tell(db, "ALTER TABLE account ADD u INT DEFAULT 1");
    EXPECT_TEXT(attempt(db, "CREATE UNIQUE INDEX CONCURRENTLY ON account(u)"),
                "23505");
    tell(db, "BEGIN");
    expect_unsafe(db, "u");
}

TEST(a_table_that_others_inherit_from_is_refused)
{
    AUTO_DB *db = enter();

    make_accounts(db);
    tell(db, "CREATE TABLE heir(PRIMARY KEY(id)) INHERITS(account);"
             "INSERT INTO heir(id,n) VALUES(1,5)");
    tell(db, "BEGIN");
    expect_refused(db, "account", "inherit");
    EXPECT_IS(lock_row(db, row_of("heir", 1), NULL, &info, &err), HF_OK);
}

TEST(a_lock_is_of_the_whole_row_and_its_writes_pass)
{
    AUTO_DB *db = enter();
    AUTO_DB *other = enter();

    make_accounts(db);
    tell(db, "CREATE TABLE entry(account INT REFERENCES account)");
    tell(db, "BEGIN");
    EXPECT_IS(lock_for(db, 1, 0), HF_OK);
    EXPECT_IS(lock_for(db, 1, 0), HF_OK);
    EXPECT_IS(changed(db, "UPDATE account SET n=1 WHERE id=1"), 1);
    tell(other, "SET lock_timeout=20");
    EXPECT_TEXT(attempt(other, "INSERT INTO entry VALUES(1)"), "55P03");
    tell(db, "COMMIT");
    EXPECT_TEXT(value(other, "SELECT n FROM account WHERE id=1"), "1");
}
