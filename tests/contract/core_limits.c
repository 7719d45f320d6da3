/* SPDX-License-Identifier: MIT */
/*
 * Every store, over the public API: a lock held no shorter and no longer than
 * was asked for.
 */
#include "tests/contract/api_line.h"
#include "tests/contract/peer.h"

/* ---- at least */

static hf_acquire_opts at_least(int64_t min_hold_ms)
{
    hf_acquire_opts opts = wanting(patience(5000), HF_LEASE_DEFAULT_MS);

    opts.min_hold_ms = min_hold_ms;
    return opts;
}

static void expect_kept_until(int64_t end)
{
    int64_t past = hf__test_now_ms() - end;

    EXPECT_MORE(past, -5);
    EXPECT_SOON(past, patience(400));
}

static void expect_kept_from(hf_client *holder, hf_client *next)
{
    hf_acquire_opts opts = at_least(patience(400));
    int64_t start = hf__test_now_ms();
    AUTO_LOCK *job = must_acquire(holder, "job", &opts);

    EXPECT_IS(hf_release(job, NULL), HF_OK);
    opts.wait_ms = 0;
    expect_no_grant(next, "job", &opts, HF_BUSY, "kept closed");
    EXPECT_IS(presence(next, "job"), HF_FREE);
    await_free(next, "job", patience(5000));
    expect_kept_until(start + patience(400));
}

TEST_IF(store_can(HF_CAP_KEEP),
        a_lock_released_early_is_kept_from_others_and_its_own_client)
{
    CLIENTS(alice, bob);

    expect_kept_from(alice, bob);
    expect_kept_from(alice, alice);
}

/* The next in line would get it handed over. */
TEST_IF(store_can(HF_CAP_KEEP), a_waiter_in_line_waits_for_the_least_hold_too)
{
    AUTO_CLIENT *alice = open_store();
    hf_acquire_opts opts = at_least(patience(400));
    struct waiter w = {.opts = wanting(patience(5000), HF_LEASE_DEFAULT_MS)};
    int64_t start;

    start = hf__test_now_ms();
    AUTO_LOCK *job = must_acquire(alice, "job", &opts);
    start_claim(&w, alice, "job");
    hf__test_pause_ms(100);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(end_waiter(&w), HF_OK);
    expect_kept_until(start + patience(400));
}

TEST_IF(store_can(HF_CAP_KEEP), a_lock_held_longer_is_free_at_once)
{
    CLIENTS(alice, bob);
    hf_acquire_opts opts = at_least(100);

    AUTO_LOCK *job = must_acquire(alice, "job", &opts);
    hf__test_pause_ms(110);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
}

TEST_IF(store_is_shared() && store_can(HF_CAP_KEEP),
        the_least_hold_outlives_its_holder)
{
    struct peer *bob = start_peer();
    AUTO_CLIENT *alice = open_store();
    hf_acquire_opts opts = at_least(patience(1000));
    int64_t start = hf__test_now_ms();

    set_lease(&opts, patience(300));
    EXPECT_IS(peer_acquire_as(bob, "job", &opts), HF_OK);
    kill_peer(bob);
    await_free(alice, "job", patience(5000));
    expect_kept_until(start + patience(1000));
}

/* Nobody has held it, so nobody is kept from it. */
TEST_IF(store_can(HF_CAP_KEEP), a_claim_that_was_given_back_keeps_nobody_out)
{
    AUTO_CLIENT *alice =
        open_faulty("io_timeout=1s&fault=late_reply:acquire:1:2s");
    AUTO_CLIENT *bob = open_store();
    hf_acquire_opts opts = at_least(60000);
    AUTO_LOCK *none = NULL;

    opts.wait_ms = 0;
    EXPECT_IS(hf_acquire(alice, "job", &opts, &none, NULL), HF_EUNKNOWN);
    await_free(bob, "job", patience(5000));
}

TEST_IF(store_can(HF_CAP_KEEP), a_break_ends_the_least_hold)
{
    CLIENTS(alice, bob);
    hf_acquire_opts opts = at_least(60000);

    AUTO_LOCK *job = must_acquire(alice, "job", &opts);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(hf_break(bob, "job", 0, NULL), HF_OK);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
}

/* ---- at most */

TEST(a_lock_is_lost_when_it_was_held_for_long_enough)
{
    CLIENTS(alice, bob);
    hf_acquire_opts opts = wanting(0, patience(300));
    int64_t start = hf__test_now_ms();

    opts.max_hold_ms = patience(700);
    AUTO_LOCK *job = must_acquire(alice, "job", &opts);
    hf__test_pause_ms(patience(500));
    expect_held(job);
    EXPECT_IS(hf_wait_lost(job, patience(5000)), HF_LOST);
    EXPECT_MORE(since(start), patience(700) - 5);
    EXPECT_SOON(since(start), patience(700) + patience(200));
    expect_lost(job, HF_REASON_EXPIRED);
    /* It is given back, not left to its lease. */
    await_free(bob, "job", patience(5000));
    EXPECT_SOON(since(start), patience(700) + patience(300));
}

TEST(the_longest_hold_may_be_shorter_than_the_lease)
{
    CLIENTS(alice, bob);
    hf_acquire_opts opts = wanting(0, HF_LEASE_DEFAULT_MS);
    int64_t start = hf__test_now_ms();

    opts.max_hold_ms = 200;
    AUTO_LOCK *job = must_acquire(alice, "job", &opts);
    EXPECT_LESS(hf_remaining_ms(job), 201);
    EXPECT_IS(hf_wait_lost(job, patience(5000)), HF_LOST);
    EXPECT_MORE(since(start), 195);
    await_free(bob, "job", patience(5000));
    EXPECT_SOON(since(start), 200 + patience(400));
}

TEST(renewing_by_hand_does_not_prolong_the_longest_hold)
{
    AUTO_CLIENT *alice = open_store();
    hf_acquire_opts opts = wanting(0, HF_LEASE_DEFAULT_MS);
    int64_t start = hf__test_now_ms();

    opts.auto_renew = !store_leases();
    opts.max_hold_ms = patience(300);
    AUTO_LOCK *job = must_acquire(alice, "job", &opts);
    EXPECT_IS(hf_renew(job, NULL), HF_OK);
    EXPECT_LESS(hf_remaining_ms(job), patience(300) + 1);
    EXPECT_IS(hf_wait_lost(job, patience(5000)), HF_LOST);
    EXPECT_SOON(since(start), patience(300) + patience(200));
    EXPECT_IS(hf_renew(job, NULL), HF_LOST);
}

TEST(limits_that_make_no_sense_are_refused)
{
    AUTO_CLIENT *alice = open_store();
    static const int64_t wrong[] = {-1, HF_KEEP_MAX_MS + 1, INT64_MIN,
                                    INT64_MAX};

    for (int i = 0; i < 4; i++) {
        hf_acquire_opts opts = at_least(wrong[i]);

        expect_no_grant(alice, "job", &opts, HF_EINVAL, "min_hold_ms");
        opts = wanting(0, HF_LEASE_DEFAULT_MS);
        opts.max_hold_ms = i == 0 ? HF_LEASE_MIN_MS - 1 : wrong[i];
        expect_no_grant(alice, "job", &opts, HF_EINVAL, "max_hold_ms");
    }
}
