/* SPDX-License-Identifier: MIT */
/*
 * Updates by version: nobody's write is lost, and what came of one is told
 * apart; outside of a transaction and in one of the caller's.
 */
#include "tests/rows/postgres/world.h"

#include <stdio.h>
#include <string.h>

static const char *const levels[] = {"READ COMMITTED", "REPEATABLE READ",
                                     "SERIALIZABLE"};
static const char newer[] =
    "UPDATE account SET n=n+1000,version=version+1 WHERE id=1";

TEST(a_row_is_changed_and_its_version_counts_it)
{
    AUTO_DB *db = enter();
    struct change c = {.by = 1};
    hf_row_update u = by_version(&c);

    make_accounts(db);
    EXPECT_IS(change(db, 1, &u), HF_OK);
    EXPECT_TEXT(row_says(db, 1), "101 2");
    EXPECT_IS(info.tries, 1);
    EXPECT_IS(info.version, 2);
    EXPECT_IS(info.in_transaction, 0);
    /* A change to what it was is one. */
    c.by = 0;
    EXPECT_IS(change(db, 1, &u), HF_OK);
    EXPECT_TEXT(row_says(db, 1), "101 3");
    EXPECT_TEXT(row_says(db, 2), "200 1");
    tell(db, "UPDATE account SET version=-2 WHERE id=1");
    EXPECT_IS(change(db, 1, &u), HF_OK);
    EXPECT_TEXT(row_says(db, 1), "101 -1");
}

TEST(at_each_level_who_comes_between_loses_nothing)
{
    for (int i = 0; i < 3; i++) {
        AUTO_DB *db = enter();
        AUTO_DB *rival = enter();
        struct change c = {
            .by = 1, .rival = rival, .meanwhile = newer, .times = 3};
        hf_row_update u = by_version(&c);

        tell(db, "DROP TABLE IF EXISTS account CASCADE");
        make_accounts(db);
        tell(db, "SET default_transaction_isolation='%s'", levels[i]);
        EXPECT_SAFE_IS(change(db, 1, &u), HF_OK);
        EXPECT_SAFE(strcmp(row_says(db, 1), "3101 5") == 0);
        EXPECT_IS(info.tries, 4);
        EXPECT_IS(c.calls, 4);
    }
}

TEST(nothing_is_open_while_the_callback_computes)
{
    AUTO_DB *db = enter();
    AUTO_DB *rival = enter();
    struct change c = {.by = 1, .rival = rival, .times = 1};
    hf_row_update u = by_version(&c);

    c.meanwhile = "ALTER TABLE account ADD x INT";
    tell(rival, "SET lock_timeout=1000");
    make_accounts(db);
    EXPECT_IS(change(db, 1, &u), HF_OK);
    EXPECT_IS(info.tries, 1);
}

TEST(a_conflict_that_stays_is_an_outcome_and_writes_nothing)
{
    AUTO_DB *db = enter();
    AUTO_DB *rival = enter();
    struct change c = {.by = 1,
                       .rival = rival,
                       .meanwhile =
                           "UPDATE account SET version=version+1 WHERE id=1",
                       .times = 1000};
    hf_row_update u = by_version(&c);

    u.retries = 3;
    make_accounts(db);
    EXPECT_SAFE_IS(change(db, 1, &u), HF_CONFLICT);
    EXPECT_IS(info.tries, 4);
    EXPECT_HAS(err.text, "4 times");
    EXPECT_SAFE(strcmp(row_says(db, 1), "100 5") == 0);
}

/* ---- gone */

TEST(a_row_that_is_not_there_is_gone)
{
    AUTO_DB *db = enter();
    AUTO_DB *rival = enter();
    struct change c = {.by = 1};
    hf_row_update u = by_version(&c);

    make_accounts(db);
    EXPECT_IS(change(db, 99, &u), HF_ROW_GONE);
    EXPECT_IS(c.calls, 0);
    /* Also if it goes between reading and writing. */
    c.rival = rival;
    c.meanwhile = "DELETE FROM account WHERE id=1";
    c.times = 1;
    EXPECT_SAFE_IS(change(db, 1, &u), HF_ROW_GONE);
    EXPECT_IS(info.tries, 2);
}

