/* SPDX-License-Identifier: MIT */
/*
 * Stores that keep a record of a grant: whether it was given back, or broken,
 * or ran out, is told to who is granted the name next, and when the record is
 * deleted.
 */
#include "tests/contract/vocabulary_crowd.h"

/* All that is idle goes: so many, of which so many had expired. */
static void expect_collected(struct party *p, uint64_t count, uint64_t expired)
{
    uint64_t found = 0;

    hf__test_pause_ms(5);
    EXPECT_IS(collect_garbage(p, 0, &found), HF_OK);
    EXPECT_IS(found, count);
    EXPECT_IS(p->expired, expired);
}

static void let_expire(struct party *p, const char *name)
{
    EXPECT_IS(acquire_for(p, name, 100), HF_OK);
    until_free(p, name);
}

/* A grant that is one as any other. */
static void expect_succession(struct party *p, const char *name)
{
    EXPECT_IS(acquire(p, name), HF_OK);
    EXPECT(!p->took_over);
}

/* ---- who comes next */

TEST_IF(tells_ends(), a_grant_after_one_that_ran_out_is_a_takeover)
{
    PARTIES(alice, bob);

    let_expire(&alice, "job");
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
    EXPECT(bob.took_over);
    /* The same claim, asked for again. */
    expect_succession(&bob, "job");
    EXPECT_IS(release(&bob, "job"), HF_OK);
    expect_succession(&alice, "job");
}

TEST_IF(tells_ends(), what_was_never_held_or_was_given_back_is_not_taken_over)
{
    PARTIES(alice, bob);

    expect_succession(&alice, "job");
    EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
    EXPECT(!bob.took_over);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    expect_succession(&bob, "job");
}

TEST_IF(tells_ends(), what_was_given_back_late_is_not_taken_over)
{
    PARTIES(alice, bob);

    let_expire(&alice, "job");
    EXPECT_IS(release(&alice, "job"), HF_OK);
    expect_succession(&bob, "job");
}

TEST_IF(tells_ends(), what_was_broken_is_not_taken_over)
{
    PARTIES(alice, bob);

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(break_it(&bob, "job", 0), HF_OK);
    expect_succession(&bob, "job");
}

TEST_IF(tells_ends(), ones_own_claim_that_ran_out_is_not_taken_over)
{
    PARTY(alice);
    struct request rq;

    let_expire(&alice, "job");
    ask(&alice, &rq, HF__OP_ACQUIRE, "job");
    EXPECT_IS(send_batch(&alice, &rq, 1), HF_OK);
    EXPECT_IS(rq.op.result, HF_OK);
    EXPECT(!rq.op.took_over);
}

TEST_IF(tells_ends() && has(HF_CAP_KEEP),
        what_ran_out_and_stayed_closed_is_taken_over_later)
{
    PARTIES(alice, bob);

    EXPECT_IS(acquire_and_keep(&alice, "job", 100, 300), HF_OK);
    until_free(&bob, "job");
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
    EXPECT(bob.took_over);
}

TEST_IF(tells_ends() && has(HF_CAP_HANDOVER),
        what_was_handed_over_is_taken_over_if_that_ran_out)
{
    PARTIES(alice, bob, carol);

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(hand_over(&alice, "job", &bob), HF_OK);
    EXPECT_IS(renew_for(&bob, "job", 100), HF_OK);
    until_free(&carol, "job");
    EXPECT_IS(acquire(&carol, "job"), HF_OK);
    EXPECT(carol.took_over);
}

TEST_IF(tells_ends() && has(HF_CAP_SHARED),
        shared_grants_are_taken_over_once_they_have_run_out)
{
    PARTIES(alice, bob, carol, dave);

    EXPECT_IS(try_as(&bob, "job", SHARED), HF_OK);
    EXPECT_IS(try_for(&alice, "job", SHARED, slowly(100)), HF_OK);
    EXPECT(!alice.took_over);
    until_held_by(&bob, "job", 1);
    EXPECT_IS(try_as(&carol, "job", SHARED), HF_OK);
    EXPECT(carol.took_over);
    EXPECT_IS(try_as(&dave, "job", SHARED), HF_OK);
    EXPECT(!dave.took_over);
}

TEST_IF(tells_ends() && has(HF_CAP_SHARED), who_is_alone_takes_over_the_shared)
{
    PARTIES(alice, bob, carol);

    EXPECT_IS(try_as(&bob, "job", SHARED), HF_OK);
    EXPECT_IS(try_for(&alice, "job", SHARED, slowly(100)), HF_OK);
    EXPECT_IS(release(&bob, "job"), HF_OK);
    until_free(&carol, "job");
    EXPECT_IS(acquire(&carol, "job"), HF_OK);
    EXPECT(carol.took_over);
    EXPECT_IS(release(&carol, "job"), HF_OK);
    expect_succession(&bob, "job");
}

TEST_IF(tells_ends() && has(HF_CAP_SHARED), who_shares_takes_over_who_was_alone)
{
    PARTIES(alice, bob);

    let_expire(&alice, "job");
    EXPECT_IS(try_as(&bob, "job", SHARED), HF_OK);
    EXPECT(bob.took_over);
}

