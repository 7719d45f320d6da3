/* SPDX-License-Identifier: MIT */
/*
 * Every store with shared grants: shared beside shared, alone beside nobody,
 * and who is before whom. What each of several grants is for itself is in
 * store_several.c, what slots add in store_slots.c.
 */
#include "tests/contract/vocabulary_crowd.h"

TEST_IF(has(HF_CAP_SHARED), shared_grants_stand_side_by_side)
{
    JOB_AS(SHARED, alice, bob);
    struct scene s;

    EXPECT_IS(alice.slot, -1);
    EXPECT_IS(try_as(&bob, "job", SHARED), HF_OK);
    look_around(&alice, "job", &s);
    EXPECT_IS(s.n_holders, 2);
    EXPECT_IS(s.n_waiters, 0);
    for (int i = 0; i < 2; i++) {
        struct hf__record *r = &s.crowd.list[i].record;
        struct party *p = i == 0 ? &alice : &bob;

        EXPECT(r->is_held);
        EXPECT_IS(r->lock_mode.mode, HF__MODE_SHARED);
        EXPECT_IS(r->slot, -1);
        EXPECT_TEXT(r->owner.label, p->owner.label);
        EXPECT_IS(r->fence, fence_of(p, "job"));
        EXPECT(hf__token_equal(&r->token, &claim_of(p, "job")->token));
    }
    hf__participant_list_free(&s.crowd);
    EXPECT_IS(renew(&alice, "job"), HF_OK);
    EXPECT_IS(alice.slot, -1);
    EXPECT_IS(renew(&bob, "job"), HF_OK);
}

TEST_IF(has(HF_CAP_SHARED), alone_waits_for_all_who_share)
{
    JOB_AS(SHARED, alice, bob, carol);
    EXPECT_IS(try_as(&bob, "job", SHARED), HF_OK);
    EXPECT_IS(try_as(&carol, "job", ALONE), HF_BUSY);
    EXPECT(carol.record.is_held && !carol.record.is_promised);
    EXPECT_IS(carol.record.lock_mode.mode, HF__MODE_SHARED);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(try_as(&carol, "job", ALONE), HF_BUSY);
    EXPECT_IS(release(&bob, "job"), HF_OK);
    EXPECT_IS(try_as(&carol, "job", ALONE), HF_OK);
    EXPECT_IS(try_as(&alice, "job", SHARED), HF_BUSY);
    EXPECT_IS(alice.record.lock_mode.mode, HF__MODE_EXCLUSIVE);
    EXPECT_IS(release(&carol, "job"), HF_OK);
    EXPECT_IS(try_as(&alice, "job", SHARED), HF_OK);
}

TEST_IF(has(HF_CAP_SHARED), asking_again_beside_others_is_the_same_grant)
{
    JOB_AS(SHARED, alice, bob);
    uint64_t fence = alice.fence;
    EXPECT_IS(try_as(&bob, "job", SHARED), HF_OK);
    EXPECT_IS(try_as(&alice, "job", SHARED), HF_OK);
    EXPECT_IS(alice.fence, fence);
    expect_around(&bob, "job", 2, 0);
}

TEST_IF(has(HF_CAP_SHARED) && !has(HF_CAP_SESSION),
        a_grant_beside_others_outlives_its_session)
{
    JOB_AS(SHARED, alice, bob);
    EXPECT_IS(try_as(&bob, "job", SHARED), HF_OK);
    rejoin(&alice);
    EXPECT_IS(renew(&alice, "job"), HF_OK);
    expect_around(&bob, "job", 2, 0);
}

/* ---- who is before whom */

TEST_IF(has(HF_CAP_SHARED), who_waits_behind_shared_stops_those_who_come_later)
{
    JOB_AS(SHARED, alice, bob, carol);
    EXPECT_IS(want(&carol, "job", ALONE), HF_BUSY);
    EXPECT(carol.is_queued);
    EXPECT_IS(try_as(&bob, "job", SHARED), HF_BUSY);
    EXPECT_IS(want(&bob, "job", SHARED), HF_BUSY);
    EXPECT(!bob.is_queued);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(try_as(&bob, "job", SHARED), HF_BUSY);
    EXPECT(bob.record.is_promised);
    EXPECT_IS(want(&carol, "job", ALONE), HF_OK);
    EXPECT_IS(release(&carol, "job"), HF_OK);
    EXPECT_IS(want(&bob, "job", SHARED), HF_OK);
}

TEST_IF(has(HF_CAP_SHARED), a_try_behind_shared_stops_nobody)
{
    JOB_AS(SHARED, alice, bob, carol);
    EXPECT_IS(try_as(&carol, "job", ALONE), HF_BUSY);
    EXPECT(!carol.is_queued);
    EXPECT_IS(try_as(&bob, "job", SHARED), HF_OK);
}

