/* SPDX-License-Identifier: MIT */
/*
 * Listing on a server, in parts and in their order; and a record that was
 * cleaned away.
 */
#include "tests/store_postgres/site.h"

#include <string.h>

/* Microseconds since 1970, by the server, and so much more. */
#define WHEN "((extract(epoch FROM clock_timestamp())*1000000)::bigint%+d)"

/* Who has read the one before and was stopped since then must not take the new
 * one for it: his fence would be of that time. */
TEST(a_record_that_is_made_anew_is_never_as_the_one_before)
{
    DOOR(d);
    struct hf__key prefix = {"holdfast:", 9, 9};
    struct hf__gc g = {.idle_us = 0};
    char before[32];

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    use(&d, "n");
    snprintf(before, sizeof before, "%s",
             value("SELECT revision FROM holdfast_lock"));
    EXPECT_IS(hf__conn_gc(&d.conn, &prefix, &g, hf__after_ms(hf__now(), 5000),
                          &d.error),
              HF_OK);
    EXPECT_IS(g.count, 1);
    use(&d, "n");
    EXPECT_TEXT(value("SELECT revision>%s FROM holdfast_lock", before), "t");
}

/* ---- listing */

struct listed {
    int n;
    char last[HF_NAME_MAX + 1];
    bool is_sorted;
};

static int list_one(void *arg, const char *name, size_t length,
                    const struct hf__record *record)
{
    struct listed *l = arg;
    char text[HF_NAME_MAX + 1];

    snprintf(text, sizeof text, "%.*s", (int)length, name);
    l->is_sorted = l->is_sorted && (l->n == 0 || strcmp(l->last, text) < 0);
    memcpy(l->last, text, sizeof text);
    l->n++;
    EXPECT(record->is_held);
    return 0;
}

/* Some are held in each part that is read, also in one that nobody holds. */
TEST(all_that_are_held_are_listed_in_their_order)
{
    DOOR(d);
    struct listed l = {.is_sorted = true};
    struct hf__key prefix = {"holdfast:", 9, 9};

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    sql("INSERT INTO holdfast_lock(name_key,fence,token,expires) SELECT "
        "convert_to('holdfast:'||to_char(i,'FM0000'),'UTF8'),1,"
        "CASE WHEN i%%7=0 AND i NOT BETWEEN 300 AND 900 THEN "
        "repeat('t',16)::bytea ELSE '' END," WHEN " FROM "
        "generate_series(1,1400) i",
        60000000);
    EXPECT_IS(hf__conn_list(&d.conn, &prefix, list_one, &l,
                            hf__after_ms(hf__now(), 5000), &d.error),
              HF_OK);
    EXPECT_IS(l.n, 200 - (900 / 7 - 299 / 7));
    EXPECT(l.is_sorted);
    EXPECT_TEXT(l.last, "1400");
}
