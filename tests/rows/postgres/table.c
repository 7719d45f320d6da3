/* SPDX-License-Identifier: MIT */
/*
 * Which rows can be locked at all: those that a unique index answers for, of
 * tables that others see, within a transaction.
 */
#include "tests/rows/postgres/world.h"

#include <string.h>

/* Asks for the row where these columns have integers. */
static int lock_where(PGconn *db, const char *table, const char *a, int64_t x,
                      const char *b, int64_t y)
{
    const hf_row_column key[] = {{a, {HF_ROW_INT, x, NULL, 0}},
                                 {b, {HF_ROW_INT, y, NULL, 0}}};
    const hf_row row = {sizeof row, NULL, table, key, b == NULL ? 1 : 2};

    return hf_postgres_lock_row(db, &row, NULL, &info, &err);
}

TEST(a_row_is_locked_until_the_transaction_ends)
{
    AUTO_DB *db = enter();
    AUTO_DB *other = enter();

    make_accounts(db);
    tell(db, "BEGIN");
    EXPECT_IS(lock_for(db, 1, HF_FOREVER), HF_OK);
    EXPECT_IS(info.in_transaction, 1);
    EXPECT_SAFE(strcmp(attempt(other, "SELECT 1 FROM account WHERE id=1 FOR "
                                      "UPDATE NOWAIT"),
                       "55P03") == 0);
    tell(other, "BEGIN");
    /* That row and no other. */
    EXPECT_IS(lock_for(other, 2, 0), HF_OK);
    EXPECT_SAFE_IS(lock_for(other, 1, 0), HF_BUSY);
    EXPECT_HAS(err.text, "account");
    EXPECT_TEXT(err.sqlstate, "55P03");
    tell(db, "COMMIT");
    EXPECT_IS(lock_for(other, 1, 0), HF_OK);
    tell(other, "ROLLBACK");
    tell(db, "BEGIN");
    EXPECT_IS(lock_for(db, 1, 0), HF_OK);
}

TEST(a_rollback_to_a_savepoint_of_before_unlocks_the_row)
{
    AUTO_DB *db = enter();
    AUTO_DB *other = enter();

    make_accounts(db);
    tell(db, "BEGIN;UPDATE account SET n=7 WHERE id=3;SAVEPOINT mine;"
             "UPDATE account SET n=8 WHERE id=3");
    EXPECT_IS(lock_for(db, 1, 0), HF_OK);
    EXPECT_IS(lock_for(db, 99, 0), HF_ROW_GONE);
    EXPECT_TEXT(value(db, "SELECT n FROM account WHERE id=3"), "8");
    tell(db, "ROLLBACK TO SAVEPOINT mine");
    tell(other, "BEGIN");
    EXPECT_IS(lock_for(other, 1, 0), HF_OK);
    EXPECT_TEXT(attempt(db, "RELEASE SAVEPOINT holdfast_rows"), "3B001");
    tell(db, "ROLLBACK TO SAVEPOINT mine;COMMIT");
    EXPECT_TEXT(value(db, "SELECT n FROM account WHERE id=3"), "7");
}

/* ---- unique indexes */

static void expect_unsafe(PGconn *db, const char *column)
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

TEST(a_part_of_a_unique_index_is_refused)
{
    AUTO_DB *db = enter();

    tell(db, "CREATE TABLE seat(hall INT,number INT,n INT,"
             "PRIMARY KEY(hall,number) INCLUDE(n));"
             "INSERT INTO seat VALUES(1,1,0),(1,2,0),(2,1,0)");
    tell(db, "BEGIN");
    EXPECT_IS(lock_where(db, "seat", "hall", 1, NULL, 0), HF_EUNSAFE);
    EXPECT_IS(lock_where(db, "seat", "number", 1, "n", 0), HF_EUNSAFE);
    EXPECT_IS(lock_where(db, "seat", "hall", 1, "number", 2), HF_OK);
    EXPECT_IS(lock_where(db, "seat", "number", 1, "hall", 2), HF_OK);
    EXPECT_IS(lock_where(db, "seat", "number", 2, "hall", 2), HF_ROW_GONE);
}

/* ---- what is not there */

TEST(a_key_that_is_not_there_is_gone_and_no_lock)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();

    make_accounts(a);
    tell(a, "BEGIN");
    tell(b, "BEGIN");
    EXPECT_SAFE_IS(lock_for(a, 99, 0), HF_ROW_GONE);
    EXPECT_SAFE_IS(lock_for(b, 99, 0), HF_ROW_GONE);
    EXPECT_HAS(err.text, "no such row");
    EXPECT_IS(info.in_transaction, 1);
    /* Also of a value that the column can't have. */
    EXPECT_IS(lock_for(b, INT64_C(1) << 40, 0), HF_ROW_GONE);
    tell(a, "INSERT INTO account(id,n) VALUES(99,1)");
}

