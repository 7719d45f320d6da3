/* SPDX-License-Identifier: MIT */
/*
 * Versions that are times, and numbers that end: a version that stays the same
 * lets a stale writer through. And what is not valid.
 */
#include "tests/rows/change.h"

TEST(a_stamp_that_is_coarser_than_microseconds_is_refused)
{
    static const char *const coarse[KINDS][6] = {
        {"DATETIME NOT NULL DEFAULT '2026-01-02'", "DATETIME(3) NOT NULL",
         "DATETIME(5) NOT NULL", "TIMESTAMP NOT NULL", "TIMESTAMP(5) NOT NULL"},
        {"TIMESTAMP(0) NOT NULL DEFAULT now()", "TIMESTAMP(5)",
         "TIMESTAMPTZ(0)", "TIMESTAMPTZ(5)"}};
    AUTO_DB *db = enter();
    struct change c = {.by = 1};
    hf_row_update u = by_stamp(&c);

    tell(db, "%s", its.be_lenient);
    for (int i = 0; coarse[its.kind][i] != NULL; i++) {
        make_stamped(db, coarse[its.kind][i]);
        EXPECT_SAFE_IS(change(db, 1, &u), HF_EUNSAFE);
        EXPECT_HAS(err.text, "(6)");
        EXPECT_IS(c.calls, 0);
        EXPECT_TEXT(value(db, "SELECT n FROM account WHERE id=1"), "100");
    }
    make_stamped(db, "TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)");
    EXPECT_IS(change(db, 1, &u), HF_OK);
}

/* ---- what can't be a version */

static const struct {
    const char *type;
    const char *why;
} unfit[KINDS][13] = {
    {{"TINYINT NOT NULL DEFAULT 127", "largest"},
     {"TINYINT UNSIGNED NOT NULL DEFAULT 255", "largest"},
     {"MEDIUMINT NOT NULL DEFAULT 8388607", "largest"},
     {"INT UNSIGNED NOT NULL DEFAULT 4294967295", "largest"},
     {"BIGINT NOT NULL DEFAULT 9223372036854775807", "largest"},
     {"BIGINT UNSIGNED NOT NULL DEFAULT 18446744073709551615", "largest"},
     {"INT NULL", "NULL"},
     {"DATETIME(6) NULL", "NULL"},
     {"DOUBLE NOT NULL DEFAULT 1", "neither"},
     {"VARCHAR(20) NOT NULL DEFAULT '1'", "neither"},
     {"DATE NOT NULL DEFAULT '2026-01-02'", "neither"}},
    {{"SMALLINT NOT NULL DEFAULT 32767", "largest"},
     {"INT NOT NULL DEFAULT 2147483647", "largest"},
     {"BIGINT NOT NULL DEFAULT 9223372036854775807", "largest"},
     {"TIMESTAMP NOT NULL DEFAULT 'infinity'", "largest"},
     {"TIMESTAMPTZ NOT NULL DEFAULT 'infinity'", "largest"},
     {"INT NULL", "NULL"},
     {"TIMESTAMPTZ NULL", "NULL"},
     {"FLOAT8 NOT NULL DEFAULT 1", "neither"},
     {"NUMERIC NOT NULL DEFAULT 1", "neither"},
     {"TEXT NOT NULL DEFAULT '1'", "neither"},
     {"DATE NOT NULL DEFAULT '2026-01-02'", "neither"},
     {"TIME NOT NULL DEFAULT '01:02:03'", "neither"}}};

TEST(a_version_that_cannot_rise_is_refused)
{
    AUTO_DB *db = enter();

    /* Without strict mode MySQL would cut the next one down to this. */
    tell(db, "%s", its.be_lenient);
    for (int i = 0; unfit[its.kind][i].type != NULL; i++) {
        struct change c = {.by = 1};
        hf_row_update u = by_stamp(&c);

        make_stamped(db, unfit[its.kind][i].type);
        EXPECT_SAFE_IS(change(db, 1, &u), HF_EINVAL);
        EXPECT_HAS(err.text, unfit[its.kind][i].why);
        EXPECT_IS(c.calls, 0);
    }
}

TEST(what_is_not_valid_is_told_by_its_name)
{
    static const char *const wrong[] = {"Version"};
    AUTO_DB *db = enter();
    struct change c = {.by = 1};
    hf_row_update u = by_version(&c);

    make_accounts(db);
    EXPECT_IS(change(db, 1, NULL), HF_EINVAL);
    u.change = NULL;
    EXPECT_IS(change(db, 1, &u), HF_EINVAL);
    u = by_version(&c);
    u.columns = wrong;
    EXPECT_IS(change(db, 1, &u), HF_EINVAL);
    EXPECT_HAS(err.text, "Version is the version column");
    u = by_version(&c);
    u.n_columns = HF_ROW_COLUMNS_MAX + 1;
    EXPECT_IS(change(db, 1, &u), HF_EINVAL);
    u = by_version(&c);
    u.retries = -1;
    EXPECT_IS(change(db, 1, &u), HF_EINVAL);
    u = by_version(&c);
    u.limit_ms = 0;
    EXPECT_IS(change(db, 1, &u), HF_EINVAL);
    u = by_version(&c);
    u.version = "no_such";
    EXPECT_IS(change(db, 1, &u), HF_EINVAL);
    EXPECT_HAS(err.text, "no_such");
    u = by_version(&c);
    u.deleted = "";
    EXPECT_IS(change(db, 1, &u), HF_EINVAL);
    EXPECT_TEXT(row_says(db, 1), "100 1");
}
