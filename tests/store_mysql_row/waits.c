/* SPDX-License-Identifier: MIT */
/*
 * Trying and waiting for a row: what the server's answers mean, names that have
 * none yet, looks that disturb nobody, and breaks, which end the connection of
 * the holder and no waiter's.
 */
#include "tests/store_mysql_row/world.h"

#include <stdatomic.h>

#define LOCK_WAIT_TIMEOUT 1205
#define DEADLOCK          1213

/* ---- answers */

/* Whatever it was about, the transaction is over then. */
static void expect_answer(unsigned error, int result)
{
    JOB_OF(alice, bob);

    EXPECT_IS(release(&alice, "job"), HF_OK);
    refuse_rows("holdfast_row", error);
    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(try_once(&bob, "new"), result);
    UNTIL(transactions() == 1);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    accept_rows();
    EXPECT_IS(try_once(&bob, "new"), HF_OK);
}

TEST(a_row_that_another_has_is_busy)
{
    expect_answer(LOCK_WAIT_TIMEOUT, HF_BUSY);
}

TEST(a_deadlock_is_tried_again)
{
    expect_answer(DEADLOCK, HF__AGAIN);
}

TEST(without_a_fence_there_is_no_lock)
{
    PARTIES(alice, bob);

    EXPECT_IS(acquire(&alice, "other"), HF_OK);
    refuse_rows("holdfast_row_holder", DEADLOCK);
    EXPECT_IS(try_once(&alice, "job"), HF__AGAIN);
    UNTIL(transactions() == 1);
    accept_rows();
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
    EXPECT_IS(renew(&alice, "other"), HF_OK);
}

/* ---- rows */

TEST(of_two_who_try_a_new_name_one_has_it)
{
    PARTIES(alice, bob);

    for (int i = 0; i < 10; i++) {
        char name[16];

        snprintf(name, sizeof name, "new%d", i);
        EXPECT_IS(acquire(&alice, name), HF_OK);
        EXPECT_SAFE_IS(acquire(&bob, name), HF_BUSY);
    }
}

TEST(a_row_that_is_gone_is_made_again_and_the_fence_rises)
{
    PARTIES(alice, bob);
    uint64_t fence;

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    fence = fence_of(&alice, "job");
    EXPECT_IS(release(&alice, "job"), HF_OK);
    hf__mariadb_sql(server(), "DELETE FROM %s.holdfast_row", database());
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
    EXPECT_SAFE_MORE(fence_of(&bob, "job"), fence);
    EXPECT_SAFE_IS(acquire(&alice, "job"), HF_BUSY);
}

TEST(cleaning_deletes_both_rows_of_an_idle_name_and_none_that_is_locked)
{
    JOB_OF(alice, bob);
    uint64_t count = 0;

    EXPECT_IS(acquire(&bob, "idle"), HF_OK);
    EXPECT_IS(release(&bob, "idle"), HF_OK);
    EXPECT_IS(collect_garbage(&bob, 0, &count), HF_OK);
    EXPECT_IS(count, 1);
    EXPECT_TEXT(hf__mariadb_value(server(),
                                  "SELECT GROUP_CONCAT(name_key) FROM "
                                  "%s.holdfast_row",
                                  database()),
                "test:job");
    EXPECT_IS(renew(&alice, "job"), HF_OK);
}

/* ---- looks */

struct onlooker {
    struct party *who;
    atomic_bool is_over;
    atomic_int n;
};

static void look_on(void *arg)
{
    struct onlooker *o = arg;

    while (!atomic_load(&o->is_over)) {
        struct listing listing = {0};

        EXPECT_IS(inspect(o->who, "job"), HF_OK);
        EXPECT_IS(list(o->who, "", &listing), HF_OK);
        atomic_fetch_add(&o->n, 1);
    }
}

/* They lock nothing, not for a moment. */
TEST(looks_keep_nobody_out)
{
    PARTIES(alice, bob);
    struct onlooker o = {.who = &bob};
    struct hf__test_thread *thread = hf__test_start(look_on, &o);

    for (int i = 0; i < 200 || atomic_load(&o.n) < 50; i++) {
        EXPECT_IS(try_once(&alice, "job"), HF_OK);
        EXPECT_IS(release(&alice, "job"), HF_OK);
    }
    atomic_store(&o.is_over, true);
    hf__test_join(thread);
}

/* ---- waiting */

/* The server's own limit for it is the session's time-out. */
TEST(a_wait_goes_on_after_the_servers_limit)
{
    PARTY_AT(alice, url_with("session_timeout=1s"));
    PARTY_AT(bob, url_with("session_timeout=1s"));
    struct waiting w;
    int64_t start;

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
    watch_name(&w, &bob, "job");
    start_waiting(&w);
    UNTIL(queue() == 1);
    start = hf__test_now_ms();
    while (hf__test_now_ms() - start < 2500) {
        EXPECT_IS(renew(&alice, "job"), HF_OK);
        hf__test_pause_ms(50);
    }
    UNTIL(queue() == 1);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    expect_woken(&w);
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
}

/* Who gives up leaves nobody in the queue who would get it. */
TEST(who_waits_no_more_is_in_no_queue)
{
    JOB_OF(alice, bob);
    struct waiting w;

    EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
    watch_name(&w, &bob, "job");
    EXPECT_IS(wait_up_to(&w, 200), HF_OK);
    UNTIL(queue() == 1);
    EXPECT_IS(hf__conn_wait(&bob.conn, NULL, 0,
                            hf__after_ms(hf__now(), slowly(5000)), &bob.error),
              HF_OK);
    UNTIL(queue() == 0);
    UNTIL(transactions() == 1);
}

/* ---- breaks */

TEST(a_break_ends_the_holder_and_no_waiter)
{
    JOB_OF(alice, bob, carol);
    struct waiting w;
    int64_t waiter;

    EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
    watch_name(&w, &bob, "job");
    start_waiting(&w);
    UNTIL(queue() == 1);
    EXPECT_IS(break_it(&carol, "job", fence_of(&alice, "job")), HF_OK);
    expect_woken(&w);
    UNTIL(queue() == 0);
    waiter = holder();
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
    UNTIL(holder() == waiter);
    EXPECT_SAFE_MORE(fence_of(&bob, "job"), fence_of(&alice, "job"));
    EXPECT_IS(renew(&alice, "job"), HF_LOST);
}

TEST(a_break_of_what_another_user_has_needs_a_privilege)
{
    const char *user = "breaker";

    hf__mariadb_sql(server(), "CREATE USER IF NOT EXISTS %s IDENTIFIED BY 'b'",
                    user);
    hf__mariadb_sql(server(), "GRANT ALL ON %s.* TO %s", database(), user);
    {
        PARTY(alice);
        PARTY_AT(bob, url_as("breaker:b", ""));

        EXPECT_IS(acquire(&alice, "job"), HF_OK);
        EXPECT_IS(break_it(&bob, "job", 0), HF_EAUTH);
        EXPECT_HAS(bob.error.text, "CONNECTION ADMIN");
        EXPECT_IS(renew(&alice, "job"), HF_OK);
    }
    hf__mariadb_sql(server(), "GRANT CONNECTION ADMIN ON *.* TO %s", user);
    PARTY(alice);
    PARTY_AT(bob, url_as("breaker:b", ""));
    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(break_it(&bob, "job", 0), HF_OK);
    EXPECT_IS(renew(&alice, "job"), HF_LOST);
}
