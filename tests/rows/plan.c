/* SPDX-License-Identifier: MIT */
/*
 * Which rows can be locked at all: those that the server finds by a unique
 * index, of tables with row locks, within a transaction.
 */
#include "tests/rows/world.h"

#include <stdio.h>
#include <string.h>

/* Asks for the row where these columns have integers. */
static int lock_where(MYSQL *db, const char *table, const char *a, int64_t x,
                      const char *b, int64_t y)
{
    const hf_mysql_column key[] = {{a, {HF_MYSQL_INT, x, NULL, 0}},
                                   {b, {HF_MYSQL_INT, y, NULL, 0}}};
    const hf_mysql_row row = {sizeof row, NULL, table, key, b == NULL ? 1 : 2};

    return hf_mysql_lock_row(db, &row, NULL, &info, &err);
}

TEST(a_row_is_locked_until_the_transaction_ends)
{
    AUTO_DB *db = enter();
    AUTO_DB *other = enter();

    make_accounts(db);
    tell(db, "BEGIN");
    EXPECT_IS(lock_for(db, 1, HF_FOREVER), HF_OK);
    EXPECT_IS(info.in_transaction, 1);
    tell(other, "BEGIN");
    EXPECT_SAFE_IS(attempt(other, "SELECT 1 FROM account WHERE id=1 FOR UPDATE "
                                  "NOWAIT"),
                   1205);
    /* That row and no other. */
    EXPECT_IS(lock_for(other, 2, 0), HF_OK);
    EXPECT_SAFE_IS(lock_for(other, 1, 0), HF_BUSY);
    EXPECT_HAS(err.text, "account");
    EXPECT_IS(err.native, 1205);
    tell(db, "COMMIT");
    EXPECT_IS(lock_for(other, 1, 0), HF_OK);
    tell(other, "ROLLBACK");
    tell(db, "BEGIN");
    EXPECT_IS(lock_for(db, 1, 0), HF_OK);
}

TEST(without_a_unique_index_it_is_refused_with_the_plan)
{
    AUTO_DB *db = enter();
    AUTO_DB *other = enter();

    make_accounts(db);
    tell(db, "ALTER TABLE account ADD KEY plain (n)");
    tell(db, "BEGIN");
    EXPECT_IS(lock_where(db, "account", "version", 1, NULL, 0), HF_EUNSAFE);
    EXPECT_HAS(err.text, "type=ALL key=NULL rows=3");
    EXPECT_IS(lock_where(db, "account", "n", 100, NULL, 0), HF_EUNSAFE);
    EXPECT_HAS(err.text, "type=ref key=plain");
    EXPECT_IS(info.in_transaction, 1);
    /* Nothing was locked on the way. */
    for (int id = 1; id <= 3; id++) {
        tell(other, "UPDATE account SET n=n+1 WHERE id=%d", id);
    }
}

TEST(a_table_so_small_that_it_would_be_scanned_is_refused)
{
    AUTO_DB *db = enter();
    AUTO_DB *other = enter();

    tell(db, "CREATE TABLE tiny(id INT,kind INT,KEY(kind))ENGINE=InnoDB");
    tell(db, "BEGIN");
    EXPECT_IS(lock_where(db, "tiny", "kind", 1, NULL, 0), HF_EUNSAFE);
    tell(other, "INSERT INTO tiny VALUES(1,1)");
    EXPECT_IS(lock_where(db, "tiny", "kind", 1, NULL, 0), HF_EUNSAFE);
    EXPECT_IS(lock_where(db, "tiny", "id", 1, NULL, 0), HF_EUNSAFE);
    EXPECT_HAS(err.text, "type=ALL");
    /* A unique index is taken, however small the table is. */
    tell(db, "COMMIT");
    tell(db, "ALTER TABLE tiny ADD UNIQUE (id)");
    tell(db, "BEGIN");
    EXPECT_IS(lock_where(db, "tiny", "id", 1, NULL, 0), HF_OK);
}

