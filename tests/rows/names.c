/* SPDX-License-Identifier: MIT */
/*
 * What is given as a name or a value stays one: quotes, NUL, other tables.
 * And what is not valid is told by its name.
 */
#include "tests/rows/world.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static int lock_text(MYSQL *db, const char *table, const char *column,
                     const char *bytes, size_t length)
{
    const hf_mysql_column key = {column, {HF_MYSQL_TEXT, 0, bytes, length}};
    const hf_mysql_row row = {sizeof row, NULL, table, &key, 1};

    return hf_mysql_lock_row(db, &row, NULL, &info, &err);
}

TEST(a_name_with_a_backquote_is_one_name)
{
    AUTO_DB *db = enter();

    tell(db, "CREATE TABLE `a``b`(`i``d` INT PRIMARY KEY)ENGINE=InnoDB");
    tell(db, "INSERT INTO `a``b` VALUES(1)");
    tell(db, "BEGIN");
    EXPECT_IS(lock_text(db, "a`b", "i`d", "1", 1), HF_OK);
    EXPECT_IS(lock_text(db, "a`b", "i`d", "2", 1), HF_MYSQL_GONE);
    EXPECT_IS(lock_text(db, "a", "i`d", "1", 1), HF_EINVAL);
    EXPECT_IS(lock_text(db, "a`b` WHERE 1=1 -- ", "i`d", "1", 1), HF_EINVAL);
}

TEST(a_dot_in_a_name_does_not_name_a_database)
{
    AUTO_DB *db = enter();
    hf_mysql_row row = *row_of("a.b", 1);

    tell(db, "CREATE TABLE `a.b`(id INT PRIMARY KEY)ENGINE=InnoDB");
    tell(db, "INSERT INTO `a.b` VALUES(1)");
    tell(db, "BEGIN");
    EXPECT_IS(hf_mysql_lock_row(db, &row, NULL, &info, &err), HF_OK);
    row.database = database();
    EXPECT_IS(hf_mysql_lock_row(db, &row, NULL, &info, &err), HF_OK);
    row.database = "hf_nobody_made_this";
    EXPECT_NOT(hf_mysql_lock_row(db, &row, NULL, &info, &err), HF_OK);
}

TEST(a_value_with_quotes_and_nul_is_one_value)
{
    static const char evil[] = "x' OR '1'='1\\\0\" -- ";
    AUTO_DB *db = enter();
    AUTO_DB *other = enter();

    tell(db, "CREATE TABLE named(name VARCHAR(60) CHARACTER SET utf8mb4 "
             "COLLATE utf8mb4_bin PRIMARY KEY)ENGINE=InnoDB");
    tell(db, "INSERT INTO named VALUES('x'),(x'"
             "7827204f52202731273d27315c0022202d2d20')");
    tell(db, "BEGIN");
    EXPECT_IS(lock_text(db, "named", "name", evil, sizeof evil - 1), HF_OK);
    EXPECT_IS(lock_text(db, "named", "name", evil, strlen(evil)),
              HF_MYSQL_GONE);
    tell(other, "SELECT 1 FROM named WHERE name='x' FOR UPDATE NOWAIT");
}

TEST(a_value_may_be_long)
{
    static char name[3000];
    AUTO_DB *db = enter();

    memset(name, 'n', sizeof name);
    tell(db, "CREATE TABLE named(name VARCHAR(3000) CHARACTER SET latin1 "
             "PRIMARY KEY)ENGINE=InnoDB ROW_FORMAT=DYNAMIC");
    tell(db, "INSERT INTO named VALUES(REPEAT('n',3000))");
    tell(db, "BEGIN");
    EXPECT_IS(lock_text(db, "named", "name", name, sizeof name), HF_OK);
    EXPECT_IS(lock_text(db, "named", "name", name, sizeof name - 1),
              HF_MYSQL_GONE);
}

TEST(bytes_are_compared_as_bytes)
{
    AUTO_DB *db = enter();
    hf_mysql_column key = {"id", {HF_MYSQL_BYTES, 0, "\0'\xff`", 4}};
    const hf_mysql_row row = {sizeof row, NULL, "blob_key", &key, 1};

    tell(db, "CREATE TABLE blob_key(id BINARY(4) PRIMARY KEY)ENGINE=InnoDB");
    tell(db, "INSERT INTO blob_key VALUES(x'0027ff60')");
    tell(db, "BEGIN");
    EXPECT_IS(hf_mysql_lock_row(db, &row, NULL, &info, &err), HF_OK);
    key.value.bytes = "\0'\xfe`";
    EXPECT_IS(hf_mysql_lock_row(db, &row, NULL, &info, &err), HF_MYSQL_GONE);
}

