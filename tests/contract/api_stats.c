/* SPDX-License-Identifier: MIT */
/*
 * Every store, over the public API: what a client counts is what happened.
 */
#include "tests/contract/api_line.h"
#include "tests/contract/detached.h"
#include "tests/contract/peer.h"

TEST(a_new_client_has_done_nothing_yet)
{
    AUTO_CLIENT *alice = open_store();
    hf_stats_info stats = stats_of(alice);

    EXPECT_IS(stats.acquired, 0);
    EXPECT_IS(stats.operations, 0);
    EXPECT_IS(stats.held, 0);
    EXPECT_IS(stats.waiting, 0);
    EXPECT_MORE(stats.connects, 0);
}

TEST(grants_and_releases_are_counted)
{
    HELD(job, alice);
    hf_stats_info stats = stats_of(alice);

    EXPECT_IS(stats.acquired, 1);
    EXPECT_IS(stats.released, 0);
    EXPECT_IS(stats.held, 1);
    EXPECT_IS(stats.operations, 1);
    EXPECT_IS(stats.batches, 1);
    EXPECT_IS(hf_renew(job, NULL), HF_OK);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    stats = stats_of(alice);
    EXPECT_IS(stats.acquired, 1);
    EXPECT_IS(stats.renewed, 1);
    EXPECT_IS(stats.released, 1);
    EXPECT_IS(stats.held, 0);
    EXPECT_IS(stats.operations, 3);
    EXPECT_IS(stats.lost, 0);
    EXPECT_IS(try_once(alice, "job"), HF_OK);
    EXPECT_IS(stats_of(alice).taken_over, 0);
}

TEST(refusals_are_counted_by_their_kind)
{
    CLIENTS(alice, bob);
    AUTO_CANCEL *cancel = new_cancel();
    AUTO_LOCK *job = acquire(alice, "job");
    AUTO_LOCK *none = NULL;
    hf_acquire_opts opts = wanting(20, HF_LEASE_DEFAULT_MS);
    hf_stats_info stats;

    EXPECT_IS(try_once(bob, "job"), HF_BUSY);
    EXPECT_IS(hf_acquire(bob, "job", &opts, &none, NULL), HF_TIMEDOUT);
    hf_cancel_fire(cancel);
    opts.cancel = cancel;
    EXPECT_IS(hf_acquire(bob, "job", &opts, &none, NULL), HF_CANCELLED);
    stats = stats_of(bob);
    EXPECT_IS(stats.busy, 2);
    EXPECT_IS(stats.cancelled, 1);
    EXPECT_IS(stats.failed, 0);
    EXPECT_IS(stats.acquired, 0);
    expect_held(job);
}

TEST(failures_and_losses_are_counted)
{
    AUTO_CLIENT *alice =
        open_faulty("fault=die:acquire:1-4,die:renew:1&io_timeout=1s");
    hf_stats_info stats;

    EXPECT_IS(try_once(alice, "job"), HF_EUNAVAIL);
    EXPECT_IS(try_once(alice, "job"), HF_OK);
    AUTO_LOCK *job = acquire(alice, "job");
    EXPECT_IS(hf_renew(job, NULL), HF_EUNAVAIL);
    EXPECT_IS(hf_break(alice, "job", 0, NULL), HF_OK);
    EXPECT_IS(hf_release(job, NULL), HF_LOST);
    stats = stats_of(alice);
    EXPECT_IS(stats.failed, 1);
    EXPECT_IS(stats.renew_failed, 1);
    EXPECT_IS(stats.renewed, 0);
    EXPECT_IS(stats.lost, 1);
    EXPECT_IS(stats.released, 1);
    EXPECT_MORE(stats.connects, 4);
}

TEST(shared_grants_are_counted_apart)
{
    AUTO_CLIENT *alice = open_store();
    hf_acquire_opts opts = wanting(0, HF_LEASE_DEFAULT_MS);
    hf_stats_info stats;

    opts.reentrant = 1;
    AUTO_LOCK *outer = must_acquire(alice, "job", &opts);
    AUTO_LOCK *inner = must_acquire(alice, "job", &opts);
    stats = stats_of(alice);
    EXPECT_IS(stats.acquired, 1);
    EXPECT_IS(stats.reentered, 1);
    EXPECT_IS(stats.held, 1);
}

