/* SPDX-License-Identifier: MIT */
/*
 * Which rows MySQL can lock: those that it finds by a unique index, of tables
 * with row locks, within a transaction.
 */
#include "tests/rows/change.h"

#include <stdio.h>

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

TEST(a_value_of_another_type_than_the_column_is_refused_with_the_plan)
{
    AUTO_DB *db = enter();

    tell(db, "CREATE TABLE named(name VARCHAR(20) CHARACTER SET latin1 "
             "PRIMARY KEY)ENGINE=InnoDB");
    tell(db, "INSERT INTO named VALUES('7'),('07'),('caf\xc3\xa9')");
    tell(db, "BEGIN");
    EXPECT_IS(
        lock_value(db, "named", "name", (hf_row_value){HF_ROW_INT, 7, NULL, 0}),
        HF_EUNSAFE);
    EXPECT_HAS(err.text, "type=");
    EXPECT_IS(lock_text(db, "named", "name", "7", 1), HF_OK);
    EXPECT_IS(lock_text(db, "named", "name", "caf\xc3\xa9", 5), HF_OK);
}

TEST(a_missing_key_keeps_its_gap_closed_under_repeatable_read)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();

    make_accounts(a);
    tell(b, "SET SESSION innodb_lock_wait_timeout=1");
    tell(a, "BEGIN");
    EXPECT_IS(lock_for(a, 99, 0), HF_ROW_GONE);
    EXPECT_TEXT(attempt(b, "INSERT INTO account(id,n) VALUES(99,1)"), "1205");
    tell(a, "COMMIT");
    tell(a, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    tell(a, "BEGIN");
    EXPECT_IS(lock_for(a, 99, 0), HF_ROW_GONE);
    tell(b, "INSERT INTO account(id,n) VALUES(99,1)");
}

TEST(engines_without_row_locks_are_refused)
{
    static const char *const engines[] = {"MyISAM", "MEMORY", "Aria"};
    AUTO_DB *db = enter();
    struct change c = {.by = 1};
    hf_row_update u = by_version(&c);
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
    tell(db, "COMMIT");
    make_accounts(db);
    tell(db, "ALTER TABLE account ENGINE=MyISAM");
    EXPECT_SAFE_IS(change(db, 1, &u), HF_EUNSAFE);
    EXPECT_HAS(err.text, "MyISAM");
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
    EXPECT_IS(lock_row(db, row_of("a(b", 1), NULL, &info, &err), HF_OK);
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
