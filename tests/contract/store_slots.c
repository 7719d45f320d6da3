/* SPDX-License-Identifier: MIT */
/*
 * Every store with slots: at most N grants of a name, each with the lowest
 * number that is free. What they have in common with shared grants is in
 * store_beside.c and store_several.c.
 */
#include "tests/contract/vocabulary_crowd.h"

TEST_IF(has(HF_CAP_SLOTS),
        slots_are_given_lowest_first_and_no_more_than_there_are)
{
    JOB_AS(SLOT_OF(3), alice, bob, carol, dave);
    struct scene s;

    EXPECT_IS(alice.slot, 0);
    EXPECT_IS(try_as(&bob, "job", SLOT_OF(3)), HF_OK);
    EXPECT_IS(bob.slot, 1);
    EXPECT_IS(try_as(&carol, "job", SLOT_OF(3)), HF_OK);
    EXPECT_IS(carol.slot, 2);
    EXPECT_IS(try_as(&dave, "job", SLOT_OF(3)), HF_BUSY);
    EXPECT_IS(dave.slot, -1);
    EXPECT(dave.record.is_held);
    EXPECT_IS(dave.record.lock_mode.slots, 3);
    EXPECT_IS(release(&bob, "job"), HF_OK);
    EXPECT_IS(try_as(&dave, "job", SLOT_OF(3)), HF_OK);
    EXPECT_IS(dave.slot, 1);
    look_around(&alice, "job", &s);
    EXPECT_IS(s.n_holders, 3);
    for (int i = 0; i < 3; i++) {
        EXPECT_IS(s.crowd.list[i].record.slot, i);
        EXPECT_IS(s.crowd.list[i].record.lock_mode.mode, HF__MODE_SLOTS);
        EXPECT_IS(s.crowd.list[i].record.lock_mode.slots, 3);
    }
    EXPECT_TEXT(s.crowd.list[1].record.owner.label, "dave");
    hf__participant_list_free(&s.crowd);
}

TEST_IF(has(HF_CAP_SLOTS), a_slot_stays_with_its_grant)
{
    JOB_AS(SLOT_OF(2), alice, bob);
    EXPECT_IS(try_as(&bob, "job", SLOT_OF(2)), HF_OK);
    uint64_t fence = bob.fence;
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(try_as(&bob, "job", SLOT_OF(2)), HF_OK);
    EXPECT_IS(bob.slot, 1);
    EXPECT_IS(bob.fence, fence);
    EXPECT_IS(renew(&bob, "job"), HF_OK);
    EXPECT_IS(bob.slot, 1);
}

TEST_IF(has(HF_CAP_SLOTS), who_waits_for_the_one_slot_leaves_no_ticket)
{
    JOB_AS(SLOT_OF(1), alice, bob);
    EXPECT_IS(alice.slot, 0);
    EXPECT_IS(want(&bob, "job", SLOT_OF(1)), HF_BUSY);
    EXPECT(!bob.is_queued);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(try_as(&bob, "job", SLOT_OF(1)), HF_OK);
}

TEST_IF(has(HF_CAP_SLOTS), another_number_of_slots_is_refused_while_one_is_held)
{
    PARTIES(alice, bob);

    EXPECT_IS(try_for(&alice, "job", SLOT_OF(7), slowly(300)), HF_OK);
    EXPECT_IS(want(&bob, "job", SLOT_OF(4)), HF_EINVAL);
    EXPECT_HAS(bob.error.text, "\"job\"");
    EXPECT_HAS(bob.error.text, "7");
    EXPECT_HAS(bob.error.text, "4");
    EXPECT(!bob.is_queued);
    expect_around(&bob, "job", 1, 0);
    fall_silent(&alice);
    until_free(&bob, "job");
    EXPECT_IS(want(&bob, "job", SLOT_OF(4)), HF_OK);
    EXPECT_IS(release(&bob, "job"), HF_OK);
    EXPECT_IS(try_as(&alice, "job", SLOT_OF(7)), HF_OK);
}

