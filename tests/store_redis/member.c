/* SPDX-License-Identifier: MIT */
/*
 * What only a quorum's member is asked: fences that others would like, grants
 * made anew, what was given back and arrives late, what is undone.
 */
#include "tests/store_redis/asking.h"

#include <string.h>

static int ask_as_member(enum hf__op_kind kind, int who, uint64_t fence,
                         uint64_t *ret_fence)
{
    struct hf__op op = asked(kind, who);
    int r;

    op.fence = fence;
    r = tell(&op,
             &(struct hf__ask){.client = 1,
                               .recreates = true,
                               .proposal = kind == HF__OP_ACQUIRE ? fence : 0});
    *ret_fence = op.fence;
    return r;
}

TEST(a_proposal_is_taken_if_it_is_near_the_clock)
{
    uint64_t near = 0;
    uint64_t fence = 0;
    bool is_taken = false;
    AUTO_CONNECTION *c = connect_to_store();

    /* Unless the machine takes longer than it is ahead. */
    for (int i = 0; i < 200 && !is_taken; i++) {
        near = (uint64_t)hf__wall_us() + 20000;
        EXPECT_IS(ask_as_member(HF__OP_ACQUIRE, 1 + i, near, &fence), HF_OK);
        is_taken = fence == near;
        EXPECT_IS(ask_as_member(HF__OP_RELEASE, 1 + i, fence, &fence), HF_OK);
        hf__test_pause_ms(25);
    }
    EXPECT(is_taken);
    EXPECT_IS(ask_as_member(HF__OP_ACQUIRE, 250, near + 3600000000, &fence),
              HF_OK);
    EXPECT_LESS(fence, near + 3600000000);
    EXPECT_SAFE_MORE(fence, near);
}

TEST(a_member_that_forgot_is_told_by_a_renewal)
{
    uint64_t fence = 0;
    uint64_t later = 0;
    AUTO_CONNECTION *c = connect_to_store();

    EXPECT_IS(ask_as_member(HF__OP_ACQUIRE, 1, 0, &fence), HF_OK);
    hf__redis_command(server(), "DEL %s", record("job"));
    EXPECT_IS(ask_as_member(HF__OP_RENEW, 1, fence, &later), HF_OK);
    EXPECT_IS(later, fence);
    EXPECT_IS(ask_as_member(HF__OP_ACQUIRE, 2, 0, &later), HF_BUSY);
    /* Not what was released … */
    EXPECT_IS(ask_as_member(HF__OP_RELEASE, 1, fence, &later), HF_OK);
    EXPECT_IS(ask_as_member(HF__OP_RENEW, 1, fence, &later), HF_LOST);
    /* … nor what somebody has had since. */
    EXPECT_IS(ask_as_member(HF__OP_ACQUIRE, 2, 0, &fence), HF_OK);
    EXPECT_IS(ask_as_member(HF__OP_ACQUIRE, 3, 0, &later), HF_BUSY);
    EXPECT_IS(ask_as_member(HF__OP_RENEW, 3, fence - 1, &later), HF_LOST);
}

/* As of a claim whose answer was lost. */
static int give_back(int who)
{
    struct hf__op op = asked(HF__OP_RELEASE, who);

    op.reopens = true;
    op.is_unanswered = true;
    return tell(&op, &(struct hf__ask){.client = 1});
}

/* A give-back of a claim whose answer was lost overtakes it. */
TEST(what_was_given_back_does_not_arrive)
{
    struct hf__ask plain = {.client = 1};
    struct hf__op stale = asked(HF__OP_ACQUIRE, 1);
    struct hf__op other = asked(HF__OP_ACQUIRE, 2);
    AUTO_CONNECTION *c = connect_to_store();

    EXPECT_IS(give_back(1), HF_LOST);
    EXPECT_IS(tell(&stale, &plain), HF_EUNAVAIL);
    EXPECT_IS(tell(&other, &plain), HF_OK);
    EXPECT_IS(tell(&stale, &plain), HF_EUNAVAIL);
}

/* Nor does one that stood in line. */
TEST(a_place_that_was_given_back_does_not_arrive)
{
    struct hf__ask plain = {.client = 1};
    struct hf__op first = asked(HF__OP_ACQUIRE, 1);
    struct hf__op stale = asked(HF__OP_ACQUIRE, 2);
    AUTO_CONNECTION *c = connect_to_store();

    stale.queueing = HF__QUEUE_ALWAYS;
    EXPECT_IS(tell(&first, &plain), HF_OK);
    EXPECT_IS(tell(&stale, &plain), HF_BUSY);
    EXPECT_IS(give_back(2), HF_LOST);
    first.kind = HF__OP_RELEASE;
    EXPECT_IS(tell(&first, &plain), HF_OK);
    EXPECT_IS(tell(&stale, &plain), HF_EUNAVAIL);
}

/* Nor is it handed over to. */
TEST(who_was_given_back_inherits_nothing)
{
    struct hf__ask plain = {.client = 1};
    struct hf__op holder = asked(HF__OP_ACQUIRE, 1);
    struct hf__op stale = asked(HF__OP_HANDOVER, 1);
    AUTO_CONNECTION *c = connect_to_store();

    stale.next_token = asked(HF__OP_RELEASE, 2).token;
    EXPECT_IS(tell(&holder, &plain), HF_OK);
    EXPECT_IS(give_back(2), HF_LOST);
    EXPECT_IS(tell(&stale, &plain), HF_BUSY);
    holder.queueing = HF__QUEUE_ALWAYS;
    holder.token = (struct hf__token){{3}};
    EXPECT_IS(tell(&holder, &plain), HF_BUSY); /* now there is a line */
    EXPECT_IS(tell(&stale, &plain), HF_BUSY);
    holder.kind = HF__OP_RELEASE;
    EXPECT_IS(tell(&holder, &plain), HF_LOST);
    EXPECT_IS(tell(&stale, &plain), HF_BUSY);
}

