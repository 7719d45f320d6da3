/* SPDX-License-Identifier: MIT */
/*
 * Updates by version: nobody's write is lost, and what came of one is told
 * apart. Each outcome is had with and without CLIENT_FOUND_ROWS.
 */
#include "tests/rows/change.h"

#include <string.h>

static const unsigned long flags[] = {0, CLIENT_FOUND_ROWS};

static MYSQL *enter_as(int i)
{
    return enter_with(flags[i], hf__mariadb_port(server()));
}

TEST(a_row_is_changed_and_its_version_counts_it)
{
    for (int i = 0; i < 2; i++) {
        AUTO_DB *db = enter_as(i);
        struct change c = {.by = 1};
        hf_mysql_update u = by_version(&c);

        tell(db, "DROP TABLE IF EXISTS account");
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
    }
}

TEST(who_comes_between_reading_and_writing_loses_nothing)
{
    for (int i = 0; i < 2; i++) {
        AUTO_DB *db = enter_as(i);
        AUTO_DB *rival = enter();
        struct change c = {.by = 1,
                           .rival = rival,
                           .meanwhile =
                               "UPDATE account SET n=n+1000,version=version+1 "
                               "WHERE id=1",
                           .times = 3};
        hf_mysql_update u = by_version(&c);

        tell(db, "DROP TABLE IF EXISTS account");
        make_accounts(db);
        EXPECT_SAFE_IS(change(db, 1, &u), HF_OK);
        EXPECT_TEXT(err.text, ""); /* what it met on the way is no error */
        EXPECT_SAFE(strcmp(row_says(db, 1), "3101 5") == 0);
        EXPECT_IS(info.tries, 4);
        EXPECT_IS(c.calls, 4);
    }
}