TEST(text_is_in_the_connections_character_set)
{
    AUTO_DB *db = enter();

    tell(db, "CREATE TABLE named(name VARCHAR(20) CHARACTER SET utf8mb4 "
             "PRIMARY KEY)ENGINE=InnoDB");
    tell(db, "INSERT INTO named VALUES('\xc3\xa9')");
    EXPECT_IS(mysql_set_character_set(db, "latin1"), 0);
    tell(db, "BEGIN");
    EXPECT_IS(lock_text(db, "named", "name", "\xe9", 1), HF_OK);
    EXPECT_IS(lock_text(db, "named", "name", "\xc3\xa9", 2), HF_MYSQL_GONE);
    /* Names beyond ASCII could hide a quote in some of them. */
    EXPECT_IS(lock_text(db, "caf\xe9", "name", "x", 1), HF_EINVAL);
    EXPECT_HAS(err.text, "utf8mb4");
}

TEST(names_beyond_ascii_are_utf8)
{
    AUTO_DB *db = enter();

    tell(db, "CREATE TABLE `caf\xc3\xa9`(id INT PRIMARY KEY)ENGINE=InnoDB");
    tell(db, "INSERT INTO `caf\xc3\xa9` VALUES(1)");
    tell(db, "BEGIN");
    EXPECT_IS(hf_mysql_lock_row(db, row_of("caf\xc3\xa9", 1), NULL, NULL, NULL),
              HF_OK);
    EXPECT_IS(hf_mysql_lock_row(db, row_of("caf\xe9", 1), NULL, NULL, &err),
              HF_EINVAL);
}

TEST(the_longest_name_fits_and_a_longer_one_does_not)
{
    AUTO_DB *db = enter();
    char name[80];

    memset(name, '`', 64);
    name[64] = '\0';
    tell(db, "CREATE TABLE t(id INT PRIMARY KEY)ENGINE=InnoDB");
    tell(db, "BEGIN");
    /* The server knows no column of that name, and takes it for one. */
    EXPECT_IS(lock_text(db, "t", name, "1", 1), HF_EINVAL);
    EXPECT_IS(err.native, 1054);
    name[64] = 'x';
    name[65] = '\0';
    EXPECT_IS(lock_text(db, "t", name, "1", 1), HF_EINVAL);
    EXPECT_IS(err.native, 0);
    EXPECT_HAS(err.text, "64");
}

/* ---- arguments */

static int lock_value(MYSQL *db, hf_mysql_value v)
{
    const hf_mysql_column key = {"id", v};
    const hf_mysql_row row = {sizeof row, NULL, "account", &key, 1};

    return hf_mysql_lock_row(db, &row, NULL, &info, &err);
}

TEST(what_is_not_valid_is_told_before_the_server_is_asked)
{
    AUTO_DB *db = enter();
    hf_mysql_row row = *row_of("account", 1);
    hf_mysql_info bad = HF_MYSQL_INFO_INIT;
    AUTO_DB *none = mysql_init(NULL);
    hf_mysql_lock_opts opts = HF_MYSQL_LOCK_OPTS_INIT;

    EXPECT_IS(hf_mysql_lock_row(NULL, &row, NULL, &info, &err), HF_EINVAL);
    EXPECT_IS(hf_mysql_lock_row(none, &row, NULL, &info, &err), HF_EUNAVAIL);
    EXPECT_IS(hf_mysql_lock_row(db, NULL, NULL, &info, &err), HF_EINVAL);
    row.size = 0;
    EXPECT_IS(hf_mysql_lock_row(db, &row, NULL, &info, &err), HF_EINVAL);
    EXPECT_HAS(err.text, "INIT");
    row.size = sizeof row;
    bad.size = sizeof bad + 1;
    EXPECT_IS(hf_mysql_lock_row(db, &row, NULL, &bad, &err), HF_EINVAL);
    row.n_key = 0;
    EXPECT_IS(hf_mysql_lock_row(db, &row, NULL, &info, &err), HF_EINVAL);
    row.n_key = HF_MYSQL_KEY_MAX + 1;
    EXPECT_IS(hf_mysql_lock_row(db, &row, NULL, &info, &err), HF_EINVAL);
    row.n_key = 1;
    row.table = "";
    EXPECT_IS(hf_mysql_lock_row(db, &row, NULL, &info, &err), HF_EINVAL);
    row.table = "account";
    EXPECT_IS(lock_value(db, (hf_mysql_value){.type = HF_MYSQL_NULL}),
              HF_EINVAL);
    EXPECT_HAS(err.text, "id is NULL");
    EXPECT_IS(lock_value(db, (hf_mysql_value){.type = HF_MYSQL_UNSET}),
              HF_EINVAL);
    EXPECT_IS(lock_value(db, (hf_mysql_value){HF_MYSQL_TEXT, 0, NULL, 1}),
              HF_EINVAL);
    opts.wait_ms = -2;
    EXPECT_IS(hf_mysql_lock_row(db, &row, &opts, &info, &err), HF_EINVAL);
    opts.wait_ms = HF_MYSQL_WAIT_MAX_MS + 1;
    EXPECT_IS(hf_mysql_lock_row(db, &row, &opts, &info, &err), HF_EINVAL);
    opts.wait_ms = 1;
    opts.skip_locked = 1;
    EXPECT_IS(hf_mysql_lock_row(db, &row, &opts, &info, &err), HF_EINVAL);
    EXPECT_HAS(err.text, "skip_locked");
}