TEST(a_row_that_is_deleted_softly_is_gone)
{
    static const char *const marks[] = {"TIMESTAMPTZ", "DATE",
                                        "INT NOT NULL DEFAULT 0",
                                        "NUMERIC DEFAULT 0", "BOOLEAN"};
    static const char *const set[] = {"now()", "'-infinity'", "1", "0.5",
                                      "true"};

    for (int i = 0; i < 5; i++) {
        AUTO_DB *db = enter();
        AUTO_DB *rival = enter();
        struct change c = {.by = 1};
        hf_row_update u = by_version(&c);
        char meanwhile[80];

        u.deleted = "gone";
        tell(db, "DROP TABLE IF EXISTS account");
        make_accounts(db);
        tell(db, "ALTER TABLE account ADD gone %s", marks[i]);
        EXPECT_IS(change(db, 1, &u), HF_OK);
        tell(db, "UPDATE account SET gone=%s WHERE id=2", set[i]);
        EXPECT_SAFE_IS(change(db, 2, &u), HF_ROW_GONE);
        EXPECT_HAS(err.text, "deleted");
        EXPECT_TEXT(row_says(db, 2), "200 1");
        /* Without a new version, as such an UPDATE may come. */
        c = (struct change){.by = 1, .rival = rival, .times = 1};
        snprintf(meanwhile, sizeof meanwhile,
                 "UPDATE account SET gone=%s WHERE id=3", set[i]);
        c.meanwhile = meanwhile;
        EXPECT_SAFE_IS(change(db, 3, &u), HF_ROW_GONE);
        EXPECT_TEXT(row_says(db, 3), "300 1");
        u.deleted = NULL;
        EXPECT_IS(change(db, 2, &u), HF_OK);
    }
}

TEST(a_deletion_column_of_text_is_refused)
{
    static const char *const texts[] = {"TEXT", "CHAR(3)", "BYTEA", "INTERVAL"};
    AUTO_DB *db = enter();
    struct change c = {.by = 1};
    hf_row_update u = by_version(&c);

    u.deleted = "gone";
    for (int i = 0; i < 4; i++) {
        tell(db, "DROP TABLE IF EXISTS account");
        make_accounts(db);
        tell(db, "ALTER TABLE account ADD gone %s", texts[i]);
        EXPECT_SAFE_IS(change(db, 1, &u), HF_EINVAL);
        EXPECT_HAS(err.text, "gone");
    }
    tell(db, "ALTER TABLE account DROP gone");
    EXPECT_IS(change(db, 1, &u), HF_EINVAL);
    EXPECT_TEXT(row_says(db, 1), "100 1");
}

/* ---- refused by the server */

TEST(a_duplicate_key_is_failed_and_no_conflict)
{
    static const char *const when[] = {"", "DEFERRABLE INITIALLY DEFERRED"};

    for (int i = 0; i < 2; i++) {
        AUTO_DB *db = enter();
        struct change c = {.by = 100};
        hf_row_update u = by_version(&c);

        tell(db, "DROP TABLE IF EXISTS account");
        make_accounts(db);
        tell(db, "ALTER TABLE account ADD CONSTRAINT only_one UNIQUE(n) %s",
             when[i]);
        EXPECT_SAFE_IS(change(db, 1, &u), HF_ROW_EREFUSED);
        EXPECT_TEXT(err.sqlstate, "23505");
        EXPECT_HAS(err.text, "only_one");
        /* Values of rows may be anybody's secret. */
        EXPECT(strstr(err.text, "200") == NULL);
        EXPECT_IS(info.tries, 1);
        EXPECT_TEXT(row_says(db, 1), "100 1");
        EXPECT_IS(PQtransactionStatus(db), PQTRANS_IDLE);
    }
}

static int give_text(void *arg, const hf_row_value *old_values,
                     hf_row_value *new_values)
{
    (void)old_values;
    new_values[0] = (hf_row_value){HF_ROW_TEXT, 0, arg, strlen(arg)};
    return 0;
}

TEST(no_value_of_a_row_is_repeated_by_an_error)
{
    static char secret[] = "knock-twice for ever";
    static const char *const types[] = {"INT", "TIMESTAMPTZ", "VARCHAR(3)",
                                        "TEXT CHECK(length(n)<3)", "UUID"};
    AUTO_DB *db = enter();
    struct change c = {.by = 0};
    hf_row_update u = by_version(&c);

    make_accounts(db);
    u.change = give_text;
    u.arg = secret;
    for (int i = 0; i < 5; i++) {
        tell(db, "ALTER TABLE account DROP n,ADD n %s", types[i]);
        EXPECT_IS(change(db, 1, &u), HF_ROW_EREFUSED);
        EXPECT_MORE(strlen(err.sqlstate), 4);
        EXPECT(strstr(err.text, "knock") == NULL);
    }
    EXPECT_TEXT(value(db, "SELECT version FROM account WHERE id=1"), "1");
}

static int decline(void *arg, const hf_row_value *old_values,
                   hf_row_value *new_values)
{
    (void)arg;
    (void)old_values;
    (void)new_values;
    return 7;
}

TEST(what_the_callback_does_not_want_is_not_written)
{
    AUTO_DB *db = enter();
    AUTO_DB *other = enter();
    struct change c = {.by = 0};
    hf_row_update u = by_version(&c);

    make_accounts(db);
    u.change = decline;
    EXPECT_IS(change(db, 1, &u), HF_ROW_DECLINED);
    tell(db, "BEGIN");
    EXPECT_IS(change(db, 1, &u), HF_ROW_DECLINED);
    EXPECT_IS(info.in_transaction, 1);
    /* It was read to be decided by, so it stays as it is. */
    tell(other, "BEGIN");
    EXPECT_SAFE_IS(lock_for(other, 1, 0), HF_BUSY);
    tell(db, "COMMIT");
    EXPECT_TEXT(row_says(db, 1), "100 1");
}

