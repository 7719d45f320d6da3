/* SPDX-License-Identifier: MIT */
/*
 * Every store: who gets a name, who keeps it, who may let it go, and that the
 * fence rises with each grant.
 */
#include "tests/contract/vocabulary.h"

#include <string.h>

TEST(a_second_claim_is_busy_until_the_first_releases)
{
    JOB_OF(alice, bob);
    EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
}

TEST(busy_tells_who_holds_it)
{
    JOB_OF(alice, bob);
    EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
    EXPECT(bob.record.is_held);
    EXPECT(!bob.record.is_kept);
    EXPECT_IS(bob.record.fence, alice.fence);
    EXPECT_TEXT(bob.record.owner.label, "alice");
    EXPECT(hf__token_equal(&bob.record.token, &claim_of(&alice, "job")->token));
}

/* What it was left is its own token, or a new one of which nothing is in doubt:
 * then the store keeps out what still comes of the old one. */
TEST(a_doubtful_claim_that_is_refused_goes_on_with_what_it_was_left)
{
    JOB_OF(alice, bob);
    struct hf__token first = claim_of(&bob, "job")->token;
    struct request rq;
    bool is_unanswered = true;

    ask(&bob, &rq, HF__OP_ACQUIRE, "job");
    rq.op.is_unanswered = is_unanswered;
    EXPECT_IS(send_one_request(&bob, &rq), HF_BUSY);
    is_unanswered = rq.op.is_unanswered;
    EXPECT_IS(hf__token_equal(&rq.op.token, &first), is_unanswered);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    ask(&bob, &rq, HF__OP_ACQUIRE, "job");
    rq.op.is_unanswered = is_unanswered;
    EXPECT_IS(send_one_request(&bob, &rq), HF_OK);
    EXPECT_IS(acquire(&alice, "job"), HF_BUSY);
    EXPECT_IS(release(&bob, "job"), HF_OK);
}

TEST(one_session_does_not_hold_one_name_twice)
{
    JOB_OF(alice);
    struct hf__token first = claim_of(&alice, "job")->token;
    begin_anew(&alice, "job");
    EXPECT_IS(acquire(&alice, "job"), HF_BUSY);
    claim_of(&alice, "job")->token = first;
    EXPECT_IS(release(&alice, "job"), HF_OK);
}

TEST(acquiring_again_with_the_same_token_is_the_same_grant)
{
    JOB_OF(alice);
    uint64_t fence = alice.fence;
    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(alice.fence, fence);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(inspect(&alice, "job"), HF_OK);
    EXPECT(!alice.record.is_held);
}

TEST_IF(!has(HF_CAP_SESSION), acquiring_again_renews_the_lease)
{
    PARTY(alice);

    EXPECT_IS(acquire_for(&alice, "job", 5000), HF_OK);
    EXPECT_IS(acquire_for(&alice, "job", 60000), HF_OK);
    EXPECT_IS(inspect(&alice, "job"), HF_OK);
    EXPECT_MORE(alice.record.remaining_us, 30000000);
}

TEST_IF(!has(HF_CAP_SESSION),
        acquiring_again_from_another_session_is_the_same_grant)
{
    JOB_OF(alice, again);
    claim_of(&again, "job")->token = claim_of(&alice, "job")->token;
    EXPECT_IS(acquire(&again, "job"), HF_OK);
    EXPECT_SAFE(again.fence >= alice.fence);
    /* Who polls a quorum may hear of more: of a member that had not answered.
     */
    EXPECT(again.fence == alice.fence || !has(HF_CAP_WAIT));
}

TEST(a_stranger_cannot_release)
{
    JOB_OF(alice, bob);
    EXPECT_IS(release(&bob, "job"), HF_LOST);
    EXPECT(bob.record.is_held);
    EXPECT_IS(bob.record.fence, alice.fence);
    EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
    EXPECT_IS(renew(&alice, "job"), HF_OK);
}

TEST(a_stranger_cannot_renew)
{
    PARTIES(alice, bob);

    EXPECT_IS(acquire_for(&alice, "job", 5000), HF_OK);
    EXPECT_IS(renew_for(&bob, "job", 60000), HF_LOST);
    EXPECT(bob.record.is_held);
    EXPECT_LESS(bob.record.remaining_us, 5000001);
}

TEST(what_is_released_is_not_ours_any_more)
{
    JOB_OF(alice);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_LOST);
    EXPECT(!alice.record.is_held);
    EXPECT_IS(renew(&alice, "job"), HF_LOST);
    EXPECT_IS(raise_to(&alice, "job", fence_of(&alice, "job") + 5), HF_LOST);
    EXPECT_IS(inspect(&alice, "job"), HF_OK);
    EXPECT(!alice.record.is_held);
    EXPECT(hf__token_is_zero(&alice.record.token));
}

