/* SPDX-License-Identifier: MIT */
/*
 * Those who leave the line: timed out, cancelled, closed, stopped or dead.
 * None leaves its place behind, and several who can't take theirs back cost
 * those behind them no more than one.
 */
#include "tests/contract/api_line.h"
#include "tests/contract/peer.h"

enum { PEERS = 4 };

TEST_IF(store_can(HF_CAP_FAIR), who_times_out_in_line_holds_nobody_up)
{
    HELD(job, alice, bob);
    hf_acquire_opts opts = fair(HF_FOREVER);
    static struct waiter w[3];
    int64_t start;

    line_up(&w[0], bob, &opts, 1);
    opts.wait_ms = patience(500);
    line_up(&w[1], bob, &opts, 2);
    opts.wait_ms = HF_FOREVER;
    line_up(&w[2], bob, &opts, 3);
    EXPECT_IS(end_waiter(&w[1]), HF_TIMEDOUT);
    await_waiters(alice, "job", 2);
    start = hf__test_now_ms();
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(end_waiter(&w[0]), HF_OK);
    EXPECT_IS(end_waiter(&w[2]), HF_OK);
    EXPECT_SOON(since(start), patience(900));
    EXPECT_IS(w[0].place, 1);
    EXPECT_IS(w[2].place, 2);
}

TEST_IF(store_can(HF_CAP_FAIR), who_is_cancelled_in_line_holds_nobody_up)
{
    HELD(job, alice, bob);
    AUTO_CANCEL *cancel = new_cancel();
    hf_acquire_opts opts = fair(HF_FOREVER);
    static struct waiter w[2];
    int64_t start;

    opts.cancel = cancel;
    line_up(&w[0], bob, &opts, 1);
    opts.cancel = NULL;
    line_up(&w[1], bob, &opts, 2);
    hf_cancel_fire(cancel);
    EXPECT_IS(end_waiter(&w[0]), HF_CANCELLED);
    await_waiters(alice, "job", 1);
    start = hf__test_now_ms();
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(end_waiter(&w[1]), HF_OK);
    EXPECT_SOON(since(start), patience(900));
}

/* A place that nobody waits in is left alone by the cleaning for a minute. */
static void expect_no_place_left(hf_client *client)
{
    hf_gc_info gone = HF_GC_INFO_INIT;
    int r = hf_gc(client, 0, &gone, NULL);

    EXPECT(r == HF_OK || r == HF_ENOTSUP);
    EXPECT_IS(gone.removed, r == HF_OK ? 1 : 0);
}

TEST_IF(store_can(HF_CAP_FAIR),
        who_is_cancelled_before_it_knows_its_place_leaves_none)
{
    AUTO_CLIENT *alice = open_store();
    hf_client *bob = open_faulty("fault=late_reply:acquire:1:300ms");
    AUTO_LOCK *job = acquire(alice, "job");
    AUTO_CANCEL *cancel = new_cancel();
    hf_acquire_opts opts = fair(HF_FOREVER);
    struct waiter w = {0};

    opts.cancel = cancel;
    line_up(&w, bob, &opts, 1);
    hf_cancel_fire(cancel);
    EXPECT_IS(end_waiter(&w), HF_CANCELLED);
    hf_close(bob);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    hf__test_pause_ms(5);
    expect_no_place_left(alice);
}

/* It asks again when the lease that it saw should be over. The answer, that
 * it is still in line, comes when nobody waits for it any more. */
TEST_IF(store_can(HF_CAP_FAIR), who_is_answered_too_late_leaves_no_place)
{
    int64_t lease_ms = patience(1000);
    char options[100];
    struct waiter w = {0};

    snprintf(options, sizeof options,
             "io_timeout=%dms&fault=late_reply:acquire:2:%dms", (int)lease_ms,
             (int)lease_ms * 6 / 10);
    AUTO_CLIENT *alice = open_store();
    hf_client *bob = open_faulty(options);
    AUTO_LOCK *job = acquire_leased(alice, "job", lease_ms);
    hf_acquire_opts opts = fair(lease_ms * 12 / 10);
    line_up(&w, bob, &opts, 1);
    EXPECT_NOT(end_waiter(&w), HF_OK);
    hf_close(bob);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    hf__test_pause_ms(5);
    expect_no_place_left(alice);
}

/* It is in line behind who shares. Then its own process is granted the name,
 * means to hand it over, and may not: a stranger is in line as well. */