TEST_IF(tells_ends() && has(HF_CAP_SHARED),
        shared_grants_given_back_or_broken_are_not_taken_over)
{
    PARTIES(alice, bob, carol);

    EXPECT_IS(try_as(&alice, "job", SHARED), HF_OK);
    EXPECT_IS(try_for(&bob, "job", SHARED, slowly(300)), HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(break_it(&carol, "job", 0), HF_OK);
    expect_succession(&carol, "job");
    EXPECT_IS(release(&carol, "job"), HF_OK);
    /* The broken one is gone when its lease would have ended. */
    hf__test_pause_ms(slowly(350));
    expect_succession(&carol, "job");
}

TEST_IF(tells_ends() && has(HF_CAP_SLOTS), a_slot_is_taken_over)
{
    PARTIES(alice, bob, carol);

    EXPECT_IS(try_as(&bob, "job", SLOT_OF(2)), HF_OK);
    EXPECT_IS(try_for(&alice, "job", SLOT_OF(2), slowly(100)), HF_OK);
    until_held_by(&bob, "job", 1);
    EXPECT_IS(try_as(&carol, "job", SLOT_OF(2)), HF_OK);
    EXPECT_IS(carol.slot, alice.slot);
    EXPECT(carol.took_over);
}

/* Raised by hand, say: no clock is of help there. */
TEST_IF(tells_ends() && has(HF_CAP_FENCE),
        what_ran_out_with_a_fence_ahead_of_the_clock_is_taken_over)
{
    PARTIES(alice, bob);

    EXPECT_IS(acquire_for(&alice, "job", slowly(200)), HF_OK);
    EXPECT_IS(raise_to(&alice, "job", alice.fence + 3600000000U), HF_OK);
    until_free(&alice, "job");
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
    EXPECT(bob.took_over);
    expect_succession(&bob, "job");
    EXPECT_IS(release(&bob, "job"), HF_OK);
    expect_succession(&alice, "job");
}

enum { NAMES = 8 };

/* Names that are there, of which those with a bit in `left` have run out. */
static void expect_batch(struct party *old, struct party *next, unsigned left)
{
    static struct request rq[NAMES];
    char name[8];

    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "n%d", i);
        EXPECT_IS(acquire_for(old, name, 100), HF_OK);
    }
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "n%d", i);
        if ((left & (1U << i)) == 0) {
            EXPECT_IS(release(old, name), HF_OK);
        } else {
            until_free(old, name);
        }
        ask(next, &rq[i], HF__OP_ACQUIRE, name);
    }
    EXPECT_IS(send_batch(next, rq, NAMES), HF_OK);
    for (int i = 0; i < NAMES; i++) {
        EXPECT_IS(rq[i].op.result, HF_OK);
        EXPECT_IS(rq[i].op.took_over, (left >> i) & 1);
        EXPECT_MORE(rq[i].op.fence, 0);
    }
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "n%d", i);
        EXPECT_IS(release(next, name), HF_OK);
    }
}

TEST_IF(tells_ends(), of_several_each_is_told_whether_it_was_taken_over)
{
    PARTIES(alice, bob);

    expect_batch(&alice, &bob, 0);
    expect_batch(&alice, &bob, 0x01);
    expect_batch(&alice, &bob, 0x80);
    expect_batch(&alice, &bob, 0x4a);
    expect_batch(&alice, &bob, 0xff);
}

/* ---- who deletes the record */

TEST_IF(tells_ends(), what_expired_is_told_from_what_was_released)
{
    PARTIES(alice, bob);

    EXPECT_IS(acquire_for(&alice, "expired", 100), HF_OK);
    EXPECT_IS(acquire_for(&alice, "late", 100), HF_OK);
    EXPECT_IS(acquire(&alice, "released"), HF_OK);
    EXPECT_IS(acquire(&alice, "broken"), HF_OK);
    EXPECT_IS(release(&alice, "released"), HF_OK);
    EXPECT_IS(break_it(&bob, "broken", 0), HF_OK);
    until_free(&bob, "expired");
    until_free(&bob, "late");
    EXPECT_IS(release(&alice, "late"), HF_OK);
    expect_collected(&bob, 4, 1);
    expect_collected(&bob, 0, 0);
    expect_succession(&bob, "expired"); /* nobody knows any more */
}

TEST_IF(tells_ends(), what_was_taken_over_and_released_has_not_expired)
{
    PARTIES(alice, bob);

    let_expire(&alice, "job");
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
    EXPECT_IS(release(&bob, "job"), HF_OK);
    expect_collected(&bob, 1, 0);
}

TEST_IF(tells_ends() && has(HF_CAP_SHARED),
        shared_grants_that_ran_out_are_one_record)
{
    PARTIES(alice, bob, carol);

    EXPECT_IS(try_for(&alice, "all", SHARED, 100), HF_OK);
    EXPECT_IS(try_for(&bob, "all", SHARED, 100), HF_OK);
    EXPECT_IS(try_for(&alice, "one", SHARED, 100), HF_OK);
    EXPECT_IS(try_as(&bob, "one", SHARED), HF_OK);
    EXPECT_IS(release(&bob, "one"), HF_OK);
    EXPECT_IS(try_as(&alice, "none", SHARED), HF_OK);
    EXPECT_IS(try_as(&bob, "none", SHARED), HF_OK);
    EXPECT_IS(release(&alice, "none"), HF_OK);
    EXPECT_IS(break_it(&carol, "none", 0), HF_OK);
    until_free(&carol, "all");
    until_free(&carol, "one");
    expect_collected(&carol, 3, 2);
}

TEST_IF(tells_ends() && has(HF_CAP_SLOTS), slots_that_ran_out_are_one_record)
{
    PARTIES(alice, bob);

    EXPECT_IS(try_for(&alice, "all", SLOT_OF(3), 100), HF_OK);
    EXPECT_IS(try_for(&bob, "all", SLOT_OF(3), 100), HF_OK);
    EXPECT_IS(try_as(&alice, "none", SLOT_OF(3)), HF_OK);
    EXPECT_IS(release(&alice, "none"), HF_OK);
    until_free(&bob, "all");
    expect_collected(&bob, 2, 1);
}
