/* SPDX-License-Identifier: MIT */
/*
 * Every store that grants a name to several at once: each grant is for itself,
 * with its lease, its token and its fence, also to who breaks, lists and
 * cleans. Here they are shared ones.
 */
#include "tests/contract/vocabulary_crowd.h"

TEST_IF(has(HF_CAP_SHARED), each_lease_beside_others_ends_for_itself)
{
    PARTIES(alice, bob, carol);

    EXPECT_IS(try_for(&alice, "job", SHARED, slowly(300)), HF_OK);
    EXPECT_IS(try_as(&bob, "job", SHARED), HF_OK);
    fall_silent(&alice);
    until_held_by(&carol, "job", 1);
    EXPECT_TEXT(carol.record.owner.label, "bob");
    EXPECT_IS(renew(&alice, "job"), HF_LOST);
    EXPECT_IS(alice.reason,
              has(HF_CAP_SESSION) ? HF_REASON_SESSION : HF_REASON_EXPIRED);
    EXPECT_IS(renew(&bob, "job"), HF_OK);
    EXPECT_IS(try_as(&carol, "job", ALONE), HF_BUSY);
    EXPECT_IS(release(&bob, "job"), HF_OK);
    EXPECT_IS(try_as(&carol, "job", ALONE), HF_OK);
    EXPECT_IS(renew(&alice, "job"), HF_LOST);
    EXPECT(alice.reason == HF_REASON_TAKEN ||
           (has(HF_CAP_SESSION) && alice.reason == HF_REASON_SESSION));
}

TEST_IF(has(HF_CAP_SHARED | HF_CAP_WAIT),
        an_ended_lease_beside_others_wakes_who_waits)
{
    PARTIES(alice, bob, carol);
    struct waiting w;

    EXPECT_IS(try_for(&alice, "job", SHARED, slowly(300)), HF_OK);
    EXPECT_IS(try_for(&bob, "job", SHARED, slowly(500)), HF_OK);
    EXPECT_IS(want(&carol, "job", ALONE), HF_BUSY);
    watch_name(&w, &carol, "job");
    start_waiting(&w);
    fall_silent(&alice);
    fall_silent(&bob);
    expect_woken(&w);
    EXPECT_IS(want(&carol, "job", ALONE), HF_OK);
}

TEST_IF(!has(HF_CAP_SESSION) && has(HF_CAP_SHARED),
        a_renewal_beside_others_is_of_ones_own_lease)
{
    PARTIES(alice, bob);
    struct scene s;

    EXPECT_IS(try_for(&alice, "job", SHARED, 5000), HF_OK);
    EXPECT_IS(try_for(&bob, "job", SHARED, 5000), HF_OK);
    EXPECT_IS(renew_for(&alice, "job", 60000), HF_OK);
    look_around(&alice, "job", &s);
    EXPECT_IS(s.n_holders, 2);
    EXPECT_MORE(s.crowd.list[0].record.remaining_us, 30000000);
    EXPECT_LESS(s.crowd.list[1].record.remaining_us, 5000001);
    hf__participant_list_free(&s.crowd);
    EXPECT_TEXT(alice.record.owner.label, "bob"); /* the first to end */
    EXPECT_LESS(alice.record.remaining_us, 5000001);
    EXPECT_IS(alice.record.fence, fence_of(&bob, "job"));
}

TEST_IF(has(HF_CAP_SHARED), a_release_beside_others_is_of_ones_own_grant)
{
    JOB_AS(SHARED, alice, bob, carol);
    EXPECT_IS(try_as(&bob, "job", SHARED), HF_OK);
    EXPECT_IS(release(&carol, "job"), HF_LOST);
    EXPECT_IS(renew(&carol, "job"), HF_LOST);
    expect_around(&carol, "job", 2, 0);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_LOST);
    EXPECT_IS(renew(&alice, "job"), HF_LOST);
    EXPECT(alice.record.is_held);
    EXPECT_IS(renew(&bob, "job"), HF_OK);
    expect_around(&carol, "job", 1, 0);
}

TEST_IF(!has(HF_CAP_SESSION) && has(HF_CAP_SHARED),
        an_expired_grant_beside_others_can_be_released)
{
    PARTIES(alice, bob);

    EXPECT_IS(try_for(&alice, "job", SHARED, slowly(200)), HF_OK);
    EXPECT_IS(try_as(&bob, "job", SHARED), HF_OK);
    until_held_by(&bob, "job", 1);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_LOST);
}