TEST_IF(store_can(HF_CAP_FAIR | HF_CAP_SHARED | HF_CAP_HANDOVER),
        who_is_cancelled_as_it_is_handed_the_lock_leaves_no_place)
{
    AUTO_CLIENT *alice = open_store();
    hf_client *bob = open_faulty("fault=late_reply:handover:1:600ms");
    hf_acquire_opts sharing = shared(0);
    AUTO_LOCK *job = must_acquire(alice, "job", &sharing);
    AUTO_CANCEL *cancel = new_cancel();
    hf_acquire_opts opts = fair(HF_FOREVER);
    struct waiter holder = {.hold_ms = 100};
    struct waiter heir = {0};
    struct waiter stranger = {0};

    line_up(&holder, bob, &opts, 1);
    opts.fair = 0;
    opts.cancel = cancel;
    line_up(&heir, bob, &opts, 2);
    opts.fair = 1;
    opts.cancel = NULL;
    line_up(&stranger, alice, &opts, 3);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    await_waiters(alice, "job", 2);
    hf__test_pause_ms(350);
    hf_cancel_fire(cancel);
    EXPECT_IS(end_waiter(&heir), HF_CANCELLED);
    EXPECT_IS(end_waiter(&holder), HF_OK);
    EXPECT_IS(end_waiter(&stranger), HF_OK);
    hf_close(bob);
    hf__test_pause_ms(5);
    expect_no_place_left(alice);
}

TEST_IF(store_can(HF_CAP_FAIR),
        who_is_cancelled_as_it_asks_again_leaves_no_place)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_CLIENT *bob = open_faulty("fault=lose_request:acquire:2");
    AUTO_LOCK *job = acquire(alice, "job");
    AUTO_LOCK *next = NULL;
    AUTO_CANCEL *cancel = new_cancel();
    hf_acquire_opts opts = fair(HF_FOREVER);
    static struct waiter w[2];

    opts.cancel = cancel;
    line_up(&w[0], bob, &opts, 1);
    opts.cancel = NULL;
    line_up(&w[1], alice, &opts, 2);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    hf_cancel_fire(cancel);
    /* Between the lost request and the next, it can't say what became of it. */
    EXPECT(end_waiter(&w[0]) == HF_CANCELLED ||
           atomic_load(&w[0].status) == HF_OK ||
           atomic_load(&w[0].status) == HF_EUNKNOWN ||
           atomic_load(&w[0].status) == HF_EUNAVAIL);
    EXPECT_IS(end_waiter(&w[1]), HF_OK);
    next = acquire(alice, "job");
    await_waiters(alice, "job", 0);
    expect_held(next);
}

TEST_IF(store_can(HF_CAP_FAIR), a_client_that_is_closed_leaves_no_place_in_line)
{
    HELD(job, alice);
    hf_acquire_opts opts = fair(50);

    {
        AUTO_CLIENT *bob = open_store();
        EXPECT_IS(attempt_with(bob, "job", &opts), HF_TIMEDOUT);
    }
    AUTO_INFO *info = look_at(alice, "job");
    EXPECT_IS(hf_info_waiters(info), 0);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
}

/* Peers that queue up for "job", each behind the one before. */
static void line_up_peers(struct peer *p[], int n, hf_client *client)
{
    hf_acquire_opts opts = fair(HF_FOREVER);

    for (int i = 0; i < n; i++) {
        peer_begin_acquire_as(p[i], "job", &opts);
        await_waiters(client, "job", i + 1);
    }
}

static void start_peers(struct peer *p[PEERS])
{
    for (int i = 0; i < PEERS; i++) {
        p[i] = start_peer();
    }
}

/* Whatever became of those before it, and of all at once: three that are
 * stopped cost no three seconds, or no second session. */
static void expect_last_is_served(struct peer *p[PEERS], hf_lock *job)
{
    int64_t start = hf__test_now_ms();

    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(peer_finish(p[PEERS - 1]), HF_OK);
    EXPECT_SOON(since(start), wait_given(patience(2500)));
}

TEST_IF(store_can(HF_CAP_FAIR) && store_is_shared(),
        waiters_that_are_killed_hold_nobody_up_for_long)
{
    struct peer *p[PEERS];

    start_peers(p);
    HELD(job, alice);
    line_up_peers(p, PEERS, alice);
    for (int i = 0; i < PEERS - 1; i++) {
        kill_peer(p[i]);
    }
    expect_last_is_served(p, job);
    end_peer(p[PEERS - 1]);
    await_waiters(alice, "job", 0);
}

TEST_IF(store_can(HF_CAP_FAIR) && store_is_shared(),
        waiters_that_are_stopped_are_passed_over_once_for_all)
{
    struct peer *p[PEERS];

    start_peers(p);
    HELD(job, alice);
    line_up_peers(p, PEERS, alice);
    for (int i = 0; i < PEERS - 1; i++) {
        stop_peer(p[i]);
    }
    expect_last_is_served(p, job);
    for (int i = 0; i < PEERS - 1; i++) {
        continue_peer(p[i]);
        if (has_session_places()) {
            await_waiters(alice, "job", i + 1); /* a new place, at the end */
        }
    }
    await_waiters(alice, "job", PEERS - 1); /* they have their places again */
    EXPECT_IS(peer_release(p[PEERS - 1]), HF_OK);
    for (int i = 0; i < PEERS - 1; i++) {
        EXPECT_IS(peer_finish(p[i]), HF_OK);
        EXPECT_IS(peer_release(p[i]), HF_OK);
    }
    for (int i = 0; i < PEERS; i++) {
        end_peer(p[i]);
    }
}