TEST_IF(has(HF_CAP_SLOTS), slots_stand_beside_slots_alone)
{
    JOB_AS(SLOT_OF(3), alice, bob);
    EXPECT_IS(try_as(&bob, "job", ALONE), HF_BUSY);
    if (has(HF_CAP_SHARED)) {
        EXPECT_IS(try_as(&bob, "job", SHARED), HF_BUSY);
        EXPECT_IS(try_as(&bob, "shared", SHARED), HF_OK);
        EXPECT_IS(try_as(&alice, "shared", SLOT_OF(3)), HF_BUSY);
    }
    EXPECT_IS(try_as(&bob, "alone", ALONE), HF_OK);
    EXPECT_IS(try_as(&alice, "alone", SLOT_OF(3)), HF_BUSY);
}

TEST_IF(has(HF_CAP_SLOTS), an_expired_slot_is_used_again)
{
    PARTIES(alice, bob, carol);

    EXPECT_IS(try_for(&alice, "job", SLOT_OF(2), slowly(300)), HF_OK);
    EXPECT_IS(try_as(&bob, "job", SLOT_OF(2)), HF_OK);
    EXPECT_IS(try_as(&carol, "job", SLOT_OF(2)), HF_BUSY);
    EXPECT_TEXT(carol.record.owner.label, "alice");
    fall_silent(&alice);
    until_granted(&carol, "job", SLOT_OF(2));
    EXPECT_IS(carol.slot, 0);
    EXPECT_SAFE_MORE(carol.fence, fence_of(&bob, "job"));
    EXPECT_IS(renew(&alice, "job"), HF_LOST);
    EXPECT_IS(release(&alice, "job"), HF_LOST);
    EXPECT_IS(renew(&carol, "job"), HF_OK);
    EXPECT_IS(renew(&bob, "job"), HF_OK);
}

TEST_IF(has(HF_CAP_SLOTS | HF_CAP_FENCE), a_broken_slot_is_used_again)
{
    JOB_AS(SLOT_OF(2), alice, bob, carol);
    EXPECT_IS(try_as(&bob, "job", SLOT_OF(2)), HF_OK);
    EXPECT_IS(break_it(&carol, "job", fence_of(&alice, "job")), HF_OK);
    EXPECT_IS(try_as(&carol, "job", SLOT_OF(2)), HF_OK);
    EXPECT_IS(carol.slot, 0);
    EXPECT_IS(renew(&alice, "job"), HF_LOST);
    EXPECT_IS(alice.reason, HF_REASON_BROKEN);
    EXPECT_IS(renew(&carol, "job"), HF_OK);
}

TEST_IF(has(HF_CAP_SLOTS | HF_CAP_FENCE), fences_rise_over_all_slots)
{
    PARTIES(alice, bob);
    uint64_t last = 0;

    for (int i = 0; i < 5; i++) {
        EXPECT_IS(try_as(&alice, "job", SLOT_OF(2)), HF_OK);
        EXPECT_SAFE_MORE(alice.fence, last);
        EXPECT_IS(try_as(&bob, "job", SLOT_OF(2)), HF_OK);
        EXPECT_SAFE_MORE(bob.fence, alice.fence);
        last = bob.fence;
        EXPECT_IS(release(&alice, "job"), HF_OK);
        EXPECT_IS(release(&bob, "job"), HF_OK);
    }
}

TEST_IF(has(HF_CAP_SLOTS | HF_CAP_FAIR),
        as_many_in_line_enter_as_there_are_slots)
{
    JOB_AS(SLOT_OF(2), alice, bob, carol, dave, erin);
    EXPECT_IS(try_as(&bob, "job", SLOT_OF(2)), HF_OK);
    EXPECT_IS(queue_up(&carol, "job", SLOT_OF(2)), HF_BUSY);
    EXPECT_IS(queue_up(&dave, "job", SLOT_OF(2)), HF_BUSY);
    EXPECT_IS(queue_up(&erin, "job", SLOT_OF(2)), HF_BUSY);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(queue_up(&dave, "job", SLOT_OF(2)), HF_BUSY);
    EXPECT_IS(try_as(&alice, "job", SLOT_OF(2)), HF_BUSY);
    EXPECT_IS(release(&bob, "job"), HF_OK);
    EXPECT_IS(queue_up(&erin, "job", SLOT_OF(2)), HF_BUSY);
    EXPECT_IS(queue_up(&dave, "job", SLOT_OF(2)), HF_OK);
    EXPECT_IS(queue_up(&erin, "job", SLOT_OF(2)), HF_BUSY);
    EXPECT_IS(queue_up(&carol, "job", SLOT_OF(2)), HF_OK);
    EXPECT_NOT(dave.slot, carol.slot);
    EXPECT_IS(queue_up(&erin, "job", SLOT_OF(2)), HF_BUSY);
    EXPECT_IS(release(&carol, "job"), HF_OK);
    EXPECT_IS(queue_up(&erin, "job", SLOT_OF(2)), HF_OK);
}

