/* SPDX-License-Identifier: MIT */
/*
 * Versions that are times of PostgreSQL, and domains.
 */
#include "tests/rows/change.h"

#include <stdio.h>
#include <string.h>

static const char *const kinds[] = {"TIMESTAMP", "TIMESTAMPTZ"};

TEST(two_changes_within_a_microsecond_do_not_look_the_same)
{
    for (int i = 0; i < 2; i++) {
        AUTO_DB *db = enter();
        AUTO_DB *rival = enter();
        struct change late = {.by = 1, .rival = rival, .times = 1};
        hf_row_update u = by_stamp(&late);
        char type[80];

        snprintf(type, sizeof type, "%s NOT NULL DEFAULT now()", kinds[i]);
        make_stamped(db, type);
        late.meanwhile = "UPDATE account SET n=n+1000,changed=changed+INTERVAL "
                         "'1 microsecond' WHERE id=1";
        EXPECT_SAFE_IS(change(db, 1, &u), HF_OK);
        EXPECT_IS(info.tries, 2);
        EXPECT_SAFE(
            strcmp(value(db, "SELECT n FROM account WHERE id=1"), "1101") == 0);
        u.retries = 0;
        late.calls = 0;
        EXPECT_SAFE_IS(change(db, 1, &u), HF_CONFLICT);
    }
}

TEST(a_stamp_is_later_than_it_was_whatever_the_clock_says)
{
    for (int i = 0; i < 2; i++) {
        AUTO_DB *db = enter();
        struct change c = {.by = 1};
        hf_row_update u = by_stamp(&c);
        char type[80];

        snprintf(type, sizeof type, "%s NOT NULL DEFAULT '-infinity'",
                 kinds[i]);
        make_stamped(db, type);
        /* By the clock, where that is later. */
        EXPECT_IS(change(db, 1, &u), HF_OK);
        EXPECT_TEXT(value(db, "SELECT changed BETWEEN now()-INTERVAL '1 hour' "
                              "AND clock_timestamp() FROM account WHERE id=1"),
                    "t");
        /* And where the clock is behind: it was made by a faster one. */
        tell(db, "UPDATE account SET changed='2999-01-02 03:04:05.999999'");
        EXPECT_IS(change(db, 1, &u), HF_OK);
        EXPECT_TEXT(value(db, "SELECT changed='2999-01-02 03:04:06' FROM "
                              "account WHERE id=1"),
                    "t");
    }
}

TEST(in_an_hour_that_comes_twice_a_moment_is_not_taken_for_the_other)
{
    /* Of these styles the text is the same, in summer time and after. */
    static const char *const styles[] = {"ISO", "German", "SQL", "Postgres"};
    AUTO_DB *db = enter();
    AUTO_DB *rival = enter();

    for (int i = 0; i < 4; i++) {
        struct change c = {.by = 1, .rival = rival, .times = 1};
        hf_row_update u = by_stamp(&c);

        make_stamped(db, "TIMESTAMPTZ NOT NULL "
                         "DEFAULT '2025-10-26 00:30:00.5+00'");
        tell(db, "SET DateStyle=%s;SET TimeZone='<xx>-1<xx>,M3.5.0,M10.5.0/3'",
             styles[i]);
        c.meanwhile = "UPDATE account SET n=n+1000,changed="
                      "'2025-10-26 01:30:00.5+00' WHERE id=1";
        u.retries = 0;
        EXPECT_SAFE_IS(change(db, 1, &u), HF_CONFLICT);
        c.times = 0;
        EXPECT_SAFE_IS(change(db, 1, &u), HF_OK);
        EXPECT_TEXT(value(db, "SELECT n FROM account WHERE id=1"), "1101");
    }
}

TEST(a_domain_is_as_what_it_is_made_of)
{
    AUTO_DB *db = enter();
    struct change c = {.by = 1};
    hf_row_update u = by_stamp(&c);

    tell(db, "CREATE DOMAIN counter AS SMALLINT;"
             "CREATE DOMAIN coarse AS TIMESTAMPTZ(3)");
    make_stamped(db, "counter NOT NULL DEFAULT 7");
    EXPECT_IS(change(db, 1, &u), HF_OK);
    EXPECT_IS(info.version, 8);
    make_stamped(db, "coarse NOT NULL DEFAULT now()");
    EXPECT_SAFE_IS(change(db, 1, &u), HF_EUNSAFE);
}

TEST(a_time_that_is_the_last_is_never_overwritten)
{
    AUTO_DB *db = enter();
    struct change c = {.by = 1};
    hf_row_update u = by_stamp(&c);

    make_stamped(db, "TIMESTAMP NOT NULL DEFAULT '294276-12-31 "
                     "23:59:59.999999'");
    EXPECT_SAFE_IS(change(db, 1, &u), HF_ROW_EREFUSED);
    EXPECT_TEXT(err.sqlstate, "22008");
    EXPECT_TEXT(value(db, "SELECT n FROM account WHERE id=1"), "100");
}
