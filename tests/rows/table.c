/* SPDX-License-Identifier: MIT */
/*
 * Which rows can be locked at all: those that a unique index answers for, of
 * tables that others see, within a transaction.
 */
#include "tests/rows/world.h"

#include <string.h>

TEST(a_row_is_locked_until_the_transaction_ends)
{
    AUTO_DB *db = enter();
    AUTO_DB *other = enter();

    make_accounts(db);
    tell(db, "BEGIN");
    EXPECT_IS(lock_for(db, 1, HF_FOREVER), HF_OK);
    EXPECT_IS(info.in_transaction, 1);
    tell(other, "BEGIN");
    EXPECT_SAFE(strcmp(attempt(other, "SELECT 1 FROM account WHERE id=1 FOR "
                                      "UPDATE NOWAIT"),
                       its.busy) == 0);
    tell(other, "ROLLBACK");
    tell(other, "BEGIN");
    /* That row and no other. */
    EXPECT_IS(lock_for(other, 2, 0), HF_OK);
    EXPECT_SAFE_IS(lock_for(other, 1, 0), HF_BUSY);
    EXPECT_HAS(err.text, "account");
    EXPECT_TEXT(said(), its.busy);
    tell(db, "COMMIT");
    EXPECT_IS(lock_for(other, 1, 0), HF_OK);
    tell(other, "ROLLBACK");
    tell(db, "BEGIN");
    EXPECT_IS(lock_for(db, 1, 0), HF_OK);
}

TEST(a_part_of_a_unique_index_is_refused)
{
    AUTO_DB *db = enter();

    tell(db,
         "CREATE TABLE seat(hall INT,number INT,n INT,"
         "PRIMARY KEY(hall,number)%s)",
         its.kind == ON_POSTGRES ? " INCLUDE(n)" : "");
    tell(db, "INSERT INTO seat VALUES(1,1,0),(1,2,0),(2,1,0)");
    tell(db, "BEGIN");
    EXPECT_IS(lock_where(db, "seat", "hall", 1, NULL, 0), HF_EUNSAFE);
    EXPECT_HAS(err.text, its.index_part);
    EXPECT_IS(lock_where(db, "seat", "number", 1, NULL, 0), HF_EUNSAFE);
    EXPECT_IS(lock_where(db, "seat", "number", 1, "n", 0), HF_EUNSAFE);
    EXPECT_IS(lock_where(db, "seat", "hall", 1, "number", 2), HF_OK);
    EXPECT_IS(lock_where(db, "seat", "number", 1, "hall", 2), HF_OK);
    EXPECT_IS(lock_where(db, "seat", "number", 2, "hall", 2), HF_ROW_GONE);
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
    EXPECT_IS(lock_where(db, "account", "u", 30, NULL, 0), HF_ROW_GONE);
    tell(other, "BEGIN");
    EXPECT_SAFE_IS(lock_for(other, 1, 0), HF_BUSY);
    EXPECT_IS(lock_for(other, 2, 0), HF_OK);
}

TEST(a_row_of_a_partition_is_locked_and_one_without_is_gone)
{
    static const char *const parts[KINDS] = {
        "(PARTITION a VALUES IN(1,2),PARTITION b VALUES IN(3))",
        ";CREATE TABLE a PARTITION OF parts FOR VALUES IN(1,2);"
        "CREATE TABLE b PARTITION OF parts FOR VALUES IN(3)"};
    AUTO_DB *db = enter();

    tell(db, "CREATE TABLE parts(id INT PRIMARY KEY) PARTITION BY LIST(id)%s",
         parts[its.kind]);
    tell(db, "INSERT INTO parts VALUES(1),(3)");
    tell(db, "BEGIN");
    EXPECT_IS(lock_where(db, "parts", "id", 3, NULL, 0), HF_OK);
    EXPECT_IS(lock_where(db, "parts", "id", 2, NULL, 0), HF_ROW_GONE);
    EXPECT_IS(lock_where(db, "parts", "id", 99, NULL, 0), HF_ROW_GONE);
    if (its.kind == ON_POSTGRES) {
        EXPECT_IS(lock_where(db, "b", "id", 3, NULL, 0), HF_OK);
    }
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
    if (its.kind == ON_POSTGRES) { /* MySQL has locked the gap */
        tell(a, "INSERT INTO account(id,n) VALUES(99,1)");
    }
}

TEST(a_key_that_is_gone_while_it_is_waited_for_is_gone)
{
    AUTO_DB *a = enter();
    AUTO_DB *b = enter();
    struct waiter w = {b, 60000, 1, -1, HF_ROW_INFO_INIT};
    struct hf__test_thread *thread;

    make_accounts(a);
    tell(a, "BEGIN");
    tell(a, "DELETE FROM account WHERE id=1");
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

/* ---- tables and transactions */

TEST(views_and_temporary_tables_are_refused)
{
    AUTO_DB *db = enter();

    make_accounts(db);
    tell(db, "CREATE VIEW seen AS SELECT * FROM account");
    tell(db, "CREATE TEMPORARY TABLE own(id INT PRIMARY KEY)");
    tell(db, "INSERT INTO own VALUES(1)");
    tell(db, "BEGIN");
    expect_refused(db, "seen", "view");
    expect_refused(db, "own", "temporary");
    tell(db, "ROLLBACK");
    /* It hides a table that others see. */
    tell(db, "CREATE TEMPORARY TABLE account(id INT PRIMARY KEY)");
    tell(db, "INSERT INTO account VALUES(1)");
    tell(db, "BEGIN");
    expect_refused(db, "account", "temporary");
}

TEST(outside_of_a_transaction_it_is_refused)
{
    AUTO_DB *db = enter();

    make_accounts(db);
    EXPECT_SAFE_IS(lock_for(db, 1, 0), HF_EUNSAFE);
    EXPECT_HAS(err.text, "BEGIN");
    EXPECT_IS(info.in_transaction, 0);
    tell(db, "BEGIN");
    tell(db, "COMMIT");
    EXPECT_IS(lock_for(db, 1, 0), HF_EUNSAFE);
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
    EXPECT_IS(lock_for(db, 99, 0), HF_ROW_GONE);
    EXPECT_TEXT(value(db, "SELECT n FROM account WHERE id=3"), "8");
    EXPECT_TEXT(attempt(db, "RELEASE SAVEPOINT holdfast_rows"),
                its.no_savepoint);
    tell(db, "ROLLBACK TO SAVEPOINT mine");
    tell(db, "COMMIT");
    EXPECT_TEXT(value(db, "SELECT n FROM account WHERE id=3"), "7");
}

TEST(a_transaction_that_may_not_write_locks_nothing)
{
    AUTO_DB *db = enter();

    make_accounts(db);
    tell(db, "START TRANSACTION READ ONLY");
    EXPECT_IS(lock_for(db, 1, 0), HF_ROW_EREFUSED);
    EXPECT_TEXT(said(), its.read_only);
    EXPECT_IS(info.in_transaction, 1);
}