TEST_IF(has(HF_CAP_SLOTS), who_waits_behind_slots_stops_those_who_come_later)
{
    JOB_AS(SLOT_OF(2), alice, bob, carol);
    EXPECT_IS(want(&carol, "job", ALONE), HF_BUSY);
    EXPECT(carol.is_queued);
    EXPECT_IS(want(&bob, "job", SLOT_OF(2)), HF_BUSY);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(try_as(&bob, "job", SLOT_OF(2)), HF_BUSY);
    EXPECT_IS(want(&carol, "job", ALONE), HF_OK);
}

TEST_IF(has(HF_CAP_SLOTS | HF_CAP_WAIT), a_freed_slot_wakes_who_waits)
{
    PARTIES(alice, bob, carol);
    struct waiting w;

    EXPECT_IS(try_for(&alice, "job", SLOT_OF(2), 10000), HF_OK);
    EXPECT_IS(try_for(&bob, "job", SLOT_OF(2), 20000), HF_OK);
    EXPECT_IS(want(&carol, "job", SLOT_OF(2)), HF_BUSY);
    EXPECT_TEXT(carol.record.owner.label, "alice");
    watch_name(&w, &carol, "job");
    start_waiting(&w);
    EXPECT_IS(release(&bob, "job"), HF_OK); /* not the one that was seen */
    expect_woken(&w);
    EXPECT_IS(want(&carol, "job", SLOT_OF(2)), HF_OK);
    EXPECT_IS(carol.slot, 1);
}

TEST_IF(has(HF_CAP_SLOTS | HF_CAP_LIST), a_list_has_each_slot)
{
    PARTIES(alice, bob);
    struct listing all = {0};

    EXPECT_IS(try_as(&bob, "job", SLOT_OF(2)), HF_OK);
    EXPECT_IS(try_as(&alice, "job", SLOT_OF(2)), HF_OK);
    EXPECT_IS(release(&bob, "job"), HF_OK);
    EXPECT_IS(try_as(&bob, "job", SLOT_OF(2)), HF_OK);
    EXPECT_IS(list(&alice, "", &all), HF_OK);
    EXPECT_IS(all.count, 2);
    for (int i = 0; i < 2; i++) {
        EXPECT_TEXT(all.names[i], "job");
        EXPECT_IS(all.records[i].slot, i);
        EXPECT_IS(all.records[i].lock_mode.slots, 2);
    }
    EXPECT_TEXT(all.records[0].owner.label, "bob");
}

/* Many at once, all of whose numbers are in use. */
TEST_IF(has(HF_CAP_SLOTS), the_most_slots_are_told_apart)
{
    enum { N = 64 };
    static struct party all[N];
    bool is_used[N] = {false};

    for (int i = 0; i < N; i++) {
        join(&all[i], "one of many");
        EXPECT_IS(try_as(&all[i], "job", SLOT_OF(N)), HF_OK);
        EXPECT(all[i].slot >= 0 && all[i].slot < N);
        EXPECT(!is_used[all[i].slot]);
        is_used[all[i].slot] = true;
    }
    PARTY(late);
    EXPECT_IS(try_as(&late, "job", SLOT_OF(N)), HF_BUSY);
    expect_around(&late, "job", N, 0);
    for (int i = 0; i < N; i++) {
        give_back_and_leave(&all[i]);
    }
}
