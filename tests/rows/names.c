/* SPDX-License-Identifier: MIT */
/*
 * Names and values at their limits. And what is not valid is told by its name.
 */
#include "tests/rows/world.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

TEST(bytes_are_compared_as_bytes)
{
    static const char *const spelt[KINDS] = {"x'0027ff60'", "'\\x0027ff60'"};
    AUTO_DB *db = enter();
    hf_row_value id = {HF_ROW_BYTES, 0, "\0'\xff`", 4};

    tell(db, "CREATE TABLE t(id %s PRIMARY KEY)",
         its.kind == ON_MYSQL ? "BINARY(4)" : "BYTEA");
    tell(db, "INSERT INTO t VALUES(%s)", spelt[its.kind]);
    tell(db, "BEGIN");
    EXPECT_IS(lock_value(db, "t", "id", id), HF_OK);
    id.bytes = "\0'\xfe`";
    EXPECT_IS(lock_value(db, "t", "id", id), HF_ROW_GONE);
    EXPECT_IS(
        lock_value(db, "t", "id", (hf_row_value){HF_ROW_BYTES, 0, NULL, 0}),
        HF_ROW_GONE);
}

TEST(the_longest_name_fits_and_a_longer_one_does_not)
{
    AUTO_DB *db = enter();
    char name[80];

    memset(name, its.quote, sizeof name);
    name[its.longest_name] = '\0';
    make_accounts(db);
    tell(db, "BEGIN");
    /* The server knows no column of that name, and takes it for one. */
    EXPECT_IS(lock_text(db, "account", name, "1", 1), HF_EINVAL);
    EXPECT_TEXT(said(), its.kind == ON_MYSQL ? "1054" : "");
    EXPECT_HAS(err.text, "column");
    /* PostgreSQL would cut it, and take it for another. */
    name[its.longest_name] = 'x';
    name[its.longest_name + 1] = '\0';
    EXPECT_IS(lock_text(db, "account", name, "1", 1), HF_EINVAL);
    EXPECT_TEXT(said(), "");
    EXPECT_HAS(err.text, its.kind == ON_MYSQL ? "64" : "63 bytes");
}

/* ---- arguments */

TEST(what_is_not_valid_is_told_before_the_server_is_asked)
{
    AUTO_DB *db = enter();
    hf_row row = *row_of("account", 1);
    hf_row_info bad = HF_ROW_INFO_INIT;
    AUTO_DB *none = enter_nowhere();
    hf_row_lock_opts opts = HF_ROW_LOCK_OPTS_INIT;

    EXPECT_IS(lock_row(NULL, &row, NULL, &info, &err), HF_EINVAL);
    EXPECT_IS(lock_row(none, &row, NULL, &info, &err), HF_EUNAVAIL);
    EXPECT_IS(lock_row(db, NULL, NULL, &info, &err), HF_EINVAL);
    row.size = 0;
    EXPECT_IS(lock_row(db, &row, NULL, &info, &err), HF_EINVAL);
    EXPECT_HAS(err.text, "INIT");
    row.size = sizeof row;
    bad.size = sizeof bad + 1;
    EXPECT_IS(lock_row(db, &row, NULL, &bad, &err), HF_EINVAL);
    row.n_key = 0;
    EXPECT_IS(lock_row(db, &row, NULL, &info, &err), HF_EINVAL);
    row.n_key = HF_ROW_KEY_MAX + 1;
    EXPECT_IS(lock_row(db, &row, NULL, &info, &err), HF_EINVAL);
    row.n_key = 1;
    row.table = "";
    EXPECT_IS(lock_row(db, &row, NULL, &info, &err), HF_EINVAL);
    row.table = "account";
    EXPECT_IS(
        lock_value(db, "account", "id", (hf_row_value){.type = HF_ROW_NULL}),
        HF_EINVAL);
    EXPECT_HAS(err.text, "id is NULL");
    EXPECT_IS(
        lock_value(db, "account", "id", (hf_row_value){.type = HF_ROW_UNSET}),
        HF_EINVAL);
    EXPECT_IS(lock_text(db, "account", "id", NULL, 1), HF_EINVAL);
    opts.wait_ms = -2;
    EXPECT_IS(lock_row(db, &row, &opts, &info, &err), HF_EINVAL);
    opts.wait_ms = HF_ROW_WAIT_MAX_MS + 1;
    EXPECT_IS(lock_row(db, &row, &opts, &info, &err), HF_EINVAL);
    opts.wait_ms = 1;
    opts.skip_locked = 1;
    EXPECT_IS(lock_row(db, &row, &opts, &info, &err), HF_EINVAL);
    EXPECT_HAS(err.text, "skip_locked");
}

