/* SPDX-License-Identifier: MIT */
/*
 * Shared grants: beside one another and beside nobody else, each with its own
 * lease and its own end; and whoever wants the name alone gets its turn,
 * however many share it.
 */
#include "tests/contract/api_line.h"
#include "tests/contract/peer.h"

enum { READERS = 6 };

TEST_IF(store_can(HF_CAP_SHARED),
        shared_locks_stand_side_by_side_and_exclude_others)
{
    CLIENTS(alice, bob);
    hf_acquire_opts opts = shared(0);
    AUTO_LOCK *first = must_acquire(alice, "job", &opts);
    AUTO_LOCK *second = must_acquire(bob, "job", &opts);

    EXPECT_IS(hf_slot(first), -1);
    EXPECT_SAFE(store_can(HF_CAP_FENCE) ? hf_fence(second) > hf_fence(first)
                                        : 1);
    EXPECT_IS(try_once(bob, "job"), HF_BUSY);
    {
        AUTO_INFO *info = look_at(alice, "job");
        EXPECT_IS(hf_info_holders(info), 2);
        EXPECT_IS(hf_info_shared(info), 1);
        EXPECT_IS(hf_info_slots(info), 0);
        EXPECT_IS(hf_info_slot(info), -1);
        EXPECT_IS(hf_info_fence(hf_info_holder_at(info, 0)), hf_fence(first));
        EXPECT_IS(hf_info_fence(hf_info_holder_at(info, 1)), hf_fence(second));
        EXPECT_IS(hf_info_shared(hf_info_holder_at(info, 1)), 1);
    }
    EXPECT_IS(hf_release(first, NULL), HF_OK);
    EXPECT_IS(try_once(bob, "job"), HF_BUSY);
    expect_held(second);
    EXPECT_IS(hf_release(second, NULL), HF_OK);
    AUTO_LOCK *alone = acquire(alice, "job");
    EXPECT_IS(attempt_with(bob, "job", &opts), HF_BUSY);
    expect_held(alone);
}

TEST_IF(store_can(HF_CAP_SHARED),
        several_shared_locks_of_one_client_are_all_renewed)
{
    AUTO_CLIENT *alice = open_store();
    hf_lock *all[READERS];
    int64_t start;

    for (int i = 0; i < READERS; i++) {
        hf_acquire_opts opts = shared(0);

        set_lease(&opts, patience(600));
        all[i] = must_acquire(alice, "job", &opts);
    }
    start = hf__test_now_ms();
    while (since(start) < 3 * lease_given(patience(600))) {
        for (int i = 0; i < READERS; i++) {
            EXPECT_IS(hf_held(all[i]), 1);
        }
        hf__test_pause_ms(20);
    }
    for (int i = 0; i < READERS; i++) {
        EXPECT_IS(hf_release(all[i], NULL), HF_OK);
        hf_free(all[i]);
    }
    await_holders(alice, "job", 0);
}

/* ---- how they end */

/* Shorter where the store sees that it died. */
TEST_IF(store_can(HF_CAP_SHARED) && store_is_shared(),
        a_reader_that_is_killed_blocks_no_longer_than_its_lease)
{
    struct peer *carol = start_peer();
    struct peer *dave = start_peer();
    hf_acquire_opts opts = shared(patience(5000));
    int64_t limit_ms =
        patience(1500) +
        (store_can(HF_CAP_DEATH) ? 0 : end_given(patience(3000)));

    set_lease(&opts, patience(3000));
    EXPECT_IS(peer_acquire_as(carol, "job", &opts), HF_OK);
    EXPECT_IS(peer_acquire_as(dave, "job", &opts), HF_OK);
    AUTO_CLIENT *alice = open_store();
    kill_peer(carol);
    EXPECT_IS(try_once(alice, "job"), HF_BUSY);
    EXPECT(peer_holds(dave));
    EXPECT_IS(peer_release(dave), HF_OK);
    EXPECT_SOON(await_free(alice, "job", 2 * limit_ms), limit_ms);
    end_peer(dave);
}

TEST_IF(store_can(HF_CAP_SHARED),
        a_shared_lock_that_is_not_renewed_ends_for_itself)
{
    CLIENTS(alice, bob);
    hf_acquire_opts opts = shared(0);
    AUTO_LOCK *stays = must_acquire(alice, "job", &opts);

    opts = shared(0);
    end_after(&opts, 500);
    AUTO_LOCK *ends = must_acquire(bob, "job", &opts);
    await_holders(alice, "job", 1);
    expect_lost(ends, HF_REASON_EXPIRED);
    expect_held(stays);
    EXPECT_IS(hf_renew(stays, NULL), HF_OK);
    EXPECT_IS(hf_release(stays, NULL), HF_OK);
    EXPECT_SOON(await_free(bob, "job", patience(5000)), patience(1000));
}

TEST_IF(store_can(HF_CAP_SHARED | HF_CAP_FENCE),
        a_break_ends_all_who_share_or_the_one_that_is_meant)
{
    CLIENTS(alice, bob);
    hf_acquire_opts opts = shared(0);
    hf_acquire_opts other = shared(0);
    hf_acquire_opts third = shared(0);
    AUTO_LOCK *first = must_acquire(alice, "job", &opts);
    AUTO_LOCK *second = must_acquire(alice, "job", &other);
    AUTO_LOCK *abroad = must_acquire(bob, "job", &third);

    EXPECT_IS(hf_break(alice, "job", hf_fence(abroad) + 9, NULL), HF_CONFLICT);
    EXPECT_IS(hf_break(alice, "job", hf_fence(first), NULL), HF_OK);
    expect_lost(first, HF_REASON_BROKEN);
    expect_held(second);
    EXPECT_IS(hf_renew(abroad, NULL), HF_OK);
    EXPECT_IS(hf_break(alice, "job", 0, NULL), HF_OK);
    expect_lost(second, HF_REASON_BROKEN);
    EXPECT_IS(hf_renew(abroad, NULL), HF_LOST);
    expect_lost(abroad, HF_REASON_BROKEN);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
}