TEST(a_name_that_never_was_is_lost_without_a_fence)
{
    PARTY(alice);

    EXPECT_IS(renew(&alice, "never"), HF_LOST);
    EXPECT_IS(alice.record.fence, 0);
    EXPECT_IS(release(&alice, "never"), HF_LOST);
    EXPECT_IS(alice.record.fence, 0);
    EXPECT(!alice.record.is_held);
    EXPECT_IS(raise_to(&alice, "never", 7), HF_LOST);
    EXPECT_IS(inspect(&alice, "never"), HF_OK);
    EXPECT_IS(alice.record.fence, 0);
}

TEST_IF(!has(HF_CAP_SESSION), a_renewal_makes_the_lease_what_it_says)
{
    PARTY(alice);

    EXPECT_IS(acquire_for(&alice, "job", 5000), HF_OK);
    EXPECT_IS(renew_for(&alice, "job", 60000), HF_OK);
    EXPECT_IS(inspect(&alice, "job"), HF_OK);
    EXPECT_MORE(alice.record.remaining_us, 30000000);
    EXPECT_IS(renew_for(&alice, "job", 5000), HF_OK);
    EXPECT_IS(inspect(&alice, "job"), HF_OK);
    /* Rounded up to a microsecond. */
    EXPECT_LESS(alice.record.remaining_us, 5000002);
}

TEST_IF(has(HF_CAP_FENCE), the_fence_rises_with_each_grant)
{
    PARTIES(alice, bob);
    uint64_t last = 0;

    for (int i = 0; i < 20; i++) {
        struct party *p = i % 3 == 0 ? &alice : &bob;

        EXPECT_IS(acquire(p, "job"), HF_OK);
        EXPECT_SAFE_MORE(p->fence, last);
        EXPECT_LESS(p->fence, INT64_C(1) << 53);
        last = p->fence;
        EXPECT_IS(release(p, "job"), HF_OK);
    }
}

TEST_IF(has(HF_CAP_FENCE), the_fence_stays_when_a_lock_is_released)
{
    JOB_OF(alice);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(inspect(&alice, "job"), HF_OK);
    /* Where it is the server's number, the release has one, too. */
    EXPECT(
        alice.record.fence == fence_of(&alice, "job") ||
        (has(HF_CAP_SESSION) && alice.record.fence > fence_of(&alice, "job")));
}

TEST_IF(has(HF_CAP_FENCE), renewing_leaves_the_fence_alone)
{
    JOB_OF(alice);
    EXPECT_IS(renew(&alice, "job"), HF_OK);
    EXPECT_IS(inspect(&alice, "job"), HF_OK);
    EXPECT_IS(alice.record.fence, fence_of(&alice, "job"));
}

TEST_IF(!has(HF_CAP_SESSION) && has(HF_CAP_FENCE),
        a_raised_fence_is_the_one_of_the_grant)
{
    JOB_OF(alice, bob);
    uint64_t high = alice.fence + 1000000000;
    EXPECT_IS(raise_to(&alice, "job", high), HF_OK);
    EXPECT_IS(alice.fence, high);
    EXPECT_IS(raise_to(&alice, "job", 1), HF_OK);
    EXPECT_IS(alice.fence, high);
    EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
    EXPECT_IS(bob.record.fence, high);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
    EXPECT_SAFE_MORE(bob.fence, high);
}

/* Of a session it is the server's own number; asking for it tells who owns. */
TEST_IF(has(HF_CAP_FENCE | HF_CAP_SESSION),
        a_fence_that_cannot_be_raised_can_be_asked_for)
{
    JOB_OF(alice, bob);
    uint64_t fence = alice.fence;
    EXPECT_IS(raise_to(&alice, "job", fence), HF_OK);
    EXPECT_IS(alice.fence, fence);
    EXPECT_IS(raise_to(&alice, "job", 1), HF_OK);
    EXPECT_IS(alice.fence, fence);
    EXPECT_IS(raise_to(&bob, "job", 1), HF_LOST);
    EXPECT_IS(raise_to(&alice, "job", fence + 1), HF_ENOTSUP);
    EXPECT_IS(renew(&alice, "job"), HF_OK);
}

static void join_as(struct party *p, const char *label, uint64_t client)
{
    p->conn.client = client;
    join(p, label);
}

/* The sessions of a client are one to the store. */
TEST(what_one_session_of_a_client_was_granted_is_anothers)
{
    HF_AUTO(give_back_and_leave) struct party alice = {0};
    HF_AUTO(give_back_and_leave) struct party again = {0};
    PARTY(bob);

    join_as(&alice, "alice", 7);
    join_as(&again, "again", 7);
    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    claim_of(&again, "job")->token = claim_of(&alice, "job")->token;
    EXPECT_IS(acquire(&again, "job"), HF_OK);
    EXPECT_IS(again.fence, alice.fence);
    leave(&alice);
    EXPECT_IS(renew(&again, "job"), HF_OK);
    EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
    EXPECT_IS(release(&again, "job"), HF_OK);
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
}