TEST(a_part_of_a_unique_index_is_refused)
{
    AUTO_DB *db = enter();

    tell(db, "CREATE TABLE seat(hall INT,number INT,n INT,"
             "PRIMARY KEY(hall,number))ENGINE=InnoDB");
    tell(db, "INSERT INTO seat VALUES(1,1,0),(1,2,0),(2,1,0)");
    tell(db, "BEGIN");
    EXPECT_IS(lock_where(db, "seat", "hall", 1, NULL, 0), HF_EUNSAFE);
    EXPECT_HAS(err.text, "key=PRIMARY");
    EXPECT_IS(lock_where(db, "seat", "number", 1, NULL, 0), HF_EUNSAFE);
    EXPECT_IS(lock_where(db, "seat", "hall", 1, "number", 2), HF_OK);
    EXPECT_IS(lock_where(db, "seat", "number", 1, "hall", 2), HF_OK);
    EXPECT_IS(lock_where(db, "seat", "number", 2, "hall", 2), HF_MYSQL_GONE);
}

static int lock_named(MYSQL *db, hf_mysql_value v)
{
    const hf_mysql_column key = {"name", v};
    const hf_mysql_row row = {sizeof row, NULL, "named", &key, 1};

    return hf_mysql_lock_row(db, &row, NULL, &info, &err);
}

TEST(a_value_of_another_type_than_the_column_is_refused_with_the_plan)
{
    AUTO_DB *db = enter();

    tell(db, "CREATE TABLE named(name VARCHAR(20) CHARACTER SET latin1 "
             "PRIMARY KEY)ENGINE=InnoDB");
    tell(db, "INSERT INTO named VALUES('7'),('07'),('caf\xc3\xa9')");
    tell(db, "BEGIN");
    EXPECT_IS(lock_named(db, (hf_mysql_value){HF_MYSQL_INT, 7, NULL, 0}),
              HF_EUNSAFE);
    EXPECT_HAS(err.text, "type=");
    EXPECT_IS(lock_named(db, (hf_mysql_value){HF_MYSQL_TEXT, 0, "7", 1}),
              HF_OK);
    EXPECT_IS(
        lock_named(db, (hf_mysql_value){HF_MYSQL_TEXT, 0, "caf\xc3\xa9", 5}),
        HF_OK);
}

TEST(a_row_that_is_found_by_another_unique_index_is_locked_as_a_whole)
{
    AUTO_DB *db = enter();
    AUTO_DB *other = enter();

    make_accounts(db);
    tell(db, "ALTER TABLE account ADD u INT NULL UNIQUE");
    tell(db, "UPDATE account SET u=10*id WHERE id<3");
    tell(db, "BEGIN");
    EXPECT_IS(lock_where(db, "account", "u", 10, NULL, 0), HF_OK);
    EXPECT_IS(lock_where(db, "account", "u", 30, NULL, 0), HF_MYSQL_GONE);
    tell(other, "BEGIN");
    EXPECT_SAFE_IS(lock_for(other, 1, 0), HF_BUSY);
    EXPECT_IS(lock_for(other, 2, 0), HF_OK);
}

TEST(a_row_of_a_partition_is_locked_and_one_without_is_gone)
{
    AUTO_DB *db = enter();

    tell(db, "CREATE TABLE parts(id INT PRIMARY KEY)ENGINE=InnoDB PARTITION BY "
             "LIST(id)(PARTITION a VALUES IN(1,2),PARTITION b VALUES IN(3))");
    tell(db, "INSERT INTO parts VALUES(1),(3)");
    tell(db, "BEGIN");
    EXPECT_IS(lock_where(db, "parts", "id", 3, NULL, 0), HF_OK);
    EXPECT_IS(lock_where(db, "parts", "id", 2, NULL, 0), HF_MYSQL_GONE);
    EXPECT_IS(lock_where(db, "parts", "id", 99, NULL, 0), HF_MYSQL_GONE);
}

