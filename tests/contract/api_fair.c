/* SPDX-License-Identifier: MIT */
/*
 * Waiting in the order of arrival, within a process and across them: nobody
 * goes past the line, and who is gone from it, in whatever way, holds up
 * those behind only for a moment, and for many no longer than for one.
 */
#include "tests/contract/api_line.h"
#include "tests/contract/peer.h"

#include <string.h>

enum { QUEUE = 8, PEERS = 4, ROUNDS = 20 };

TEST_IF(store_can(HF_CAP_FAIR), fair_waiters_enter_in_the_order_of_arrival)
{
    HELD(job, alice, bob);
    hf_acquire_opts opts = fair(HF_FOREVER);
    static struct waiter w[QUEUE];

    for (int i = 0; i < QUEUE; i++) {
        line_up(&w[i], i % 3 == 0 ? alice : bob, &opts, i + 1);
    }
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    for (int i = 0; i < QUEUE; i++) {
        EXPECT_IS(end_waiter(&w[i]), HF_OK);
        EXPECT_IS(w[i].place, i + 1);
        EXPECT_SAFE(i == 0 || w[i].fence > w[i - 1].fence);
    }
    await_waiters(alice, "job", 0);
}

/* Peers that queue up for "job", each behind the one before. */
static void line_up_peers(struct peer *p[], int n, hf_client *client)
{
    hf_acquire_opts opts = fair(HF_FOREVER);

    for (int i = 0; i < n; i++) {
        peer_begin_acquire_as(p[i], "job", &opts);
        await_waiters(client, "job", i + 1);
        AUTO_INFO *info = look_at(client, "job");
        EXPECT_IS(hf_info_pid(hf_info_waiter_at(info, i)), peer_pid(p[i]));
    }
}

TEST_IF(store_can(HF_CAP_FAIR) && store_is_shared(),
        fair_waiters_of_several_processes_enter_in_the_order_of_arrival)
{
    struct peer *p[PEERS];
    uint64_t last = 0;

    for (int i = 0; i < PEERS; i++) {
        p[i] = start_peer();
    }
    HELD(job, alice);
    line_up_peers(p, PEERS, alice);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    for (int i = 0; i < PEERS; i++) {
        EXPECT_IS(peer_finish(p[i]), HF_OK);
        EXPECT_SAFE_MORE(peer_fence(p[i]), last);
        last = peer_fence(p[i]);
        await_waiters(alice, "job", PEERS - i - 1);
        EXPECT_IS(peer_release(p[i]), HF_OK);
    }
    for (int i = 0; i < PEERS; i++) {
        end_peer(p[i]);
    }
}

/* Longer than a place in line lives without being seen to. */
TEST_IF(store_can(HF_CAP_FAIR), who_waits_for_long_keeps_its_place)
{
    HELD(job, alice, bob);
    hf_acquire_opts opts = fair(HF_FOREVER);
    static struct waiter w[4];

    for (int i = 0; i < 3; i++) {
        line_up(&w[i], i % 2 == 0 ? alice : bob, &opts, i + 1);
    }
    hf__test_pause_ms(1600);
    line_up(&w[3], bob, &opts, 4);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    for (int i = 0; i < 4; i++) {
        EXPECT_IS(end_waiter(&w[i]), HF_OK);
        EXPECT_IS(w[i].place, i + 1);
    }
}

/* It asks again with the same token: once as it lines up, once for the grant.
 */
TEST_IF(store_can(HF_CAP_FAIR), a_place_in_line_outlives_lost_replies)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_CLIENT *bob =
        open_faulty("fault=lose_reply:acquire:1,lose_reply:acquire:3");
    AUTO_LOCK *job = acquire(alice, "job");
    hf_acquire_opts opts = fair(HF_FOREVER);
    static struct waiter w[2];

    line_up(&w[0], bob, &opts, 1);
    line_up(&w[1], alice, &opts, 2);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(end_waiter(&w[0]), HF_OK);
    EXPECT_IS(end_waiter(&w[1]), HF_OK);
    EXPECT_IS(w[0].place, 1);
    EXPECT_IS(w[1].place, 2);
    await_waiters(alice, "job", 0);
}

static atomic_int inside;
static int counter; /* that the lock protects */

static void count_fairly(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        hf_acquire_opts opts = fair(patience(15000));
        AUTO_LOCK *job = must_acquire(arg, "job", &opts);

        EXPECT_SAFE_IS(atomic_fetch_add(&inside, 1), 0);
        counter++;
        EXPECT_SAFE_IS(atomic_fetch_sub(&inside, 1), 1);
        EXPECT_IS(hf_release(job, NULL), HF_OK);
    }
}