/* By its token it may still be given up, by whoever has that. */
TEST_IF(has(HF_CAP_SESSION),
        what_lives_with_a_session_is_no_other_clients_to_renew)
{
    JOB_OF(alice, bob, carol);
    claim_of(&bob, "job")->token = claim_of(&alice, "job")->token;
    EXPECT_IS(renew(&bob, "job"), HF_LOST);
    EXPECT_IS(bob.reason, HF_REASON_SESSION);
    EXPECT_IS(renew(&alice, "job"), HF_OK);
    EXPECT_IS(acquire(&carol, "job"), HF_BUSY);
}

/* It ends with its session, and not before its holder can know. */
TEST_IF(has(HF_CAP_SESSION) && !ends_at_once(),
        a_session_that_is_cut_keeps_what_it_has_for_its_lease)
{
    JOB_OF(alice, bob);
    int64_t lease_ms = hf__conn_server_info(&alice.conn).lease_us / 1000;
    int64_t start = hf__test_now_ms();
    EXPECT_IS(renew(&alice, "job"), HF_OK);
    leave(&alice);
    until_free(&bob, "job");
    EXPECT_MORE(hf__test_now_ms() - start, lease_ms);
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
    if (has(HF_CAP_FENCE)) {
        EXPECT_SAFE_MORE(bob.fence, alice.fence);
    }
}

TEST_IF(has(HF_CAP_SESSION), a_session_that_has_nothing_leaves_nothing)
{
    JOB_OF(alice, bob);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    leave(&alice);
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
}

TEST_IF(has(HF_CAP_FENCE), a_stranger_cannot_raise_the_fence)
{
    JOB_OF(alice, bob);
    EXPECT_IS(raise_to(&bob, "job", alice.fence + 1000), HF_LOST);
    EXPECT_IS(bob.record.fence, alice.fence);
}

TEST_IF(has(HF_CAP_HANDOVER), a_handover_is_a_grant_to_the_next)
{
    PARTIES(alice, bob);

    EXPECT_IS(acquire_for(&alice, "job", 5000), HF_OK);
    uint64_t fence = alice.fence + 1000000000; /* ahead of any clock */
    EXPECT_IS(raise_to(&alice, "job", fence), HF_OK);
    EXPECT_IS(hand_over(&alice, "job", &bob), HF_OK);
    EXPECT_SAFE_MORE(alice.fence, fence);
    EXPECT_IS(inspect(&alice, "job"), HF_OK);
    EXPECT_IS(alice.record.fence, fence_of(&bob, "job"));
    EXPECT_TEXT(alice.record.owner.label, "bob");
    EXPECT_MORE(alice.record.remaining_us, 10000000);
    EXPECT_IS(release(&alice, "job"), HF_LOST);
    EXPECT_IS(renew(&alice, "job"), HF_LOST);
    EXPECT_IS(renew(&bob, "job"), HF_OK);
    EXPECT_IS(release(&bob, "job"), HF_OK);
}

TEST_IF(has(HF_CAP_HANDOVER), a_stranger_cannot_hand_over)
{
    JOB_OF(alice, bob, carol);
    EXPECT_IS(hand_over(&bob, "job", &carol), HF_LOST);
    EXPECT_IS(bob.record.fence, alice.fence);
    EXPECT_IS(hand_over(&bob, "free", &carol), HF_LOST);
    EXPECT_IS(renew(&alice, "job"), HF_OK);
}

TEST(a_store_without_handover_says_so)
{
    JOB_OF(alice, bob);
    EXPECT_IS(hand_over(&alice, "job", &bob),
              has(HF_CAP_HANDOVER) ? HF_OK : HF_ENOTSUP);
    EXPECT_IS(renew(has(HF_CAP_HANDOVER) ? &bob : &alice, "job"), HF_OK);
}

TEST_IF(!has(HF_CAP_SESSION), a_grant_outlives_the_session_that_won_it)
{
    JOB_OF(alice, bob);
    rejoin(&alice);
    EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
    EXPECT_IS(renew(&alice, "job"), HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
}

TEST_IF(has(HF_CAP_FENCE), the_fence_rises_though_all_sessions_ended)
{
    JOB_OF(alice);
    uint64_t fence = alice.fence;
    EXPECT_IS(release(&alice, "job"), HF_OK);
    rejoin(&alice);
    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_SAFE_MORE(alice.fence, fence);
}

TEST_IF(!has(HF_CAP_SESSION), a_grant_lives_though_all_sessions_ended)
{
    JOB_OF(alice);
    rejoin(&alice);
    EXPECT_IS(renew(&alice, "job"), HF_OK);
}