TEST_IF(has(HF_CAP_SHARED | HF_CAP_FENCE),
        fences_rise_over_all_grants_of_a_name)
{
    PARTIES(alice, bob, carol);
    uint64_t last = 0;

    for (int i = 0; i < 5; i++) {
        EXPECT_IS(try_as(&alice, "job", SHARED), HF_OK);
        EXPECT_SAFE_MORE(alice.fence, last);
        EXPECT_IS(try_as(&bob, "job", SHARED), HF_OK);
        EXPECT_SAFE_MORE(bob.fence, alice.fence);
        EXPECT_IS(release(&alice, "job"), HF_OK);
        EXPECT_IS(try_as(&alice, "job", SHARED), HF_OK);
        EXPECT_SAFE_MORE(alice.fence, bob.fence);
        EXPECT_IS(release(&alice, "job"), HF_OK);
        EXPECT_IS(release(&bob, "job"), HF_OK);
        EXPECT_IS(try_as(&carol, "job", ALONE), HF_OK);
        EXPECT_SAFE_MORE(carol.fence, fence_of(&alice, "job"));
        last = carol.fence;
        EXPECT_IS(release(&carol, "job"), HF_OK);
    }
}

TEST_IF(!has(HF_CAP_SESSION) && has(HF_CAP_SHARED | HF_CAP_FENCE),
        a_fence_raised_beside_others_is_unlike_theirs)
{
    JOB_AS(SHARED, alice, bob, carol);
    EXPECT_IS(try_as(&bob, "job", SHARED), HF_OK);
    EXPECT_IS(raise_to(&alice, "job", fence_of(&bob, "job")), HF_OK);
    EXPECT_SAFE_MORE(alice.fence, fence_of(&bob, "job"));
    uint64_t high = alice.fence + 1000000000;
    EXPECT_IS(raise_to(&bob, "job", high), HF_OK);
    EXPECT_IS(bob.fence, high);
    EXPECT_IS(raise_to(&bob, "job", 1), HF_OK);
    EXPECT_IS(bob.fence, high);
    EXPECT_IS(try_as(&carol, "job", SHARED), HF_OK);
    EXPECT_SAFE_MORE(carol.fence, high);
    EXPECT_IS(renew(&alice, "job"), HF_OK);
}

/* ---- breaking */

TEST_IF(has(HF_CAP_SHARED), a_break_without_a_fence_ends_all_grants)
{
    JOB_AS(SHARED, alice, bob, carol);
    EXPECT_IS(try_as(&bob, "job", SHARED), HF_OK);
    EXPECT_IS(break_it(&carol, "job", 0), HF_OK);
    EXPECT_SAFE_MORE(carol.fence, fence_of(&bob, "job"));
    EXPECT(carol.record.is_held);
    EXPECT_IS(renew(&bob, "job"), HF_LOST);
    EXPECT_IS(bob.reason, HF_REASON_BROKEN);
    EXPECT_IS(try_as(&carol, "job", ALONE), HF_OK);
    EXPECT_IS(renew(&alice, "job"), HF_LOST);
    EXPECT_IS(alice.reason, HF_REASON_BROKEN);
    EXPECT_IS(release(&alice, "job"), HF_LOST);
    EXPECT_IS(release(&bob, "job"), HF_LOST);
    EXPECT_IS(renew(&carol, "job"), HF_OK);
}

TEST_IF(has(HF_CAP_SHARED | HF_CAP_FENCE),
        a_break_with_a_fence_ends_that_grant_of_several)
{
    JOB_AS(SHARED, alice, bob, carol, dave);
    EXPECT_IS(try_as(&bob, "job", SHARED), HF_OK);
    EXPECT_IS(try_as(&carol, "job", SHARED), HF_OK);
    EXPECT_IS(break_it(&dave, "job", carol.fence + 7), HF_CONFLICT);
    EXPECT(dave.record.is_held);
    EXPECT_IS(break_it(&dave, "job", fence_of(&alice, "job")), HF_OK);
    EXPECT_TEXT(dave.record.owner.label, "alice");
    EXPECT_IS(dave.record.fence, fence_of(&alice, "job"));
    EXPECT_IS(break_it(&dave, "job", fence_of(&bob, "job")), HF_OK);
    EXPECT_TEXT(dave.record.owner.label, "bob");
    EXPECT_IS(break_it(&dave, "job", fence_of(&bob, "job")), HF_CONFLICT);
    EXPECT_IS(renew(&carol, "job"), HF_OK);
    EXPECT_IS(renew(&alice, "job"), HF_LOST);
    EXPECT_IS(alice.reason, HF_REASON_BROKEN);
    EXPECT_IS(release(&bob, "job"), HF_LOST);
    EXPECT_IS(bob.reason, HF_REASON_BROKEN);
    expect_around(&dave, "job", 1, 0);
}