TEST(a_struct_of_a_newer_version_is_refused_if_it_says_something_new)
{
    AUTO_DB *db = enter();
    struct {
        hf_row_lock_opts opts;
        int64_t newer;
    } newer = {HF_ROW_LOCK_OPTS_INIT, 0};

    make_accounts(db);
    tell(db, "BEGIN");
    newer.opts.size = sizeof newer;
    EXPECT_IS(lock_row(db, row_of("account", 1), &newer.opts, &info, &err),
              HF_OK);
    newer.newer = 1;
    EXPECT_IS(lock_row(db, row_of("account", 1), &newer.opts, &info, &err),
              HF_EINVAL);
    EXPECT_HAS(err.text, "newer");
    /* An older one has less, and its INIT macro has set that. */
    newer.opts.size = offsetof(hf_row_lock_opts, wait_ms);
    EXPECT_IS(lock_row(db, row_of("account", 1), &newer.opts, &info, &err),
              HF_OK);
}

TEST(every_status_has_its_name)
{
    EXPECT_TEXT(status_name(HF_ROW_GONE), "HF_ROW_GONE");
    EXPECT_TEXT(status_name(HF_ROW_EREFUSED), "HF_ROW_EREFUSED");
    EXPECT_TEXT(status_name(HF_BUSY), "HF_BUSY");
    EXPECT_TEXT(status_name(HF_EUNKNOWN), "HF_EUNKNOWN");
    EXPECT(status_name(12345) != NULL);
}

/* ---- the condition of a guard */

TEST(a_guard_refuses_who_is_late_and_lets_its_holder_write)
{
    const uint64_t fences[] = {17, 16, 17,
                               its.kind == ON_MYSQL ? UINT64_MAX : INT64_MAX};
    static const int written[] = {1, 0, 1, 1};
    const char name[] = {'f', its.quote, '\0'};
    char quoted[16];
    AUTO_DB *db = enter();
    char guard[320];

    snprintf(quoted, sizeof quoted, "%cf%c%c%c", its.quote, its.quote,
             its.quote, its.quote);
    make_accounts(db);
    tell(db, "ALTER TABLE account ADD %s BIGINT %s NOT NULL DEFAULT 0", quoted,
         its.kind == ON_MYSQL ? "UNSIGNED" : "");
    EXPECT_IS(guard_sql(guard, sizeof guard, name, 17), HF_OK);
    EXPECT_HAS(guard, quoted);
    EXPECT_TEXT(guard + strlen(quoted), "<=17");
    for (int i = 0; i < 4; i++) {
        EXPECT_IS(guard_sql(guard, sizeof guard, name, fences[i]), HF_OK);
        EXPECT_SAFE_IS(changed(db,
                               "UPDATE account SET n=%d,%s=%llu WHERE id=1 AND "
                               "%s",
                               i, quoted, (unsigned long long)fences[i], guard),
                       written[i]);
    }
    EXPECT_TEXT(value(db, "SELECT n FROM account WHERE id=1"), "3");
}

TEST(a_guard_that_does_not_fit_is_refused)
{
    char name[80];
    char guard[320] = "old";

    EXPECT_IS(guard_sql(guard, 11, "fence", 17), HF_EINVAL);
    EXPECT_TEXT(guard, "");
    EXPECT_IS(guard_sql(guard, 12, "fence", 17), HF_OK);
    EXPECT_TEXT(guard, its.kind == ON_MYSQL ? "`fence`<=17" : "\"fence\"<=17");
    EXPECT_IS(guard_sql(guard, sizeof guard, "", 17), HF_EINVAL);
    EXPECT_IS(guard_sql(guard, sizeof guard, "fence", 0), HF_EINVAL);
    EXPECT_IS(guard_sql(NULL, 0, "fence", 17), HF_EINVAL);
    if (its.kind == ON_POSTGRES) { /* a bigint is signed there */
        snprintf(guard, sizeof guard, "old");
        EXPECT_IS(guard_sql(guard, sizeof guard, "fence", UINT64_C(1) << 63),
                  HF_EINVAL);
        EXPECT_TEXT(guard, "");
    }
    memset(name, its.quote, sizeof name);
    name[its.longest_name] = '\0';
    EXPECT_IS(guard_sql(guard, 320, name,
                        its.kind == ON_MYSQL ? UINT64_MAX : INT64_MAX),
              HF_OK);
}
