/* SPDX-License-Identifier: MIT */
/*
 * Versions that are times, by clocks of MySQL that stand or go back.
 */
#include "tests/rows/change.h"
#include "tests/rows/mysql/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"DATETIME", "TIMESTAMP"};

TEST(two_changes_within_a_second_do_not_look_the_same)
{
    for (int i = 0; i < 2; i++) {
        AUTO_DB *db = enter();
        AUTO_DB *rival = enter();
        struct change quick = {.by = 1000};
        hf_row_update u = by_stamp(&quick);
        struct change late = {.by = 1, .rival = rival, .times = 1};
        hf_row_update v = by_stamp(&late);
        char type[80];

        snprintf(type, sizeof type, "%s(6) NOT NULL DEFAULT NOW(6)", kinds[i]);
        make_stamped(db, type);
        /* Clocks that stand: all that happens is in one microsecond. */
        tell(db, "SET timestamp=1700000000.25");
        tell(rival, "SET timestamp=1700000000.25");
        EXPECT_IS(change(db, 1, &u), HF_OK);
        late.meanwhile = "UPDATE account SET n=n+1000,changed=changed+INTERVAL "
                         "1 MICROSECOND WHERE id=1";
        EXPECT_SAFE_IS(change(db, 1, &v), HF_OK);
        EXPECT_IS(info.tries, 2);
        EXPECT_SAFE(
            strcmp(value(db, "SELECT n FROM account WHERE id=1"), "2101") == 0);
        v.retries = 0;
        late.calls = 0;
        EXPECT_SAFE_IS(change(db, 1, &v), HF_CONFLICT);
    }
}

TEST(a_stamp_is_later_than_it_was_whatever_the_clock_says)
{
    static const char *const clocks[] = {"1700000000.25", "1700000000.25",
                                         "1600000000", "1700000000.250001",
                                         "1800000000"};

    for (int i = 0; i < 2; i++) {
        AUTO_DB *db = enter();
        struct change c = {.by = 1};
        hf_row_update u = by_stamp(&c);
        char before[64] = "0";
        char type[80];

        snprintf(type, sizeof type, "%s(6) NOT NULL DEFAULT NOW(6)", kinds[i]);
        tell(db, "SET timestamp=1650000000");
        make_stamped(db, type);
        for (int k = 0; k < 5; k++) {
            const char *now;

            tell(db, "SET timestamp=%s", clocks[k]);
            EXPECT_IS(change(db, 1, &u), HF_OK);
            now = value(db,
                        "SELECT IF(changed>'%s',changed,'') FROM account "
                        "WHERE id=1",
                        before);
            EXPECT_SAFE(strlen(now) > 20);
            snprintf(before, sizeof before, "%s", now);
        }
        /* By the clock, where that is later. */
        EXPECT_TEXT(value(db, "SELECT changed=FROM_UNIXTIME(1800000000) FROM "
                              "account WHERE id=1"),
                    "1");
    }
}

/* What a TIMESTAMP is, whatever the time zone. */
static double moment(struct db *db)
{
    return strtod(value(db, "SELECT UNIX_TIMESTAMP(changed) FROM account "
                            "WHERE id=1"),
                  NULL);
}

TEST(in_an_hour_that_comes_twice_no_stamp_becomes_older)
{
    /* 02:00 to 03:00 local time, by summer time and again without. */
    static const char *const clocks[] = {"1761438600.5", "1761442200.5",
                                         "1761442300.5", "1761445900.5"};
    struct hf__mariadb *m;

    EXPECT_IS(setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1), 0);
    m = hf__mariadb_start(NULL);
    use_server(m);
    for (int i = 0; i < 4; i++) {
        AUTO_DB *db = enter();
        struct change c = {.by = 1};
        hf_row_update u = by_stamp(&c);
        double before;

        tell(db, "SET timestamp=%s", clocks[i]);
        make_stamped(db, "TIMESTAMP(6) NOT NULL DEFAULT NOW(6)");
        for (int k = 1; k <= 3; k++) {
            before = moment(db);
            tell(db, "SET timestamp=%s+60*%d", clocks[i], k);
            EXPECT_IS(change(db, 1, &u), HF_OK);
            EXPECT_SAFE(moment(db) > before);
        }
    }
    hf__mariadb_free(m);
}

TEST(a_time_that_is_the_last_is_never_overwritten)
{
    AUTO_DB *db = enter();
    struct change c = {.by = 1};
    hf_row_update u = by_stamp(&c);

    u.retries = 1;
    make_stamped(db, "DATETIME(6) NOT NULL DEFAULT '9999-12-31 "
                     "23:59:59.999999'");
    EXPECT_SAFE_IS(change(db, 1, &u), HF_ROW_EREFUSED);
    tell(db, "SET sql_mode=''");
    EXPECT_SAFE_IS(change(db, 1, &u), HF_CONFLICT);
    EXPECT_TEXT(value(db, "SELECT n FROM account WHERE id=1"), "100");
}