TEST(a_struct_of_a_newer_version_is_refused_if_it_says_something_new)
{
    AUTO_DB *db = enter();
    struct {
        hf_mysql_lock_opts opts;
        int64_t newer;
    } newer = {HF_MYSQL_LOCK_OPTS_INIT, 0};

    make_accounts(db);
    tell(db, "BEGIN");
    newer.opts.size = sizeof newer;
    EXPECT_IS(
        hf_mysql_lock_row(db, row_of("account", 1), &newer.opts, &info, &err),
        HF_OK);
    newer.newer = 1;
    EXPECT_IS(
        hf_mysql_lock_row(db, row_of("account", 1), &newer.opts, &info, &err),
        HF_EINVAL);
    EXPECT_HAS(err.text, "newer");
    /* An older one has less, and its INIT macro has set that. */
    newer.opts.size = offsetof(hf_mysql_lock_opts, wait_ms);
    EXPECT_IS(
        hf_mysql_lock_row(db, row_of("account", 1), &newer.opts, &info, &err),
        HF_OK);
}

TEST(a_result_that_is_still_to_be_read_is_told)
{
    AUTO_DB *db = enter();

    make_accounts(db);
    tell(db, "BEGIN");
    EXPECT_IS(mysql_query(db, "SELECT 1"), 0);
    EXPECT_IS(lock_for(db, 1, 0), HF_EINVAL);
    EXPECT_HAS(err.text, "still to be read");
}

TEST(what_may_not_be_seen_is_told)
{
    AUTO_DB *db = enter();
    hf_mysql_row row = *row_of("user", 1);

    row.database = "mysql";
    tell(db, "BEGIN");
    EXPECT_IS(hf_mysql_lock_row(db, &row, NULL, &info, &err), HF_EAUTH);
    EXPECT_IS(info.in_transaction, 1);
}

TEST(every_status_has_its_name)
{
    EXPECT_TEXT(hf_mysql_strstatus(HF_MYSQL_GONE), "HF_ROW_GONE");
    EXPECT_TEXT(hf_mysql_strstatus(HF_MYSQL_EREFUSED), "HF_ROW_EREFUSED");
    EXPECT_TEXT(hf_mysql_strstatus(HF_BUSY), "HF_BUSY");
    EXPECT_TEXT(hf_mysql_strstatus(HF_EUNKNOWN), "HF_EUNKNOWN");
    EXPECT(hf_mysql_strstatus(12345) != NULL);
}

/* ---- the condition of a guard */

TEST(a_guard_refuses_who_is_late_and_lets_its_holder_write)
{
    AUTO_DB *db = enter();
    char guard[320];

    make_accounts(db);
    tell(db,
         "ALTER TABLE account ADD `f``` BIGINT UNSIGNED NOT NULL DEFAULT 0");
    EXPECT_IS(hf_mysql_guard_sql(guard, sizeof guard, "f`", 17, &err), HF_OK);
    EXPECT_TEXT(guard, "`f```<=17");
    tell(db, "UPDATE account SET n=1,`f```=17 WHERE id=1 AND %s", guard);
    EXPECT_SAFE_IS(mysql_affected_rows(db), 1);
    EXPECT_IS(hf_mysql_guard_sql(guard, sizeof guard, "f`", 16, &err), HF_OK);
    tell(db, "UPDATE account SET n=2,`f```=16 WHERE id=1 AND %s", guard);
    EXPECT_SAFE_IS(mysql_affected_rows(db), 0);
    EXPECT_IS(hf_mysql_guard_sql(guard, sizeof guard, "f`", 17, &err), HF_OK);
    tell(db, "UPDATE account SET n=3,`f```=17 WHERE id=1 AND %s", guard);
    EXPECT_SAFE_IS(mysql_affected_rows(db), 1);
    EXPECT_IS(hf_mysql_guard_sql(guard, sizeof guard, "f`", UINT64_MAX, &err),
              HF_OK);
    tell(db, "UPDATE account SET n=4,`f```=%s WHERE id=1 AND %s",
         "18446744073709551615", guard);
    EXPECT_IS(mysql_affected_rows(db), 1);
    EXPECT_TEXT(value(db, "SELECT n FROM account WHERE id=1"), "4");
}

TEST(a_guard_that_does_not_fit_is_refused)
{
    char name[80];
    char guard[320] = "old";

    EXPECT_IS(hf_mysql_guard_sql(guard, 11, "fence", 17, &err), HF_EINVAL);
    EXPECT_TEXT(guard, "");
    EXPECT_IS(hf_mysql_guard_sql(guard, 12, "fence", 17, &err), HF_OK);
    EXPECT_TEXT(guard, "`fence`<=17");
    EXPECT_IS(hf_mysql_guard_sql(guard, sizeof guard, "", 17, &err), HF_EINVAL);
    EXPECT_IS(hf_mysql_guard_sql(guard, sizeof guard, "fence", 0, &err),
              HF_EINVAL);
    EXPECT_IS(hf_mysql_guard_sql(NULL, 0, "fence", 17, &err), HF_EINVAL);
    memset(name, '`', 64);
    name[64] = '\0';
    EXPECT_IS(hf_mysql_guard_sql(guard, 320, name, UINT64_MAX, &err), HF_OK);
}