/* ---- the rest of a store */

TEST_IF(has(HF_CAP_SHARED | HF_CAP_LIST), a_list_has_each_grant_of_a_name)
{
    PARTIES(alice, bob, carol);
    struct listing all = {0};

    EXPECT_IS(try_as(&alice, "b", SHARED), HF_OK);
    EXPECT_IS(try_as(&bob, "b", SHARED), HF_OK);
    EXPECT_IS(try_as(&carol, "a", ALONE), HF_OK);
    EXPECT_IS(try_as(&carol, "c", SHARED), HF_OK);
    EXPECT_IS(want(&carol, "b", ALONE), HF_BUSY);
    EXPECT_IS(list(&alice, "", &all), HF_OK);
    EXPECT_IS(all.count, 4);
    EXPECT_TEXT(all.names[0], "a");
    EXPECT_TEXT(all.names[1], "b");
    EXPECT_TEXT(all.names[2], "b");
    EXPECT_TEXT(all.names[3], "c");
    EXPECT_TEXT(all.records[1].owner.label, "alice");
    EXPECT_IS(all.records[1].fence, fence_of(&alice, "b"));
    EXPECT_TEXT(all.records[2].owner.label, "bob");
    EXPECT_IS(all.records[2].fence, fence_of(&bob, "b"));
    EXPECT_IS(all.records[2].lock_mode.mode, HF__MODE_SHARED);
}

TEST_IF(!has(HF_CAP_SESSION) && has(HF_CAP_SHARED) && cleans(),
        names_with_several_holders_or_a_line_are_not_deleted)
{
    PARTIES(alice, bob, carol);
    uint64_t count = 0;

    EXPECT_IS(try_for(&alice, "shared", SHARED, 100), HF_OK);
    EXPECT_IS(try_as(&bob, "shared", SHARED), HF_OK);
    /* Shorter than a ticket lives that nobody asks for. */
    EXPECT_IS(try_for(&alice, "awaited", SHARED, 500), HF_OK);
    EXPECT_IS(want(&carol, "awaited", ALONE), HF_BUSY);
    until_free(&bob, "awaited");
    EXPECT_IS(collect_garbage(&bob, 0, &count), HF_OK);
    EXPECT_IS(count, 0);
    EXPECT_IS(renew(&bob, "shared"), HF_OK);
    EXPECT_IS(release(&carol, "awaited"), HF_LOST);
    EXPECT_IS(release(&bob, "shared"), HF_OK);
    hf__test_pause_ms(5);
    EXPECT_IS(collect_garbage(&bob, 0, &count), HF_OK);
    EXPECT_IS(count, 2);
}

TEST_IF(has(HF_CAP_SHARED | HF_CAP_DETACH),
        a_grant_beside_others_can_live_by_its_lease_alone)
{
    PARTIES(alice, bob);
    struct request rq;

    ask(&alice, &rq, HF__OP_ACQUIRE, "job");
    rq.op.lock_mode = SHARED;
    rq.op.is_detached = true;
    EXPECT_IS(send_one_request(&alice, &rq), HF_OK);
    EXPECT_IS(try_as(&bob, "job", SHARED), HF_OK);
    ask(&bob, &rq, HF__OP_RENEW, "job");
    rq.op.is_detached = true;
    EXPECT_IS(send_one_request(&bob, &rq), HF_OK);
    rejoin(&alice);
    rejoin(&bob);
    expect_around(&alice, "job", 2, 0);
    EXPECT_IS(renew(&alice, "job"), HF_OK);
    EXPECT_IS(release(&bob, "job"), HF_OK);
}

TEST_IF(has(HF_CAP_SHARED | HF_CAP_HANDOVER), what_is_shared_is_not_handed_over)
{
    JOB_AS(SHARED, alice, bob);
    EXPECT_IS(hand_over(&alice, "job", &bob), HF_BUSY);
    EXPECT_IS(renew(&alice, "job"), HF_OK);
    EXPECT_IS(inspect(&bob, "job"), HF_OK);
    EXPECT_IS(bob.record.fence, fence_of(&alice, "job"));
}