/* ---- owners */

TEST_IF(store_can(HF_CAP_SHARED),
        who_holds_it_in_one_mode_does_not_get_it_in_another)
{
    AUTO_CLIENT *alice = open_store();
    hf_acquire_opts opts = shared(HF_FOREVER);
    hf_error err = HF_ERROR_INIT;
    hf_lock *more = NULL;
    AUTO_LOCK *job = must_acquire(alice, "job", &opts);

    EXPECT_IS(hf_acquire(alice, "job", &opts, &more, &err), HF_DEADLOCK);
    opts.reentrant = 1;
    opts.shared = 0;
    EXPECT_IS(hf_acquire(alice, "job", &opts, &more, &err), HF_DEADLOCK);
    EXPECT_HAS(err.text, "mode");
    opts.reentrant = 0;
    EXPECT_IS(hf_acquire(alice, "job", &opts, &more, &err), HF_DEADLOCK);
    opts.reentrant = 1;
    opts.shared = 1;
    EXPECT_IS(hf_acquire(alice, "job", &opts, &more, &err), HF_OK);
    EXPECT_IS(hf_fence(more), hf_fence(job));
    EXPECT_IS(hf_release(more, NULL), HF_OK);
    hf_free(more);
    expect_held(job);
}

/* The lost one was not let go yet, and comes first among its owner's. */
TEST_IF(store_can(HF_CAP_SHARED),
        a_lost_lock_does_not_hide_the_one_that_is_held)
{
    AUTO_CLIENT *alice = open_store();
    hf_acquire_opts opts = shared(0);
    hf_error err = HF_ERROR_INIT;
    hf_lock *more = NULL;

    end_after(&opts, 200);
    AUTO_LOCK *lost = must_acquire(alice, "job", &opts);
    EXPECT_IS(hf_wait_lost(lost, patience(5000)), HF_LOST);
    opts.reentrant = 1;
    EXPECT_IS(hf_acquire(alice, "job", &opts, &more, &err), HF_LOST);
    opts.shared = 0;
    EXPECT_IS(hf_acquire(alice, "job", &opts, &more, &err), HF_LOST);
    opts.reentrant = 0;
    opts.shared = 1;
    opts.lease_ms = HF_LEASE_DEFAULT_MS;
    opts.max_hold_ms = 0;
    AUTO_LOCK *held = must_acquire(alice, "job", &opts);
    opts.wait_ms = 300;
    EXPECT_IS(hf_acquire(alice, "job", &opts, &more, &err), HF_DEADLOCK);
    opts.shared = 0;
    EXPECT_IS(hf_acquire(alice, "job", &opts, &more, &err), HF_DEADLOCK);
    opts.shared = 1;
    opts.reentrant = 1;
    EXPECT_IS(hf_acquire(alice, "job", &opts, &more, &err), HF_OK);
    EXPECT_IS(hf_fence(more), hf_fence(held));
    hf_free(more);
}

TEST_IF(store_can(HF_CAP_SHARED),
        a_client_that_is_closed_gives_back_all_that_it_shares)
{
    AUTO_CLIENT *alice = open_store();
    hf_client *bob = open_store();
    hf_lock *all[READERS];

    for (int i = 0; i < READERS; i++) {
        hf_acquire_opts opts = shared(0);

        all[i] = must_acquire(bob, "job", &opts);
    }
    hf_close(bob);
    EXPECT_IS(try_once(alice, "job"), HF_OK);
    for (int i = 0; i < READERS; i++) {
        expect_lost(all[i], HF_REASON_SESSION);
        hf_free(all[i]);
    }
}

/* Its fence is below what this client has seen since. */
TEST_IF(store_can(HF_CAP_SHARED | HF_CAP_DETACH),
        a_shared_lock_can_be_adopted_beside_a_later_one)
{
    CLIENTS(alice, bob);
    hf_acquire_opts opts = shared(0);
    hf_error err = HF_ERROR_INIT;
    AUTO_LOCK *first = must_acquire(alice, "job", &opts);
    AUTO_LOCK *later = must_acquire(bob, "job", &opts);
    AUTO_LOCK *adopted = NULL;

    EXPECT_IS(hf_detach(first, NULL), HF_OK);
    int r = hf_adopt(bob, "job", hf_token(first), NULL, &adopted, &err);
    EXPECT_TEXT(err.text, "");
    EXPECT_IS(r, HF_OK);
    expect_held(adopted);
    EXPECT_IS(hf_fence(adopted), hf_fence(first));
    EXPECT_IS(hf_slot(adopted), -1);
    EXPECT_IS(hf_release(adopted, NULL), HF_OK);
    expect_held(later);
    EXPECT_IS(hf_renew(later, NULL), HF_OK);
    await_holders(alice, "job", 1);
}

CASE(shared_is_refused_by_name_where_there_is_one_holder,
     expect_grant_if(HF_CAP_SHARED, shared(0), "shared"));
