/* SPDX-License-Identifier: MIT */
/*
 * Answers that are lost, servers that take no writes, and poolers: what was
 * sent once is never sent again, and it is told whether it may have been done.
 */
#include "src/base/alloc.h"
#include "tests/rows/postgres/world.h"
#include "tests/servers/pgbouncer.h"
#include "tests/servers/postgres_pair.h"
#include "tests/servers/proxy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct hf__proxy *open_proxy(void)
{
    return hf__proxy_start(hf__postgres_port(server()), &hf__framing_postgres);
}

/* The n-th with that text. */
static void lose(struct hf__proxy *p, enum hf__proxy_what what,
                 const char *text, int n)
{
    struct hf__proxy_rule rule = {
        .what = what, .where = HF__BEFORE, .action = HF__RESET, .n = n};

    strncpy(rule.text, text, sizeof rule.text - 1);
    hf__proxy_rule(p, &rule);
}

/* The first COMMIT is that of the reading. */
TEST(a_commit_whose_answer_is_lost_is_unknown_and_not_repeated)
{
    static const char *const says[] = {"101 2", "100 1"};

    for (int i = 0; i < 2; i++) {
        struct hf__proxy *p = open_proxy();
        AUTO_DB *db = enter_at(hf__proxy_port(p));
        AUTO_DB *other = enter();
        struct change c = {.by = 1};
        hf_row_update u = by_version(&c);

        tell(other, "DROP TABLE IF EXISTS account");
        make_accounts(other);
        lose(p, i == 0 ? HF__REPLY : HF__STATEMENT, "COMMIT", 2);
        EXPECT_SAFE_IS(change(db, 1, &u), HF_EUNKNOWN);
        EXPECT_IS(hf__proxy_counts(p).hits, 1);
        EXPECT_IS(c.calls, 1);
        EXPECT_IS(info.version, 2);
        EXPECT_HAS(err.text, "read the row");
        EXPECT_SAFE(strcmp(row_says(other, 1), says[i]) == 0);
        hf__proxy_free(p);
    }
}

TEST(what_is_lost_before_the_commit_is_unavailable_and_not_done)
{
    static const char *const words[] = {"BEGIN",   "SET LOCAL", "WITH k",
                                        "LIMIT 0", "SELECT \"", "COMMIT",
                                        "UPDATE",  "BEGIN"};

    for (int i = 0; i < 8; i++) {
        struct hf__proxy *p = open_proxy();
        AUTO_DB *db = enter_at(hf__proxy_port(p));
        AUTO_DB *other = enter();
        struct change c = {.by = 1};
        hf_row_update u = by_version(&c);

        tell(other, "DROP TABLE IF EXISTS account");
        make_accounts(other);
        lose(p, HF__REPLY, words[i], i < 7 ? 1 : 2);
        EXPECT_SAFE_IS(change(db, 1, &u), HF_EUNAVAIL);
        EXPECT_IS(hf__proxy_counts(p).hits, 1);
        EXPECT_TEXT(row_says(other, 1), "100 1");
        hf__proxy_free(p);
    }
}

TEST(in_a_transaction_a_lost_answer_means_that_nothing_was_done)
{
    static const char *const words[] = {"SAVEPOINT", "SET LOCAL",  "WITH k",
                                        "LIMIT 0",   "FOR UPDATE", "UPDATE \"",
                                        "RELEASE"};

    for (int i = 0; i < 7; i++) {
        struct hf__proxy *p = open_proxy();
        AUTO_DB *db = enter_at(hf__proxy_port(p));
        AUTO_DB *other = enter();
        struct change c = {.by = 1};
        hf_row_update u = by_version(&c);

        tell(other, "DROP TABLE IF EXISTS account");
        make_accounts(other);
        tell(db, "BEGIN");
        lose(p, HF__REPLY, words[i], 1);
        EXPECT_SAFE_IS(change(db, 1, &u), HF_EUNAVAIL);
        EXPECT_IS(hf__proxy_counts(p).hits, 1);
        EXPECT_SAFE_IS(info.in_transaction, 0);
        tell(other, "BEGIN");
        UNTIL(lock_for(other, 1, 0) == HF_OK);
        EXPECT_SAFE(strcmp(row_says(other, 1), "100 1") == 0);
        tell(other, "COMMIT");
        hf__proxy_free(p);
    }
}

TEST(a_lock_whose_answer_is_lost_is_no_lock)
{
    struct hf__proxy *p = open_proxy();
    AUTO_DB *db = enter_at(hf__proxy_port(p));
    AUTO_DB *other = enter();

    make_accounts(other);
    tell(db, "BEGIN");
    lose(p, HF__REPLY, "FOR UPDATE", 1);
    EXPECT_SAFE_IS(lock_for(db, 1, HF_FOREVER), HF_EUNAVAIL);
    EXPECT_IS(info.in_transaction, 0);
    tell(other, "BEGIN");
    UNTIL(lock_for(other, 1, 0) == HF_OK);
    hf__proxy_free(p);
}

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
    struct hf__proxy *p = open_proxy();
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
        EXPECT_IS(PQtransactionStatus(db), PQTRANS_IDLE);
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

/* ---- memory */

static int pieces; /* that are still to be had */

static void *resize_scarce(void *p, size_t size)
{
    return pieces-- > 0 ? realloc(p, size) : NULL;
}

TEST(memory_that_runs_out_at_any_point_writes_nothing)
{
    AUTO_DB *db = enter();
    struct change c = {.by = 1};
    hf_row_update u = by_version(&c);
    char before[512];
    int r = HF_ENOMEM;
    int n = 0;

    EXPECT_IS(hf__alloc_replace(resize_scarce, free), HF_OK);
    make_accounts(db);
    snprintf(before, sizeof before, "%s", session_of(db));
    while (r == HF_ENOMEM) {
        EXPECT_SAFE(strcmp(row_says(db, 1), "100 1") == 0);
        tell(db, "BEGIN");
        pieces = n++;
        r = change(db, 1, &u);
        EXPECT_IS(info.in_transaction, 1);
        tell(db, "COMMIT");
        EXPECT_TEXT(session_of(db), before);
    }
    EXPECT_IS(r, HF_OK);
    EXPECT_MORE(n, 4);
}