/* ---- values */

static int check_and_turn(void *arg, const hf_row_value *o, hf_row_value *n)
{
    (void)arg;
    EXPECT_IS(o[0].type, HF_ROW_TEXT);
    EXPECT_IS(o[0].length, 4);
    EXPECT(memcmp(o[0].bytes, "a'\\`", 4) == 0);
    EXPECT_IS(o[1].type, HF_ROW_BYTES);
    EXPECT_IS(o[1].length, 3);
    EXPECT(memcmp(o[1].bytes, "\0'\xff", 3) == 0);
    EXPECT_IS(o[2].type, HF_ROW_NULL);
    EXPECT_IS(o[3].type, HF_ROW_INT);
    EXPECT_IS(o[3].number, INT64_MIN);
    EXPECT_IS(o[4].type, HF_ROW_TEXT); /* beyond int64_t */
    EXPECT_IS(o[5].type, HF_ROW_TEXT);
    EXPECT_HAS((const char *)o[5].bytes, "t");
    n[0] = (hf_row_value){HF_ROW_TEXT, 0, "\"\\'", 3};
    n[1] = (hf_row_value){HF_ROW_BYTES, 0, o[1].bytes, 2};
    n[2] = (hf_row_value){HF_ROW_INT, -5, NULL, 0};
    n[3] = (hf_row_value){.type = HF_ROW_NULL};
    n[4] = o[4];
    n[5] = (hf_row_value){HF_ROW_TEXT, 0, "false", 5};
    return 0;
}

TEST(values_of_all_types_come_and_go_as_they_are)
{
    static const char *const columns[] = {"t", "b", "i", "m", "u", "d", "kept"};
    static const char *const outputs[] = {"hex", "escape"};

    for (int i = 0; i < 2; i++) {
        AUTO_DB *db = enter();
        hf_row_update u = HF_ROW_UPDATE_INIT;

        tell(db, "DROP TABLE IF EXISTS account");
        tell(db, "CREATE TABLE account(id INT PRIMARY KEY,t VARCHAR(9),b BYTEA,"
                 "i SMALLINT,m BIGINT,u NUMERIC,d BOOLEAN,kept INT,"
                 "version BIGINT NOT NULL)");
        tell(db, "INSERT INTO account VALUES(1,'a''\\`','\\x0027ff',NULL,"
                 "-9223372036854775808,18446744073709551615,true,42,7)");
        tell(db, "SET bytea_output=%s", outputs[i]);
        u.version = "version";
        u.columns = columns;
        u.n_columns = 7;
        u.change = check_and_turn;
        EXPECT_IS(change(db, 1, &u), HF_OK);
        EXPECT_TEXT(value(db, "SELECT concat_ws('|',t,encode(b,'hex'),i,"
                              "coalesce(m,0),u,d,kept,version) FROM account"),
                    "\"\\'|0027|-5|0|18446744073709551615|f|42|8");
    }
}

/* ---- others at the row */

TEST(a_row_that_stays_locked_is_busy_after_the_limit)
{
    AUTO_DB *db = enter();
    AUTO_DB *other = enter();
    struct change c = {.by = 1};
    hf_row_update u = by_version(&c);
    char before[512];

    make_accounts(db);
    tell(other, "BEGIN");
    EXPECT_IS(lock_for(other, 1, 0), HF_OK);
    snprintf(before, sizeof before, "%s", session_of(db));
    u.limit_ms = 200;
    EXPECT_IS(change(db, 1, &u), HF_BUSY);
    EXPECT_IS(c.calls, 1); /* it reads past the lock */
    EXPECT_TEXT(session_of(db), before);
    tell(db, "BEGIN;UPDATE account SET n=7 WHERE id=3");
    EXPECT_IS(change(db, 1, &u), HF_BUSY);
    EXPECT_IS(c.calls, 1);
    EXPECT_IS(info.in_transaction, 1);
    EXPECT_TEXT(session_of(db), before);
    tell(db, "COMMIT");
    tell(other, "ROLLBACK");
    EXPECT_TEXT(row_says(db, 1), "100 1");
    EXPECT_TEXT(row_says(db, 3), "7 1");
}

TEST(a_row_is_found_by_a_unique_index_or_refused)
{
    AUTO_DB *db = enter();
    struct change c = {.by = 1};
    hf_row_update u = by_version(&c);
    hf_row_column key = {"version", {HF_ROW_INT, 1, NULL, 0}};
    hf_row row = {sizeof row, NULL, "account", &key, 1};

    make_accounts(db);
    EXPECT_SAFE_IS(hf_postgres_update_versioned(db, &row, &u, &info, &err),
                   HF_EUNSAFE);
    EXPECT_HAS(err.text, "unique index");
    EXPECT_IS(c.calls, 0);
}