TEST(a_conflict_that_stays_is_an_outcome_and_writes_nothing)
{
    for (int i = 0; i < 2; i++) {
        AUTO_DB *db = enter_as(i);
        AUTO_DB *rival = enter();
        struct change c = {
            .by = 1,
            .rival = rival,
            .meanwhile = "UPDATE account SET version=version+1 WHERE id=1",
            .times = 1000};
        hf_mysql_update u = by_version(&c);

        EXPECT_MORE(u.retries, 2);
        u.retries = 3;
        tell(db, "DROP TABLE IF EXISTS account");
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
    AUTO_DB *db = enter();
    AUTO_DB *rival = enter();
    struct change c = {
        .by = 1,
        .rival = rival,
        .meanwhile = "UPDATE account SET version=version+1,n=SLEEP(0.02)*0+n "
                     "WHERE id=1",
        .times = 1000};
    hf_mysql_update u = by_version(&c);

    make_accounts(db);
    u.retries = HF_MYSQL_RETRIES_MAX;
    u.limit_ms = 200;
    EXPECT_IS(change(db, 1, &u), HF_CONFLICT);
    EXPECT_LESS(info.tries, 12);
}

/* ---- gone */

TEST(a_row_that_is_not_there_is_gone)
{
    for (int i = 0; i < 2; i++) {
        AUTO_DB *db = enter_as(i);
        AUTO_DB *rival = enter();
        struct change c = {.by = 1};
        hf_mysql_update u = by_version(&c);

        tell(db, "DROP TABLE IF EXISTS account");
        make_accounts(db);
        EXPECT_IS(change(db, 99, &u), HF_MYSQL_GONE);
        EXPECT_IS(c.calls, 0);
        /* Also if it goes between reading and writing. */
        c.rival = rival;
        c.meanwhile = "DELETE FROM account WHERE id=1";
        c.times = 1;
        EXPECT_IS(change(db, 1, &u), HF_MYSQL_GONE);
        EXPECT_IS(c.calls, 1);
    }
}

TEST(a_row_that_is_deleted_softly_is_gone_where_its_column_is_named)
{
    static const char *const marks[] = {"DATETIME NULL", "TINYINT NOT NULL "
                                                         "DEFAULT 0"};
    static const char *const set[] = {"'2026-01-02 03:04:05'", "1"};

    for (int i = 0; i < 4; i++) {
        AUTO_DB *db = enter_as(i % 2);
        AUTO_DB *rival = enter();
        struct change c = {.by = 1};
        hf_mysql_update u = by_version(&c);

        u.deleted = "gone";
        tell(db, "DROP TABLE IF EXISTS account");
        make_accounts(db);
        tell(db, "ALTER TABLE account ADD gone %s", marks[i / 2]);
        EXPECT_IS(change(db, 1, &u), HF_OK);
        tell(db, "UPDATE account SET gone=%s WHERE id=2", set[i / 2]);
        EXPECT_SAFE_IS(change(db, 2, &u), HF_MYSQL_GONE);
        EXPECT_HAS(err.text, "deleted");
        EXPECT_TEXT(row_says(db, 2), "200 1");
        /* Without a new version, as such an UPDATE may come. */
        c = (struct change){.by = 1, .rival = rival, .times = 1};
        c.meanwhile = i < 2 ? "UPDATE account SET gone=NOW() WHERE id=3"
                            : "UPDATE account SET gone=1 WHERE id=3";
        EXPECT_SAFE_IS(change(db, 3, &u), HF_MYSQL_GONE);
        EXPECT_TEXT(row_says(db, 3), "300 1");
        u.deleted = NULL;
        EXPECT_IS(change(db, 2, &u), HF_OK);
    }
}

TEST(a_deletion_column_of_text_is_refused)
{
    static const char *const texts[] = {"VARCHAR(9)", "CHAR(3)",
                                        "ENUM('n','y')", "TEXT", "BLOB"};
    AUTO_DB *db = enter();
    struct change c = {.by = 1};
    hf_mysql_update u = by_version(&c);

    u.deleted = "gone";
    for (int i = 0; i < 5; i++) {
        tell(db, "DROP TABLE IF EXISTS account");
        make_accounts(db);
        tell(db, "ALTER TABLE account ADD gone %s", texts[i]);
        tell(db, "UPDATE account SET gone='y'");
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
    for (int i = 0; i < 2; i++) {
        AUTO_DB *db = enter_as(i);
        struct change c = {.by = 100};
        hf_mysql_update u = by_version(&c);

        tell(db, "DROP TABLE IF EXISTS account");
        make_accounts(db);
        tell(db, "ALTER TABLE account ADD UNIQUE only_one(n)");
        EXPECT_SAFE_IS(change(db, 1, &u), HF_MYSQL_EREFUSED);
        EXPECT_IS(err.native, 1062);
        EXPECT_TEXT(err.sqlstate, "23000");
        EXPECT_HAS(err.text, "only_one");
        /* Values of rows may be anybody's secret. */
        EXPECT(strstr(err.text, "200") == NULL);
        EXPECT_IS(info.tries, 1);
        EXPECT_TEXT(row_says(db, 1), "100 1");
    }
}

static int give_text(void *arg, const hf_mysql_value *old_values,
                     hf_mysql_value *new_values)
{
    (void)old_values;
    new_values[0] = (hf_mysql_value){HF_MYSQL_TEXT, 0, arg, strlen(arg)};
    return 0;
}

TEST(no_value_of_a_row_is_repeated_by_an_error)
{
    static char secret[] = "knock-twice for ever";
    AUTO_DB *db = enter();
    struct change c = {.by = 0};
    hf_mysql_update u = by_version(&c);

    make_accounts(db);
    u.change = give_text;
    u.arg = secret;
    EXPECT_IS(change(db, 1, &u), HF_MYSQL_EREFUSED);
    EXPECT_IS(err.native, 1366);
    EXPECT(strstr(err.text, "knock") == NULL);
    EXPECT(strstr(err.text, "6b6e6f636b") == NULL);
    tell(db, "ALTER TABLE account DROP n,ADD n DATETIME");
    EXPECT_IS(change(db, 1, &u), HF_MYSQL_EREFUSED);
    EXPECT(strstr(err.text, "knock") == NULL);
    tell(db, "ALTER TABLE account MODIFY n VARCHAR(3)");
    EXPECT_IS(change(db, 1, &u), HF_MYSQL_EREFUSED);
    EXPECT_IS(err.native, 1406);
    EXPECT(strstr(err.text, "knock") == NULL);
}

static int decline(void *arg, const hf_mysql_value *old_values,
                   hf_mysql_value *new_values)
{
    (void)arg;
    (void)old_values;
    (void)new_values;
    return 7;
}

TEST(what_the_callback_does_not_want_is_not_written)
{
    AUTO_DB *db = enter();
    struct change c = {.by = 0};
    hf_mysql_update u = by_version(&c);

    make_accounts(db);
    u.change = decline;
    EXPECT_IS(change(db, 1, &u), HF_MYSQL_DECLINED);
    EXPECT_TEXT(row_says(db, 1), "100 1");
}

/* ---- values */

static int check_and_turn(void *arg, const hf_mysql_value *o, hf_mysql_value *n)
{
    (void)arg;
    EXPECT_IS(o[0].type, HF_MYSQL_TEXT);
    EXPECT_IS(o[0].length, 4);
    EXPECT(memcmp(o[0].bytes, "a'\\`", 4) == 0);
    EXPECT_IS(o[1].type, HF_MYSQL_BYTES);
    EXPECT_IS(o[1].length, 3);
    EXPECT(memcmp(o[1].bytes, "\0'\xff", 3) == 0);
    EXPECT_IS(o[2].type, HF_MYSQL_NULL);
    EXPECT_IS(o[3].type, HF_MYSQL_INT);
    EXPECT_IS(o[3].number, INT64_MIN);
    EXPECT_IS(o[4].type, HF_MYSQL_TEXT); /* beyond int64_t */
    EXPECT_IS(o[5].type, HF_MYSQL_TEXT);
    for (int i = 0; i < 7; i++) {
        EXPECT_IS(n[i].type, HF_MYSQL_UNSET);
    }
    n[0] = (hf_mysql_value){HF_MYSQL_TEXT, 0, "\"\0'", 3};
    n[1] = o[0];
    n[2] = (hf_mysql_value){HF_MYSQL_INT, -5, NULL, 0};
    n[3] = (hf_mysql_value){.type = HF_MYSQL_NULL};
    n[4] = o[4];
    n[5] = (hf_mysql_value){HF_MYSQL_TEXT, 0, "0.05", 4};
    return 0;
}

TEST(values_of_all_types_come_and_go_as_they_are)
{
    static const char *const columns[] = {"t", "b", "i", "m", "u", "d", "kept"};
    AUTO_DB *db = enter();
    hf_mysql_update u = HF_MYSQL_UPDATE_INIT;

    tell(db, "CREATE TABLE account(id INT PRIMARY KEY,t VARCHAR(9) CHARACTER "
             "SET utf8mb4,b VARBINARY(9),i INT,m BIGINT,u BIGINT UNSIGNED,"
             "d DECIMAL(4,2),kept INT,version BIGINT UNSIGNED NOT NULL)"
             "ENGINE=InnoDB");
    tell(db, "INSERT INTO account VALUES(1,x'61275c60',x'0027ff',NULL,"
             "-9223372036854775808,18446744073709551615,1.50,42,7)");
    u.version = "version";
    u.columns = columns;
    u.n_columns = 7;
    u.change = check_and_turn;
    EXPECT_IS(change(db, 1, &u), HF_OK);
    EXPECT_TEXT(value(db, "SELECT CONCAT_WS('|',HEX(t),HEX(b),i,IFNULL(m,'-'),"
                          "u,d,kept,version) FROM account"),
                "220027|61275C60|-5|-|18446744073709551615|0.05|42|8");
}

/* ---- others at the row */

TEST(a_row_that_stays_locked_is_busy_after_the_limit)
{
    AUTO_DB *db = enter();
    AUTO_DB *other = enter();
    struct change c = {.by = 1};
    hf_mysql_update u = by_version(&c);
    char before[512];

    make_accounts(db);
    tell(other, "BEGIN");
    EXPECT_IS(lock_for(other, 1, 0), HF_OK);
    strncpy(before, session_of(db), sizeof before - 1);
    before[sizeof before - 1] = '\0';
    u.limit_ms = 1000;
    EXPECT_IS(change(db, 1, &u), HF_BUSY);
    EXPECT_IS(c.calls, 1); /* it reads past the lock */
    EXPECT_TEXT(session_of(db), before);
    tell(other, "ROLLBACK");
    EXPECT_TEXT(row_says(db, 1), "100 1");
}

TEST(in_a_small_table_only_its_own_row_is_touched)
{
    AUTO_DB *db = enter();
    AUTO_DB *other = enter();
    struct change c = {.by = 1};
    hf_mysql_update u = by_version(&c);
    hf_mysql_column key = {"id", {HF_MYSQL_TEXT, 0, "a", 1}};
    hf_mysql_row row = {sizeof row, NULL, "tiny", &key, 1};

    tell(db, "CREATE TABLE tiny(id VARCHAR(20) PRIMARY KEY,n INT,"
             "version INT NOT NULL)ENGINE=InnoDB");
    tell(db, "INSERT INTO tiny VALUES('a',1,1),('b',2,1)");
    tell(other, "BEGIN");
    tell(other, "SELECT 1 FROM tiny WHERE id='b' FOR UPDATE");
    u.limit_ms = 1000;
    EXPECT_IS(hf_mysql_update_versioned(db, &row, &u, &info, &err), HF_OK);
}

TEST(a_row_is_found_by_a_unique_index_or_refused)
{
    AUTO_DB *db = enter();
    struct change c = {.by = 1};
    hf_mysql_update u = by_version(&c);
    hf_mysql_column key = {"version", {HF_MYSQL_INT, 1, NULL, 0}};
    hf_mysql_row row = {sizeof row, NULL, "account", &key, 1};

    make_accounts(db);
    EXPECT_SAFE_IS(hf_mysql_update_versioned(db, &row, &u, &info, &err),
                   HF_EUNSAFE);
    EXPECT_HAS(err.text, "type=ALL");
    EXPECT_IS(c.calls, 0);
    tell(db, "ALTER TABLE account ENGINE=MyISAM");
    EXPECT_IS(change(db, 1, &u), HF_EUNSAFE);
    EXPECT_HAS(err.text, "MyISAM");
}