TEST_IF(has(HF_CAP_SHARED), who_waits_behind_one_alone_leaves_no_ticket)
{
    JOB_AS(ALONE, alice, bob);
    EXPECT_IS(want(&bob, "job", ALONE), HF_BUSY);
    EXPECT(!bob.is_queued);
    EXPECT_IS(want(&bob, "job", SHARED), HF_BUSY);
    EXPECT(!bob.is_queued);
    expect_around(&alice, "job", 1, 0);
}

TEST_IF(has(HF_CAP_SHARED),
        who_waits_behind_shared_and_is_gone_stops_nobody_for_long)
{
    JOB_AS(SHARED, alice, bob, carol);
    EXPECT_IS(want(&carol, "job", ALONE), HF_BUSY);
    EXPECT_IS(try_as(&bob, "job", SHARED), HF_BUSY);
    fall_silent(&carol);
    until_granted(&bob, "job", SHARED);
    expect_around(&bob, "job", 2, 0);
}

TEST_IF(has(HF_CAP_SHARED | HF_CAP_FAIR),
        shared_ones_enter_together_up_to_the_first_other)
{
    JOB_AS(ALONE, alice, bob, carol, dave, erin);
    EXPECT_IS(queue_up(&bob, "job", SHARED), HF_BUSY);
    EXPECT_IS(queue_up(&carol, "job", SHARED), HF_BUSY);
    EXPECT_IS(queue_up(&dave, "job", ALONE), HF_BUSY);
    EXPECT_IS(queue_up(&erin, "job", SHARED), HF_BUSY);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(queue_up(&erin, "job", SHARED), HF_BUSY);
    EXPECT_IS(queue_up(&carol, "job", SHARED), HF_OK);
    EXPECT_IS(queue_up(&erin, "job", SHARED), HF_BUSY);
    EXPECT_IS(queue_up(&bob, "job", SHARED), HF_OK);
    EXPECT_IS(queue_up(&dave, "job", ALONE), HF_BUSY);
    expect_around(&alice, "job", 2, 2);
    EXPECT_IS(release(&bob, "job"), HF_OK);
    EXPECT_IS(release(&carol, "job"), HF_OK);
    EXPECT_IS(queue_up(&erin, "job", SHARED), HF_BUSY);
    EXPECT_IS(queue_up(&dave, "job", ALONE), HF_OK);
    EXPECT_IS(release(&dave, "job"), HF_OK);
    EXPECT_IS(queue_up(&erin, "job", SHARED), HF_OK);
}

TEST_IF(has(HF_CAP_SHARED | HF_CAP_FAIR | HF_CAP_WAIT),
        all_shared_ones_whose_turn_it_is_are_woken)
{
    JOB_AS(ALONE, alice, bob, carol);
    struct waiting first;
    struct waiting second;

    EXPECT_IS(queue_up(&bob, "job", SHARED), HF_BUSY);
    watch_name(&first, &bob, "job");
    EXPECT_IS(queue_up(&carol, "job", SHARED), HF_BUSY);
    watch_name(&second, &carol, "job");
    start_waiting(&first);
    start_waiting(&second);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    expect_woken(&first);
    expect_woken(&second);
    if (!has(HF_CAP_SESSION)) {
        rejoin(&bob); /* one that waited is not kept while it says nothing */
    }
    EXPECT_IS(queue_up(&carol, "job", SHARED), HF_OK);
    EXPECT_IS(queue_up(&bob, "job", SHARED), HF_OK);
}

TEST_IF(has(HF_CAP_SHARED | HF_CAP_WAIT),
        the_last_shared_release_wakes_who_wants_it_alone)
{
    JOB_AS(SHARED, alice, bob, carol);
    struct waiting w;

    EXPECT_IS(try_as(&bob, "job", SHARED), HF_OK);
    EXPECT_IS(want(&carol, "job", ALONE), HF_BUSY);
    watch_name(&w, &carol, "job");
    start_waiting(&w);
    EXPECT_IS(release(&bob, "job"), HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    expect_woken(&w);
    EXPECT_IS(want(&carol, "job", ALONE), HF_OK);
}

TEST_IF(has(HF_CAP_SHARED | HF_CAP_WAIT),
        a_reader_behind_a_writers_ticket_is_woken_when_it_goes)
{
    JOB_AS(SHARED, alice, bob, carol);
    struct waiting w;

    EXPECT_IS(want(&carol, "job", ALONE), HF_BUSY);
    EXPECT_IS(want(&bob, "job", SHARED), HF_BUSY);
    watch_name(&w, &bob, "job");
    start_waiting(&w);
    EXPECT_IS(release(&carol, "job"), HF_LOST);
    expect_woken(&w);
    EXPECT_IS(want(&bob, "job", SHARED), HF_OK);
}
