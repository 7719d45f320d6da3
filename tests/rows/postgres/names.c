/* SPDX-License-Identifier: MIT */
/*
 * What is given as a name or a value to PostgreSQL stays one.
 */
#include "tests/rows/postgres/world.h"

#include <stdio.h>
#include <string.h>

TEST(a_name_with_a_quote_is_one_name)
{
    AUTO_DB *db = enter();

    tell(db, "CREATE TABLE \"a\"\"b\"(\"i\"\"d\" INT PRIMARY KEY);"
             "INSERT INTO \"a\"\"b\" VALUES(1)");
    tell(db, "BEGIN");
    EXPECT_IS(lock_text(db, "a\"b", "i\"d", "1", 1), HF_OK);
    EXPECT_IS(lock_text(db, "a\"b", "i\"d", "2", 1), HF_ROW_GONE);
    EXPECT_IS(lock_text(db, "a", "i\"d", "1", 1), HF_EINVAL);
    EXPECT_HAS(err.text, "no table a");
    EXPECT_IS(lock_text(db, "a\"b", "id", "1", 1), HF_EINVAL);
    EXPECT_HAS(err.text, "no column id");
    EXPECT_IS(lock_text(db, "a\"b\" WHERE 1=1 -- ", "i\"d", "1", 1), HF_EINVAL);
    EXPECT_IS(info.in_transaction, 1);
}

TEST(a_name_is_as_the_server_has_it)
{
    AUTO_DB *db = enter();

    tell(db, "CREATE TABLE Account(Id INT PRIMARY KEY);"
             "INSERT INTO account VALUES(1)");
    tell(db, "BEGIN");
    EXPECT_IS(lock_text(db, "account", "id", "1", 1), HF_OK);
    EXPECT_IS(lock_text(db, "Account", "id", "1", 1), HF_EINVAL);
    EXPECT_IS(lock_text(db, "account", "Id", "1", 1), HF_EINVAL);
}

TEST(a_dot_in_a_name_does_not_name_a_schema)
{
    AUTO_DB *db = enter();
    hf_row row = *row_of("a.b", 1);

    tell(db,
         "CREATE SCHEMA \"s.t\";CREATE TABLE \"s.t\".\"a.b\"(id INT PRIMARY "
         "KEY);INSERT INTO \"s.t\".\"a.b\" VALUES(1)");
    tell(db, "BEGIN");
    EXPECT_IS(lock_row(db, &row, NULL, &info, &err), HF_EINVAL);
    row.database = "s.t";
    EXPECT_IS(lock_row(db, &row, NULL, &info, &err), HF_OK);
    row.database = "nobody_made_this";
    EXPECT_IS(lock_row(db, &row, NULL, &info, &err), HF_EINVAL);
    tell(db, "SET search_path=\"s.t\"");
    row.database = NULL;
    EXPECT_IS(lock_row(db, &row, NULL, &info, &err), HF_OK);
}

TEST(a_value_with_quotes_is_one_value)
{
    static const char evil[] = "x' OR '1'='1\\\" $1 -- ";
    AUTO_DB *db = enter();
    AUTO_DB *other = enter();

    tell(db, "CREATE TABLE named(name TEXT PRIMARY KEY);"
             "INSERT INTO named VALUES('x'),('x'' OR ''1''=''1\\\" $1 -- ')");
    tell(db, "BEGIN");
    EXPECT_IS(lock_text(db, "named", "name", evil, sizeof evil - 1), HF_OK);
    EXPECT_IS(lock_text(db, "named", "name", evil, 3), HF_ROW_GONE);
    tell(other, "BEGIN;SELECT 1 FROM named WHERE name='x' FOR UPDATE NOWAIT");
    EXPECT_IS(lock_text(db, "named", "name", "x\0y", 3), HF_EINVAL);
    EXPECT_HAS(err.text, "byte 0");
    EXPECT_IS(lock_text(db, "named", "name", "\xff", 1), HF_ROW_EREFUSED);
    EXPECT_TEXT(err.sqlstate, "22021");
    EXPECT_IS(lock_text(db, "named", "name", NULL, 0), HF_ROW_GONE);
}