TEST(a_key_that_is_gone_while_it_is_waited_for_is_gone)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();
    struct waiter w = {b, 60000, 1, -1, HF_ROW_INFO_INIT};
    struct hf__test_thread *thread;

    make_accounts(a);
    tell(a, "BEGIN;DELETE FROM account WHERE id=1");
    tell(b, "BEGIN");
    EXPECT_IS(lock_for(b, 1, 0), HF_BUSY);
    EXPECT_IS(lock_skipping(b, 1), HF_BUSY);
    thread = hf__test_start(wait_for_row, &w);
    UNTIL(waiting() == 1);
    tell(a, "COMMIT");
    hf__test_join(thread);
    EXPECT_IS(w.status, HF_ROW_GONE);
    EXPECT_IS(w.info.in_transaction, 1);
}

/* ---- tables */

static void expect_refused(PGconn *db, const char *table, const char *why)
{
    EXPECT_SAFE_IS(
        hf_postgres_lock_row(db, row_of(table, 1), NULL, &info, &err),
        HF_EUNSAFE);
    EXPECT_HAS(err.text, why);
    EXPECT_IS(info.in_transaction, 1);
}

TEST(views_and_temporary_tables_are_refused)
{
    AUTO_DB *db = enter();

    make_accounts(db);
    tell(db, "CREATE VIEW seen AS SELECT * FROM account;"
             "CREATE TEMPORARY TABLE own(id INT PRIMARY KEY)");
    tell(db, "BEGIN");
    expect_refused(db, "seen", "view");
    expect_refused(db, "own", "temporary");
    tell(db, "ROLLBACK");
    /* It hides a table that others see. */
    tell(db, "CREATE TEMPORARY TABLE account(id INT PRIMARY KEY);"
             "INSERT INTO account VALUES(1)");
    tell(db, "BEGIN");
    expect_refused(db, "account", "temporary");
}

TEST(a_table_that_others_inherit_from_is_refused)
{
    AUTO_DB *db = enter();

    make_accounts(db);
    tell(db, "CREATE TABLE heir(PRIMARY KEY(id)) INHERITS(account);"
             "INSERT INTO heir(id,n) VALUES(1,5)");
    tell(db, "BEGIN");
    expect_refused(db, "account", "inherit");
    EXPECT_IS(hf_postgres_lock_row(db, row_of("heir", 1), NULL, &info, &err),
              HF_OK);
}

TEST(a_row_of_a_partition_is_locked_and_one_without_is_gone)
{
    AUTO_DB *db = enter();

    tell(db, "CREATE TABLE parts(id INT PRIMARY KEY) PARTITION BY LIST(id);"
             "CREATE TABLE a PARTITION OF parts FOR VALUES IN(1,2);"
             "CREATE TABLE b PARTITION OF parts FOR VALUES IN(3);"
             "INSERT INTO parts VALUES(1),(3)");
    tell(db, "BEGIN");
    EXPECT_IS(lock_where(db, "parts", "id", 3, NULL, 0), HF_OK);
    EXPECT_IS(lock_where(db, "parts", "id", 2, NULL, 0), HF_ROW_GONE);
    EXPECT_IS(lock_where(db, "parts", "id", 99, NULL, 0), HF_ROW_GONE);
    EXPECT_IS(lock_where(db, "b", "id", 3, NULL, 0), HF_OK);
}

/* ---- transactions */

TEST(outside_of_a_transaction_it_is_refused)
{
    AUTO_DB *db = enter();

    make_accounts(db);
    EXPECT_SAFE_IS(lock_for(db, 1, 0), HF_EUNSAFE);
    EXPECT_HAS(err.text, "BEGIN");
    EXPECT_IS(info.in_transaction, 0);
    tell(db, "BEGIN;COMMIT");
    EXPECT_IS(lock_for(db, 1, 0), HF_EUNSAFE);
}

TEST(a_transaction_that_may_not_write_locks_nothing)
{
    AUTO_DB *db = enter();

    make_accounts(db);
    tell(db, "BEGIN READ ONLY");
    EXPECT_IS(lock_for(db, 1, 0), HF_ROW_EREFUSED);
    EXPECT_TEXT(err.sqlstate, "25006");
    EXPECT_IS(info.in_transaction, 1);
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