/* ---- what is not there */

TEST(a_key_that_is_not_there_is_gone_and_no_lock)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();

    make_accounts(a);
    tell(a, "BEGIN");
    tell(b, "BEGIN");
    EXPECT_SAFE_IS(lock_for(a, 99, 0), HF_MYSQL_GONE);
    EXPECT_SAFE_IS(lock_for(b, 99, 0), HF_MYSQL_GONE);
    EXPECT_HAS(err.text, "no such row");
    EXPECT_IS(info.in_transaction, 1);
    /* Also of a value that the column can't have. */
    EXPECT_IS(lock_for(b, INT64_C(1) << 40, 0), HF_MYSQL_GONE);
}

TEST(a_missing_key_keeps_its_gap_closed_under_repeatable_read)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();

    make_accounts(a);
    tell(b, "SET SESSION innodb_lock_wait_timeout=1");
    tell(a, "BEGIN");
    EXPECT_IS(lock_for(a, 99, 0), HF_MYSQL_GONE);
    EXPECT_IS(attempt(b, "INSERT INTO account(id,n) VALUES(99,1)"), 1205);
    tell(a, "COMMIT");
    tell(a, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    tell(a, "BEGIN");
    EXPECT_IS(lock_for(a, 99, 0), HF_MYSQL_GONE);
    tell(b, "INSERT INTO account(id,n) VALUES(99,1)");
}

TEST(a_key_that_is_gone_while_it_is_waited_for_is_gone)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();

    make_accounts(a);
    tell(a, "BEGIN");
    tell(a, "DELETE FROM account WHERE id=1");
    tell(b, "BEGIN");
    EXPECT_IS(lock_for(b, 1, 0), HF_BUSY);
    tell(a, "COMMIT");
    EXPECT_IS(lock_for(b, 1, 0), HF_MYSQL_GONE);
}

/* ---- tables */

static void expect_refused(MYSQL *db, const char *table, const char *why)
{
    EXPECT_SAFE_IS(hf_mysql_lock_row(db, row_of(table, 1), NULL, &info, &err),
                   HF_EUNSAFE);
    EXPECT_HAS(err.text, why);
}

TEST(engines_without_row_locks_are_refused)
{
    static const char *const engines[] = {"MyISAM", "MEMORY", "Aria"};
    AUTO_DB *db = enter();
    char name[32];

    for (int i = 0; i < 3; i++) {
        tell(db,
             "CREATE TABLE t%d(id INT PRIMARY KEY COMMENT ') ENGINE=InnoDB',"
             "v INT)ENGINE=%s COMMENT='ENGINE=InnoDB'",
             i, engines[i]);
        tell(db, "INSERT INTO t%d VALUES(1,1),(2,2)", i);
    }
    tell(db, "BEGIN");
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "t%d", i);
        expect_refused(db, name, engines[i]);
        EXPECT_HAS(err.text, "ENGINE=InnoDB");
    }
}

TEST(views_and_temporary_tables_are_refused)
{
    AUTO_DB *db = enter();

    make_accounts(db);
    tell(db, "CREATE VIEW seen AS SELECT * FROM account");
    tell(db, "CREATE TEMPORARY TABLE own(id INT PRIMARY KEY)ENGINE=InnoDB");
    tell(db, "INSERT INTO own VALUES(1)");
    tell(db, "BEGIN");
    expect_refused(db, "seen", "view");
    expect_refused(db, "own", "temporary");
    tell(db, "ROLLBACK");
    /* It hides a table that others see. */
    tell(db, "CREATE TEMPORARY TABLE account(id INT PRIMARY KEY)ENGINE=InnoDB");
    tell(db, "INSERT INTO account VALUES(1)");
    tell(db, "BEGIN");
    expect_refused(db, "account", "temporary");
}

