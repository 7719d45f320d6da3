/* SPDX-License-Identifier: MIT */
/*
 * Updates by version: nobody's write is lost, and what came of one is told
 * apart; at each level of isolation, and whatever counts as a changed row.
 */
#include "tests/rows/change.h"

#include <stdio.h>
#include <string.h>

#define EACH_MANNER(m) for (int m = 0; m < its.n_manners; m++)

TEST(a_row_is_changed_and_its_version_counts_it)
{
    EACH_MANNER(m)
    {
        AUTO_DB *db = enter_as(m);
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
}

TEST(who_comes_between_reading_and_writing_loses_nothing)
{
    EACH_MANNER(m)
    {
        AUTO_DB *db = enter_as(m);
        AUTO_DB *rival = enter();
        struct change c = {.by = 1,
                           .rival = rival,
                           .meanwhile =
                               "UPDATE account SET n=n+1000,version=version+1 "
                               "WHERE id=1",
                           .times = 3};
        hf_row_update u = by_version(&c);

        make_accounts(db);
        EXPECT_SAFE_IS(change(db, 1, &u), HF_OK);
        EXPECT_TEXT(err.text, ""); /* what it met on the way is no error */
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
    tell(rival, "SET lock_%s=1",
         its.kind == ON_MYSQL ? "wait_timeout" : "timeout");
    make_accounts(db);
    EXPECT_IS(change(db, 1, &u), HF_OK);
    EXPECT_IS(info.tries, 1);
}

TEST(a_conflict_that_stays_is_an_outcome_and_writes_nothing)
{
    EACH_MANNER(m)
    {
        AUTO_DB *db = enter_as(m);
        AUTO_DB *rival = enter();
        struct change c = {
            .by = 1,
            .rival = rival,
            .meanwhile = "UPDATE account SET version=version+1 WHERE id=1",
            .times = 1000};
        hf_row_update u = by_version(&c);

        EXPECT_MORE(u.retries, 2);
        u.retries = 3;
        make_accounts(db);
        EXPECT_SAFE_IS(change(db, 1, &u), HF_CONFLICT);
        EXPECT_IS(info.tries, 4);
        EXPECT_HAS(err.text, "4 times");
        EXPECT_SAFE(strcmp(row_says(db, 1), "100 5") == 0);
        u.retries = 0;
        EXPECT_IS(change(db, 1, &u), HF_CONFLICT);
        EXPECT_IS(info.tries, 1);
    }
}

TEST(no_try_begins_after_the_limit)
{
    static const char *const slow[KINDS] = {
        "UPDATE account SET version=version+1,n=SLEEP(0.02)*0+n WHERE id=1",
        "UPDATE account SET version=version+1,n=length(pg_sleep(0.02)::text)+n "
        "WHERE id=1"};
    AUTO_DB *db = enter();
    AUTO_DB *rival = enter();
    struct change c = {
        .by = 1, .rival = rival, .meanwhile = slow[its.kind], .times = 1000};
    hf_row_update u = by_version(&c);

    make_accounts(db);
    u.retries = HF_ROW_RETRIES_MAX;
    u.limit_ms = 200;
    EXPECT_IS(change(db, 1, &u), HF_CONFLICT);
    EXPECT_LESS(info.tries, 12);
}

/* ---- gone */

TEST(a_row_that_is_not_there_is_gone)
{
    EACH_MANNER(m)
    {
        AUTO_DB *db = enter_as(m);
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
        EXPECT_IS(c.calls, 1);
        EXPECT_IS(info.tries, 2);
    }
}

static const struct {
    const char *type;
    const char *set;
} marks[KINDS][6] = {{{"DATETIME NULL", "'2026-01-02 03:04:05'"},
                      {"TINYINT NOT NULL DEFAULT 0", "1"}},
                     {{"TIMESTAMPTZ", "now()"},
                      {"DATE", "'-infinity'"},
                      {"INT NOT NULL DEFAULT 0", "1"},
                      {"NUMERIC DEFAULT 0", "0.5"},
                      {"BOOLEAN", "true"}}};

static void delete_softly(int manner, const char *type, const char *set)
{
    AUTO_DB *db = enter_as(manner);
    AUTO_DB *rival = enter();
    struct change c = {.by = 1};
    hf_row_update u = by_version(&c);
    char meanwhile[80];

    u.deleted = "gone";
    make_accounts(db);
    tell(db, "ALTER TABLE account ADD gone %s", type);
    EXPECT_IS(change(db, 1, &u), HF_OK);
    tell(db, "UPDATE account SET gone=%s WHERE id=2", set);
    EXPECT_SAFE_IS(change(db, 2, &u), HF_ROW_GONE);
    EXPECT_HAS(err.text, "deleted");
    EXPECT_TEXT(row_says(db, 2), "200 1");
    /* Without a new version, as such an UPDATE may come. */
    c = (struct change){.by = 1, .rival = rival, .times = 1};
    snprintf(meanwhile, sizeof meanwhile,
             "UPDATE account SET gone=%s WHERE id=3", set);
    c.meanwhile = meanwhile;
    EXPECT_SAFE_IS(change(db, 3, &u), HF_ROW_GONE);
    EXPECT_TEXT(row_says(db, 3), "300 1");
    u.deleted = NULL;
    EXPECT_IS(change(db, 2, &u), HF_OK);
}

TEST(a_row_that_is_deleted_softly_is_gone_where_its_column_is_named)
{
    for (int i = 0; marks[its.kind][i].type != NULL; i++) {
        EACH_MANNER(m)
        {
            delete_softly(m, marks[its.kind][i].type, marks[its.kind][i].set);
        }
    }
}

TEST(a_deletion_column_of_text_is_refused)
{
    static const char *const texts[KINDS][6] = {
        {"VARCHAR(9)", "CHAR(3)", "ENUM('n','y')", "TEXT", "BLOB"},
        {"TEXT", "CHAR(3)", "BYTEA", "INTERVAL"}};
    AUTO_DB *db = enter();
    struct change c = {.by = 1};
    hf_row_update u = by_version(&c);

    u.deleted = "gone";
    for (int i = 0; texts[its.kind][i] != NULL; i++) {
        make_accounts(db);
        tell(db, "ALTER TABLE account ADD gone %s", texts[its.kind][i]);
        if (strcmp(texts[its.kind][i], "INTERVAL") != 0) {
            tell(db, "UPDATE account SET gone='y'");
        }
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
    static const char *const when[KINDS][3] = {
        {""}, {"", "DEFERRABLE INITIALLY DEFERRED"}};

    EACH_MANNER(m)
    {
        for (int i = 0; when[its.kind][i] != NULL; i++) {
            AUTO_DB *db = enter_as(m);
            struct change c = {.by = 100};
            hf_row_update u = by_version(&c);

            make_accounts(db);
            tell(db, "ALTER TABLE account ADD CONSTRAINT only_one UNIQUE(n) %s",
                 when[its.kind][i]);
            EXPECT_SAFE_IS(change(db, 1, &u), HF_ROW_EREFUSED);
            EXPECT_TEXT(said(), its.duplicate);
            EXPECT(strncmp(err.sqlstate, "23", 2) == 0);
            EXPECT_HAS(err.text, "only_one");
            /* Values of rows may be anybody's secret. */
            EXPECT(strstr(err.text, "200") == NULL);
            EXPECT_IS(info.tries, 1);
            EXPECT_TEXT(row_says(db, 1), "100 1");
            EXPECT_IS(state_of(db), 'I');
        }
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
    static const struct {
        const char *type;
        const char *says;
    } columns[KINDS][6] = {
        {{"INT", "1366"}, {"DATETIME", "1292"}, {"VARCHAR(3)", "1406"}},
        {{"INT", "22P02"},
         {"TIMESTAMPTZ", "22007"},
         {"VARCHAR(3)", "22001"},
         {"TEXT CHECK(length(n)<3)", "23514"},
         {"UUID", "22P02"}}};
    AUTO_DB *db = enter();
    struct change c = {.by = 0};
    hf_row_update u = by_version(&c);

    make_accounts(db);
    u.change = give_text;
    u.arg = secret;
    for (int i = 0; columns[its.kind][i].type != NULL; i++) {
        tell(db, "ALTER TABLE account DROP n,ADD n %s",
             columns[its.kind][i].type);
        EXPECT_IS(change(db, 1, &u), HF_ROW_EREFUSED);
        EXPECT_TEXT(said(), columns[its.kind][i].says);
        EXPECT(strstr(err.text, "knock") == NULL);
        EXPECT(strstr(err.text, "6b6e6f636b") == NULL);
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

/* ---- others at the row */

TEST(a_row_that_stays_locked_is_busy_after_the_limit)
{
    AUTO_DB *db = enter();
    AUTO_DB *other = enter();
    struct change c = {.by = 1};
    hf_row_update u = by_version(&c);
    char before[VALUE];

    make_accounts(db);
    tell(other, "BEGIN");
    EXPECT_IS(lock_for(other, 1, 0), HF_OK);
    snprintf(before, sizeof before, "%s", session_of(db));
    u.limit_ms = its.tick_ms;
    EXPECT_IS(change(db, 1, &u), HF_BUSY);
    EXPECT_IS(c.calls, 1); /* it reads past the lock */
    EXPECT_TEXT(session_of(db), before);
    tell(db, "BEGIN");
    tell(db, "UPDATE account SET n=7 WHERE id=3");
    EXPECT_IS(change(db, 1, &u), HF_BUSY);
    EXPECT_IS(c.calls, 1);
    EXPECT_IS(info.in_transaction, 1);
    EXPECT_TEXT(session_of(db), before);
    tell(db, "COMMIT");
    tell(other, "ROLLBACK");
    EXPECT_TEXT(row_says(db, 1), "100 1");
    EXPECT_TEXT(row_says(db, 3), "7 1");
}

TEST(in_a_small_table_only_its_own_row_is_touched)
{
    AUTO_DB *db = enter();
    AUTO_DB *other = enter();
    struct change c = {.by = 1};
    hf_row_update u = by_version(&c);
    hf_row_column key = {"id", {HF_ROW_TEXT, 0, "a", 1}};
    hf_row row = {sizeof row, NULL, "tiny", &key, 1};

    tell(db, "CREATE TABLE tiny(id VARCHAR(20) PRIMARY KEY,n INT,"
             "version INT NOT NULL)");
    tell(db, "INSERT INTO tiny VALUES('a',1,1),('b',2,1)");
    tell(other, "BEGIN");
    tell(other, "SELECT 1 FROM tiny WHERE id='b' FOR UPDATE");
    u.limit_ms = its.tick_ms;
    EXPECT_IS(update_row(db, &row, &u, &info, &err), HF_OK);
}

TEST(a_row_is_found_by_a_unique_index_or_refused)
{
    AUTO_DB *db = enter();
    struct change c = {.by = 1};
    hf_row_update u = by_version(&c);
    hf_row_column key = {"version", {HF_ROW_INT, 1, NULL, 0}};
    hf_row row = {sizeof row, NULL, "account", &key, 1};

    make_accounts(db);
    EXPECT_SAFE_IS(update_row(db, &row, &u, &info, &err), HF_EUNSAFE);
    EXPECT_HAS(err.text, its.no_index);
    EXPECT_IS(c.calls, 0);
}
