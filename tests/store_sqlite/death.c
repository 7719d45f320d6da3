/* SPDX-License-Identifier: MIT */
/*
 * What the store knows of holders: a killed one is replaced at once, and one
 * that merely closed its sessions keeps its lease.
 */
#include "tests/store_sqlite/world.h"

#include <signal.h>
#include <stdio.h>

TEST(a_killed_holder_is_replaced_at_once)
{
    struct stage *stage = stage_new();
    pid_t holder = start_ready(hold_job, stage, 60000);
    PEER(me);

    EXPECT_IS(acquire(&me, "job", 60000), HF_BUSY);
    EXPECT_IS(me.record.holder_lives, 1);
    kill_now(holder);
    EXPECT_IS(inspect(&me, "job"), HF_OK);
    EXPECT(me.record.is_held);
    EXPECT_IS(me.record.holder_lives, 0);
    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    EXPECT_SAFE_MORE(me.fence, atomic_load(&stage->last_fence));
}

static void kill_soon(void *arg)
{
    pid_t *holder = arg;

    hf__test_pause_ms(500);
    EXPECT_IS(kill(*holder, SIGKILL), 0);
}

TEST(a_waiter_sees_a_killed_holder)
{
    struct stage *stage = stage_new();
    pid_t holder = start_ready(hold_job, stage, 60000);
    struct hf__test_thread *killer;
    PEER(me);
    int64_t began;

    killer = hf__test_start(kill_soon, &holder);
    began = now_us();
    EXPECT_IS(acquire_within(&me, "job", 10000), HF_OK);
    printf("%lld us after the start, killed at 500000\n",
           (long long)(now_us() - began));
    hf__test_join(killer);
    EXPECT_IS(finish(holder), -SIGKILL);
}

static void hold_and_close(struct stage *stage, int index)
{
    struct peer me = {0};

    (void)index;
    EXPECT_IS(enter(&me), HF_OK);
    EXPECT_IS(acquire(&me, "job", 30000), HF_OK);
    leave(&me);
    atomic_fetch_add(&stage->ready, 1);
    until(&stage->go, 1);
    struct hf__token token = me.token;
    EXPECT_IS(enter(&me), HF_OK);
    me.token = token;
    EXPECT_IS(release(&me, "job"), HF_OK);
    leave(&me);
}

TEST(who_only_closes_its_session_keeps_its_lease)
{
    struct stage *stage = stage_new();
    pid_t holder = start_ready(hold_and_close, stage, 0);
    PEER(me);

    EXPECT_IS(acquire(&me, "job", 1000), HF_BUSY);
    EXPECT_IS(me.record.holder_lives, -1);
    hf__test_pause_ms(300);
    EXPECT_IS(acquire(&me, "job", 1000), HF_BUSY);
    atomic_store(&stage->go, 1);
    EXPECT_IS(acquire_within(&me, "job", 5000), HF_OK);
    EXPECT_IS(finish(holder), 0);
}

static struct hf__token of_both; /* of a parent and its child */

static void hold_by_that_token_and_close(struct stage *stage, int index)
{
    struct peer me = {0};

    (void)index;
    EXPECT_IS(enter(&me), HF_OK);
    me.token = of_both;
    EXPECT_IS(acquire(&me, "job", 2000), HF_OK);
    atomic_fetch_add(&stage->ready, 1);
    until(&stage->go, 1);
    leave(&me);
    atomic_fetch_add(&stage->ready, 1);
    until(&stage->go, 2);
}

/* It knows of its own lease alone. */
TEST(who_closes_its_session_leaves_the_lease_that_another_gave)
{
    struct stage *stage = stage_new();
    pid_t holder;
    PEER(me);

    of_both = me.token;
    holder = start_ready(hold_by_that_token_and_close, stage, 0);
    EXPECT_IS(renew(&me, "job", 60000), HF_OK);
    atomic_store(&stage->go, 1);
    until(&stage->ready, 2);
    EXPECT_IS(inspect(&me, "job"), HF_OK);
    EXPECT_SAFE_MORE(me.record.remaining_us, 30000000);
    EXPECT_IS(me.record.holder_lives, -1);
    atomic_store(&stage->go, 2);
    EXPECT_IS(finish(holder), 0);
    EXPECT_IS(release(&me, "job"), HF_OK);
}

/* What is won in one session can be given back in another. */
TEST(a_grant_belongs_to_the_process)
{
    PEER(me);
    struct peer other = {0};

    EXPECT_IS(enter(&other), HF_OK);
    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    other.token = me.token;
    EXPECT_IS(renew(&other, "job", 60000), HF_OK);
    EXPECT_IS(release(&other, "job"), HF_OK);
    begin_anew(&other);
    EXPECT_IS(acquire(&other, "job", 60000), HF_OK);
    leave(&other);
    EXPECT_IS(inspect(&me, "job"), HF_OK);
    EXPECT_IS(me.record.holder_lives, 1);
}

static void keep_it(struct stage *stage, int index)
{
    PEER(me);

    (void)index;
    me.keep_ms = 60000;
    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    stay(stage);
}

/* Who waits for what a killed holder keeps closed sleeps: nobody has it, and
 * nothing changes. */
TEST(what_the_killed_keep_closed_is_waited_for_asleep)
{
    struct stage *stage = stage_new();
    pid_t holder = start_ready(keep_it, stage, 0);
    int holders = 0;
    int waiters = 0;
    PEER(me);

    kill_now(holder);
    EXPECT_IS(acquire_within(&me, "job", 300), HF_BUSY);
    EXPECT(me.record.is_kept && !me.record.is_held);
    EXPECT_LESS(me.tries, 4);
    count_crowd(&me, "job", &holders, &waiters);
    EXPECT_IS(holders, 0);
}

static void hold_twice_and_close(struct stage *stage, int index)
{
    struct peer me = {0};

    (void)index;
    EXPECT_IS(enter(&me), HF_OK);
    EXPECT_IS(acquire(&me, "job", 50), HF_OK);
    UNTIL(inspect(&me, "job") == HF_OK && !me.record.is_held);
    EXPECT_IS(acquire(&me, "job", 60000), HF_OK);
    leave(&me);
    atomic_fetch_add(&stage->ready, 1);
    until(&stage->go, 1);
}

/* The second grant of a token is remembered, though the first one is over. */
TEST(who_has_it_anew_keeps_it_when_its_session_closes)
{
    struct stage *stage = stage_new();
    pid_t holder = start_ready(hold_twice_and_close, stage, 0);
    PEER(me);

    EXPECT_SAFE(acquire(&me, "job", 1000) == HF_BUSY);
    atomic_store(&stage->go, 1);
    EXPECT_IS(finish(holder), 0);
}

TEST(the_name_of_a_killed_holder_is_cleaned_away)
{
    const struct hf__key prefix = {"test:", 5, 5};
    struct stage *stage = stage_new();
    pid_t holder = start_ready(hold_job, stage, 60000);
    struct hf__gc gc = {.idle_us = 0};
    PEER(me);

    kill_now(holder);
    EXPECT_IS(hf__conn_gc(&me.conn, &prefix, &gc, hf__after_ms(hf__now(), 5000),
                          &me.error),
              HF_OK);
    EXPECT_IS(gc.count, 1);
    EXPECT_IS(gc.expired, 1);
}