TEST(a_value_takes_the_type_of_its_column)
{
    static const char uuid[] = "6b6e6f63-6b2d-7477-6963-652d666f7220";
    static const char *const types[] = {"INT2", "INT4", "INT8", "NUMERIC",
                                        "FLOAT8"};
    AUTO_DB *db = enter();

    tell(db,
         "CREATE TABLE u(id UUID PRIMARY KEY);INSERT INTO u VALUES('%s');"
         "CREATE TABLE c(id CHAR(9) PRIMARY KEY);INSERT INTO c "
         "VALUES('7'),('07');"
         "CREATE TABLE d(id DATE PRIMARY KEY);INSERT INTO d "
         "VALUES('2026-01-02')",
         uuid);
    tell(db, "BEGIN");
    EXPECT_IS(lock_text(db, "u", "id", uuid, sizeof uuid - 1), HF_OK);
    EXPECT_IS(lock_text(db, "u", "id", "knock", 5), HF_ROW_EREFUSED);
    EXPECT(strstr(err.text, "knock") == NULL);
    EXPECT_IS(lock_text(db, "c", "id", "7", 1), HF_OK);
    EXPECT_IS(lock_text(db, "d", "id", "2026-01-02", 10), HF_OK);
    /* A number is none of a text's. */
    EXPECT_IS(lock_value(db, "c", "id", (hf_row_value){HF_ROW_INT, 7, NULL, 0}),
              HF_EINVAL);
    EXPECT_IS(info.in_transaction, 1);
    for (int i = 0; i < 5; i++) {
        tell(db,
             "CREATE TABLE n%d(id %s PRIMARY KEY);INSERT INTO n%d "
             "VALUES(-7)",
             i, types[i], i);
    }
    for (int i = 0; i < 5; i++) {
        char table[4];

        snprintf(table, sizeof table, "n%d", i);
        EXPECT_IS(lock_value(db, table, "id",
                             (hf_row_value){HF_ROW_INT, -7, NULL, 0}),
                  HF_OK);
    }
}

TEST(names_beyond_ascii_are_utf8)
{
    AUTO_DB *db = enter();

    tell(db, "CREATE TABLE \"caf\xc3\xa9\"(id TEXT PRIMARY KEY);"
             "INSERT INTO \"caf\xc3\xa9\" VALUES('\xc3\xa9')");
    tell(db, "BEGIN");
    EXPECT_IS(lock_text(db, "caf\xc3\xa9", "id", "\xc3\xa9", 2), HF_OK);
    EXPECT_IS(lock_text(db, "caf\xe9", "id", "x", 1), HF_EINVAL);
    EXPECT_IS(PQsetClientEncoding(pg_of(db), "LATIN1"), 0);
    EXPECT_IS(lock_text(db, "caf\xe9", "id", "x", 1), HF_EINVAL);
    EXPECT_HAS(err.text, "client_encoding is UTF8");
    tell(db, "ALTER TABLE \"caf\xe9\" RENAME TO cafe");
    EXPECT_IS(lock_text(db, "cafe", "id", "\xe9", 1), HF_OK);
    EXPECT_IS(lock_text(db, "cafe", "id", "\xc3\xa9", 2), HF_ROW_GONE);
}

TEST(a_connection_that_is_at_work_is_told)
{
    AUTO_DB *db = enter();
    PGresult *result;

    make_accounts(db);
    tell(db, "BEGIN");
    EXPECT_IS(PQsendQuery(pg_of(db), "SELECT 1"), 1);
    EXPECT_IS(lock_for(db, 1, 0), HF_EINVAL);
    EXPECT_HAS(err.text, "still to be read");
    result = PQgetResult(pg_of(db));
    EXPECT_TEXT(PQgetvalue(result, 0, 0), "1"); /* it is still the caller's */
    PQclear(result);
    EXPECT(PQgetResult(pg_of(db)) == NULL);
    EXPECT_IS(lock_for(db, 1, 0), HF_OK);
    EXPECT_IS(PQenterPipelineMode(pg_of(db)), 1);
    EXPECT_IS(lock_for(db, 1, 0), HF_EINVAL);
    EXPECT_HAS(err.text, "pipeline");
    EXPECT_IS(PQexitPipelineMode(pg_of(db)), 1);
    EXPECT_IS(PQsetnonblocking(pg_of(db), 1), 0);
    EXPECT_IS(lock_for(db, 2, 0), HF_OK);
}

TEST(what_may_not_be_seen_is_told)
{
    AUTO_DB *db = enter();
    hf_row row = *row_of("hidden", 1);

    hf__postgres_sql(server(), database(),
                     "CREATE SCHEMA his;CREATE TABLE his.hidden(id INT PRIMARY "
                     "KEY)");
    row.database = "his";
    tell(db, "BEGIN");
    EXPECT_IS(lock_row(db, &row, NULL, &info, &err), HF_EAUTH);
    hf__postgres_sql(server(), database(),
                     "GRANT USAGE ON SCHEMA his TO PUBLIC");
    EXPECT_IS(lock_row(db, &row, NULL, &info, &err), HF_EAUTH);
    EXPECT_TEXT(err.sqlstate, "42501");
    EXPECT_IS(info.in_transaction, 1);
}
