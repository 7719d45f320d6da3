/* SPDX-License-Identifier: MIT */
/*
 * A prepared statement keeps its plan, also one that was made when the table
 * was small: it must not read what it was not asked for once it has grown.
 */
#include "tests/store_postgres/site.h"

#include <stdlib.h>

/* Of the table's index, by all sessions that have ended. */
static long long says(const char *column)
{
    return strtoll(value("SELECT coalesce(sum(%s),0) FROM pg_stat_all_tables "
                         "JOIN pg_stat_all_indexes USING (relid) WHERE "
                         "relid='holdfast_lock'::regclass",
                         column),
                   NULL, 10);
}

static void have(struct door *d, struct batch *b)
{
    ask_all(d, b, HF__OP_ACQUIRE);
    ask_all(d, b, HF__OP_RENEW);
    ask_all(d, b, HF__OP_RELEASE);
}

TEST(a_plan_that_was_made_for_a_small_table_serves_a_large_one)
{
    enum { GROWN = 20000 };
    DOOR(d);
    struct batch b;

    EXPECT_IS(enter(&d, url_with("")), HF_OK);
    sql("ALTER TABLE holdfast_lock SET (autovacuum_enabled=off)");
    prepare(&b, "n", 1, 60000000);
    have(&d, &b);
    sql("ANALYZE holdfast_lock"); /* and plans are made anew */
    have(&d, &b);
    sql("INSERT INTO holdfast_lock(name_key) SELECT convert_to('other:'||i,"
        "'UTF8') FROM generate_series(1,%d) i",
        GROWN);
    have(&d, &b);
    shut(&d);
    UNTIL(says("n_tup_upd") >= 9);
    EXPECT_LESS(says("idx_tup_read"), GROWN);
}