TEST(a_mode_that_hides_the_engine_is_told)
{
    AUTO_DB *db = enter();

    make_accounts(db);
    tell(db, "SET sql_mode='NO_TABLE_OPTIONS'");
    tell(db, "BEGIN");
    expect_refused(db, "account", "NO_TABLE_OPTIONS");
    tell(db, "SET sql_mode='ANSI_QUOTES,NO_BACKSLASH_ESCAPES'");
    EXPECT_IS(lock_for(db, 1, 0), HF_OK);
    tell(db, "ROLLBACK");
    tell(db, "CREATE TABLE \"a(b\"(id INT PRIMARY KEY COMMENT 'it''s (\\',"
             "v VARCHAR(9) DEFAULT '\\)')ENGINE=InnoDB COMMENT=')'");
    tell(db, "INSERT INTO \"a(b\"(id) VALUES(1)");
    tell(db, "BEGIN");
    EXPECT_IS(hf_mysql_lock_row(db, row_of("a(b", 1), NULL, &info, &err),
              HF_OK);
}

/* ---- transactions */

TEST(outside_of_a_transaction_it_is_refused)
{
    AUTO_DB *db = enter();

    make_accounts(db);
    EXPECT_IS(lock_for(db, 1, 0), HF_EUNSAFE);
    EXPECT_HAS(err.text, "BEGIN");
    EXPECT_IS(info.in_transaction, 0);
    tell(db, "BEGIN");
    tell(db, "COMMIT");
    EXPECT_IS(lock_for(db, 1, 0), HF_EUNSAFE);
}

TEST(without_autocommit_the_call_begins_the_transaction)
{
    AUTO_DB *db = enter();
    AUTO_DB *other = enter();

    make_accounts(db);
    tell(db, "SET autocommit=0");
    EXPECT_IS(lock_for(db, 1, 0), HF_OK);
    EXPECT_IS(info.in_transaction, 1);
    tell(other, "BEGIN");
    EXPECT_SAFE_IS(lock_for(other, 1, 0), HF_BUSY);
    tell(db, "COMMIT");
    EXPECT_IS(lock_for(other, 1, 0), HF_OK);
}

TEST(what_was_done_before_in_the_transaction_stays)
{
    AUTO_DB *db = enter();

    make_accounts(db);
    tell(db, "BEGIN");
    tell(db, "UPDATE account SET n=7 WHERE id=3");
    tell(db, "SAVEPOINT mine");
    tell(db, "UPDATE account SET n=8 WHERE id=3");
    EXPECT_IS(lock_for(db, 1, 0), HF_OK);
    EXPECT_IS(lock_for(db, 99, 0), HF_MYSQL_GONE);
    EXPECT_TEXT(value(db, "SELECT n FROM account WHERE id=3"), "8");
    EXPECT_IS(attempt(db, "RELEASE SAVEPOINT holdfast_rows"), 1305);
    tell(db, "ROLLBACK TO SAVEPOINT mine");
    tell(db, "COMMIT");
    EXPECT_TEXT(value(db, "SELECT n FROM account WHERE id=3"), "7");
}

TEST(a_transaction_that_may_not_write_locks_nothing)
{
    AUTO_DB *db = enter();

    make_accounts(db);
    tell(db, "START TRANSACTION READ ONLY");
    EXPECT_IS(lock_for(db, 1, 0), HF_MYSQL_EREFUSED);
    EXPECT_IS(err.native, 1792);
    EXPECT_IS(info.in_transaction, 1);
}

TEST(a_transaction_of_xa_is_one)
{
    AUTO_DB *db = enter();
    AUTO_DB *other = enter();

    make_accounts(db);
    tell(db, "XA START 'a'");
    EXPECT_IS(lock_for(db, 1, 0), HF_OK);
    tell(other, "BEGIN");
    EXPECT_SAFE_IS(lock_for(other, 1, 0), HF_BUSY);
    tell(db, "XA END 'a'");
    tell(db, "XA ROLLBACK 'a'");
}
