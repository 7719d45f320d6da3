/* SPDX-License-Identifier: MIT */
/*
 * PostgreSQL servers that take no writes, poolers, and how much is asked.
 */
#include "tests/rows/change.h"
#include "tests/rows/postgres/world.h"
#include "tests/servers/pgbouncer.h"
#include "tests/servers/postgres_pair.h"
#include "tests/servers/proxy.h"

static int asked(struct hf__proxy *p)
{
    static int before;
    int now = hf__proxy_counts(p).statements;
    int since = now - before;

    before = now;
    return since;
}

TEST(no_more_is_asked_than_the_reference_says)
{
    struct hf__proxy *p = hf__proxy_start(server_port(), framing);
    AUTO_DB *db = enter_at(hf__proxy_port(p));
    AUTO_DB *rival = enter();
    struct change c = {.by = 1,
                       .rival = rival,
                       .meanwhile =
                           "UPDATE account SET version=version+1 WHERE id=1"};
    hf_row_update u = by_version(&c);

    make_accounts(rival);
    (void)asked(p);
    EXPECT_IS(change(db, 1, &u), HF_OK);
    EXPECT_IS(asked(p), 6 + 2);
    c.calls = 0;
    c.times = 2;
    EXPECT_IS(change(db, 1, &u), HF_OK);
    EXPECT_IS(asked(p), 3 * 6 + 2);
    tell(db, "BEGIN");
    (void)asked(p);
    EXPECT_IS(lock_for(db, 1, 1000), HF_OK);
    EXPECT_IS(asked(p), 5);
    hf__proxy_free(p);
}

/* ---- who takes no writes */

TEST(a_standby_is_unavailable)
{
    struct hf__postgres_pair *pair = hf__postgres_pair_start(NULL);
    struct change c = {.by = 1};
    hf_row_update u = by_version(&c);

    use_server(hf__postgres_pair_node(pair, 0));
    {
        AUTO_DB *db = enter();

        make_accounts(db);
    }
    hf__postgres_pair_await_caught_up(pair, 1);
    {
        AUTO_DB *db =
            enter_at(hf__postgres_port(hf__postgres_pair_node(pair, 1)));

        EXPECT_IS(change(db, 1, &u), HF_EUNAVAIL);
        EXPECT_TEXT(err.sqlstate, "25006");
        EXPECT_IS(state_of(db), 'I');
        tell(db, "BEGIN");
        EXPECT_IS(lock_for(db, 1, 0), HF_EUNAVAIL);
        EXPECT_IS(info.in_transaction, 1);
    }
    hf__postgres_pair_free(pair);
}

/* ---- poolers */

TEST(nothing_is_left_at_the_server_behind_a_pooler)
{
    static const char *const one[] = {"default_pool_size = 1", NULL};
    struct hf__pgbouncer *b;

    b = hf__pgbouncer_start(server(), "transaction", one);
    {
        AUTO_DB *db = enter_at(hf__pgbouncer_port(b));
        AUTO_DB *other = enter();
        struct change c = {.by = 1};
        hf_row_update u = by_version(&c);

        make_accounts(other);
        EXPECT_IS(change(db, 1, &u), HF_OK);
        EXPECT_TEXT(row_says(other, 1), "101 2");
        tell(db, "BEGIN");
        EXPECT_IS(lock_for(db, 1, 5000), HF_OK);
        tell(other, "BEGIN");
        EXPECT_SAFE_IS(lock_for(other, 1, 0), HF_BUSY);
        tell(db, "COMMIT");
        EXPECT_TEXT(value(db, "SHOW lock_timeout"), "0");
    }
    hf__pgbouncer_free(b);
}