/* What others give back does not push it out. */
TEST(a_hundred_that_were_given_back_are_all_remembered)
{
    struct hf__ask plain = {.client = 1};
    struct hf__op op;
    uint64_t fence;
    AUTO_CONNECTION *c = connect_to_store();

    for (int i = 0; i < 100; i++) {
        EXPECT_IS(give_back(1 + i), HF_LOST);
    }
    for (int i = 0; i < 1200; i++) { /* those for the shorter time go first */
        op = asked(HF__OP_RELEASE, 200);
        op.token.bytes[2] = (unsigned char)(i % 256);
        op.token.bytes[3] = (unsigned char)(i / 256);
        op.fence = 1;
        EXPECT_IS(tell(&op, &(struct hf__ask){.client = 1, .recreates = true}),
                  HF_LOST);
    }
    EXPECT_IS((int)strlen(record_says("job", "void")), 1024 * 50 - 1);
    for (int i = 0; i < 100; i++) {
        op = asked(HF__OP_ACQUIRE, 1 + i);
        EXPECT_IS(tell(&op, &plain), HF_EUNAVAIL);
    }
    EXPECT_IS(ask_as_member(HF__OP_ACQUIRE, 250, 0, &fence), HF_OK);
}

/* ---- attempts that came to nothing, one on top of another */

/* A quorum's attempt, granted here for so long. */
static uint64_t attempt_for(int who, int64_t lease_ms)
{
    struct hf__op op = asked(HF__OP_ACQUIRE, who);

    op.lease_us = lease_ms * 1000;
    EXPECT_IS(tell(&op, &(struct hf__ask){.client = 1,
                                          .proposal =
                                              (uint64_t)hf__wall_us() + 1000}),
              HF_OK);
    return op.fence;
}

/* … whose lease is over. */
static uint64_t lapsed_attempt(int who)
{
    uint64_t fence = attempt_for(who, 20);

    hf__test_pause_ms(40);
    return fence;
}

static int undo(int who)
{
    struct hf__op op = asked(HF__OP_RELEASE, who);

    op.fence = 1;
    op.reopens = true;
    return tell(&op, &(struct hf__ask){.client = 1, .undoes = true});
}

static int renew_as_holder(int who, uint64_t fence)
{
    uint64_t now = 0;

    return ask_as_member(HF__OP_RENEW, who, fence, &now);
}

TEST(an_attempt_that_is_made_twice_is_undone_as_one)
{
    AUTO_CONNECTION *c = connect_to_store();
    uint64_t holders = lapsed_attempt(1);

    (void)lapsed_attempt(2);
    (void)attempt_for(2, 30000);
    EXPECT_IS(undo(2), HF_OK);
    EXPECT_IS(renew_as_holder(1, holders), HF_OK);
}

TEST(attempts_on_top_of_one_another_are_undone_in_any_number)
{
    AUTO_CONNECTION *c = connect_to_store();
    uint64_t holders = lapsed_attempt(1);
    uint64_t last;

    (void)lapsed_attempt(2);
    (void)lapsed_attempt(3);
    last = attempt_for(4, 30000);
    EXPECT_IS(undo(4), HF_OK);
    EXPECT_IS(undo(3), HF_OK);
    EXPECT_IS(renew_as_holder(1, holders), HF_LOST); /* 2 may be granted */
    EXPECT_IS(undo(2), HF_OK);
    EXPECT_IS(renew_as_holder(1, holders), HF_OK);
    EXPECT_IS(ask_as_member(HF__OP_RELEASE, 1, holders, &holders), HF_OK);
    /* As if the clock had been set back by an hour since. */
    last += UINT64_C(3600000000);
    hf__redis_command(server(), "HSET %s top %llu", record("job"),
                      (unsigned long long)last);
    EXPECT_SAFE_MORE(attempt_for(5, 30000), last);
}

/* However long after, so not by what is remembered of it for a minute. */
TEST(who_released_meanwhile_is_not_the_owner_of_what_is_undone)
{
    AUTO_CONNECTION *c = connect_to_store();
    uint64_t holders = lapsed_attempt(1);
    uint64_t told = 0;

    (void)attempt_for(2, 30000);
    EXPECT_IS(ask_as_member(HF__OP_RELEASE, 1, holders, &told), HF_LOST);
    EXPECT_IS(undo(2), HF_OK);
    hf__redis_command(server(), "HDEL %s void", record("job"));
    EXPECT_IS(renew_as_holder(1, holders), HF_LOST);
}

/* A member need not remember what its record shows. */
TEST(a_members_release_leaves_no_token_behind)
{
    uint64_t fence = 0;
    uint64_t later = 0;
    AUTO_CONNECTION *c = connect_to_store();

    EXPECT_IS(ask_as_member(HF__OP_ACQUIRE, 1, 0, &fence), HF_OK);
    /* The others gave a higher one, and this one has not heard of it. */
    EXPECT_IS(ask_as_member(HF__OP_RELEASE, 1, fence + 5, &later), HF_OK);
    EXPECT_TEXT(record_says("job", "void"), "");
    EXPECT_IS(ask_as_member(HF__OP_RENEW, 1, fence + 5, &later), HF_LOST);
}