TEST(who_waits_and_hand_overs_are_counted)
{
    HELD(job, alice);
    struct waiter w = {.opts = wanting(patience(10000), HF_LEASE_DEFAULT_MS)};
    hf_stats_info stats;

    start_claim(&w, alice, "job");
    UNTIL(stats_of(alice).waiting != 0);
    hf__test_pause_ms(50);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(end_waiter(&w), HF_OK);
    stats = stats_of(alice);
    EXPECT_IS(stats.waiting, 0);
    EXPECT_IS(stats.acquired, 2);
    EXPECT_IS(stats.released, 2);
    EXPECT_IS(stats.handed_over, store_can(HF_CAP_HANDOVER) ? 1 : 0);
}

/* ---- takeovers */

TEST_IF(store_tells_ends(), a_takeover_of_what_expired_is_counted_and_logged)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_CLIENT *bob = open_logged(HF_LOG_INFO);
    char token[33];
    char line[96];

    leave_behind(alice, "job", 100, token);
    AUTO_LOCK *job = acquire(bob, "job");
    snprintf(line, sizeof line, "event=takeover lock=job fence=%llu",
             (unsigned long long)hf_fence(job));
    EXPECT(logged(line, NULL));
    EXPECT_IS(stats_of(bob).taken_over, 1);
    EXPECT_IS(stats_of(bob).acquired, 1);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
    EXPECT_IS(stats_of(bob).taken_over, 1);
    EXPECT_IS(stats_of(alice).taken_over, 0);
}

TEST_IF(store_tells_ends() && store_is_shared(),
        what_a_killed_holder_left_is_taken_over)
{
    struct peer *bob = start_peer();
    AUTO_CLIENT *alice = open_store();

    EXPECT_IS(peer_acquire(bob, "job", 0, patience(500)), HF_OK);
    kill_peer(bob);
    await_free(alice, "job", patience(10000));
    EXPECT_IS(stats_of(alice).taken_over, 1);
}

TEST_IF(store_tells_ends(), each_of_several_names_is_counted_as_a_takeover)
{
    static const char *const names[] = {"a", "b", "c"};
    CLIENTS(alice, bob);
    hf_acquire_opts opts = wanting(patience(10000), HF_LEASE_DEFAULT_MS);
    AUTO_LOCK *lock = NULL;
    char token[33];

    EXPECT_IS(try_once(alice, "b"), HF_OK);
    leave_behind(alice, "a", 100, token);
    leave_behind(alice, "c", 100, token);
    EXPECT_IS(hf_acquire_many(bob, names, 3, &opts, &lock, NULL), HF_OK);
    EXPECT_IS(stats_of(bob).acquired, 3);
    EXPECT_IS(stats_of(bob).taken_over, 2);
}

/* A majority of members, each of which knows something else. */
TEST_IF(!store_cleans() && store_can(HF_CAP_DETACH),
        who_can_not_tell_claims_no_takeover)
{
    CLIENTS(alice, bob);
    char token[33];

    leave_behind(alice, "job", patience(300), token);
    await_free(bob, "job", patience(10000));
    EXPECT_IS(stats_of(bob).taken_over, 0);
}

TEST(a_caller_of_an_older_version_gets_what_it_knows)
{
    AUTO_CLIENT *alice = open_store();
    hf_stats_info stats = HF_STATS_INFO_INIT;

    stats.size = offsetof(hf_stats_info, handed_over);
    stats.handed_over = 77;
    EXPECT_IS(try_once(alice, "job"), HF_OK);
    EXPECT_IS(hf_stats(alice, &stats), HF_OK);
    EXPECT_IS(stats.acquired, 1);
    EXPECT_IS(stats.handed_over, 77);
    EXPECT_IS(stats.size, offsetof(hf_stats_info, handed_over));
    stats.size = sizeof stats + 8;
    EXPECT_IS(hf_stats(alice, &stats), HF_EINVAL);
    EXPECT_IS(hf_stats(alice, NULL), HF_EINVAL);
    EXPECT_IS(hf_stats(NULL, &stats), HF_EINVAL);
}