TEST_WITHIN_IF(60, store_can(HF_CAP_FAIR),
               no_update_of_those_who_are_fair_is_lost)
{
    CLIENTS(alice, bob);
    struct hf__test_thread *threads[QUEUE];

    for (int i = 0; i < QUEUE; i++) {
        threads[i] = hf__test_start(count_fairly, i % 2 == 0 ? alice : bob);
    }
    hf__test_join_all(threads, QUEUE);
    EXPECT_IS(counter, QUEUE * ROUNDS);
    await_waiters(alice, "job", 0);
}

/* ---- nobody goes past it */

TEST_IF(store_can(HF_CAP_FAIR),
        neither_a_try_nor_an_unfair_wait_goes_past_the_line)
{
    HELD(job, alice, bob);
    hf_acquire_opts opts = fair(HF_FOREVER);
    struct waiter first = {.hold_ms = 100};
    struct waiter unfair = {0};

    line_up(&first, bob, &opts, 1);
    opts.fair = 0;
    start_waiter(&unfair, alice, &opts);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(try_once(alice, "job"), HF_BUSY);
    EXPECT_IS(attempt(alice, "job", 20), HF_TIMEDOUT);
    EXPECT_IS(end_waiter(&first), HF_OK);
    EXPECT_IS(end_waiter(&unfair), HF_OK);
    EXPECT_IS(first.place, 1);
    EXPECT_IS(unfair.place, 2);
}

/* Those of the holder's own process would be handed the lock. */
TEST_IF(store_can(HF_CAP_FAIR),
        a_handover_within_the_process_does_not_go_past_the_line)
{
    HELD(job, alice, bob);
    hf_acquire_opts opts = fair(HF_FOREVER);
    struct waiter stranger = {0};
    struct waiter own[3] = {{0}};

    opts.fair = 0;
    for (int i = 0; i < 3; i++) {
        start_waiter(&own[i], alice, &opts);
    }
    hf__test_pause_ms(50);
    opts.fair = 1;
    line_up(&stranger, bob, &opts, 1);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(end_waiter(&stranger), HF_OK);
    EXPECT_IS(stranger.place, 1);
    for (int i = 0; i < 3; i++) {
        EXPECT_IS(end_waiter(&own[i]), HF_OK);
    }
}

TEST_IF(store_can(HF_CAP_FAIR), who_is_behind_a_line_is_told_so)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_CLIENT *slow =
        open_faulty("fault=delay:acquire:2:400ms"); /* when its turn comes */
    AUTO_LOCK *job = acquire(alice, "job");
    hf_acquire_opts opts = fair(HF_FOREVER);
    hf_acquire_opts once = wanting(0, HF_LEASE_DEFAULT_MS);
    struct waiter w = {0};

    line_up(&w, slow, &opts, 1);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    expect_no_grant(alice, "job", &once, HF_BUSY, "in its queue");
    EXPECT_IS(end_waiter(&w), HF_OK);
}

TEST_IF(store_can(HF_CAP_FAIR), a_fair_try_leaves_no_place_in_line)
{
    HELD(job, alice, bob);
    hf_acquire_opts opts = fair(0);

    EXPECT_IS(attempt_with(bob, "job", &opts), HF_BUSY);
    AUTO_INFO *info = look_at(alice, "job");
    EXPECT_IS(hf_info_waiters(info), 0);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(attempt_with(bob, "job", &opts), HF_OK);
}

TEST_IF(store_can(HF_CAP_FAIR), a_look_tells_of_all_in_line)
{
    HELD(job, alice);
    hf_acquire_opts opts = fair(HF_FOREVER);
    static struct waiter w[2];

    line_up(&w[0], alice, &opts, 1);
    opts.note = "a note";
    line_up(&w[1], alice, &opts, 2);
    AUTO_INFO *info = look_at(alice, "job");
    EXPECT_IS(hf_info_holders(info), 1);
    EXPECT_IS(hf_info_fence(hf_info_holder_at(info, 0)), hf_fence(job));
    EXPECT(!hf_info_holder_at(info, 1));
    EXPECT_IS(hf_info_waiters(info), 2);
    EXPECT_TEXT(hf_info_label(hf_info_waiter_at(info, 0)), w[0].label);
    EXPECT_TEXT(hf_info_label(hf_info_waiter_at(info, 1)), w[1].label);
    EXPECT_TEXT(hf_info_note(hf_info_waiter_at(info, 1)), "a note");
    EXPECT_MORE(hf_info_acquired_us(hf_info_waiter_at(info, 1)), 0);
    EXPECT_IS(hf_info_presence(hf_info_waiter_at(info, 1)), HF_FREE);
    EXPECT(!hf_info_waiter_at(info, 2));
    EXPECT(!hf_info_waiter_at(info, -1));
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(end_waiter(&w[0]), HF_OK);
    EXPECT_IS(end_waiter(&w[1]), HF_OK);
}

CASE(fair_is_refused_by_name_where_there_is_no_line,
     expect_grant_if(HF_CAP_FAIR, fair(0), "fair"));
