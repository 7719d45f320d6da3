/* SPDX-License-Identifier: MIT */
/*
 * Every store: what the passing of time does to a grant. A lease lasts as
 * long as it says and no longer, by the store's clock; nothing revives it.
 */
#include "tests/contract/vocabulary.h"

TEST(a_lease_lasts_as_long_as_it_says)
{
    PARTIES(alice, bob);
    int64_t start = hf__test_now_ms();

    EXPECT_IS(acquire_for(&alice, "job", 600), HF_OK);
    if (!ends_at_once()) { /* or it would end with the session, at
                                         once */
        fall_silent(&alice);
    }
    while (acquire(&bob, "job") == HF_BUSY) {
        EXPECT_SOON(hf__test_now_ms() - start, slowly_to_the_end(&bob, 3000));
        hf__test_pause_ms(5);
    }
    EXPECT_SAFE_MORE(hf__test_now_ms() - start, lease_given(&bob, 600) - 5);
    if (has(HF_CAP_FENCE)) {
        EXPECT_SAFE_MORE(bob.fence, alice.fence);
    }
}

TEST_IF(!has(HF_CAP_SESSION), busy_tells_how_long_the_lease_still_runs)
{
    PARTIES(alice, bob);

    EXPECT_IS(acquire_for(&alice, "job", 10000), HF_OK);
    hf__test_pause_ms(100);
    EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
    EXPECT_LESS(bob.record.remaining_us, 9950000);
    EXPECT_MORE(bob.record.remaining_us, 10000000 - slowly(1000) * 1000);
}

TEST(a_renewal_after_the_lease_ran_out_is_lost)
{
    PARTY(alice);

    EXPECT_IS(acquire_for(&alice, "job", 100), HF_OK);
    fall_silent(&alice);
    until_free(&alice, "job");
    EXPECT_IS(renew(&alice, "job"), HF_LOST);
    EXPECT(!alice.record.is_held);
    expect_last_fence(&alice, "job");
    EXPECT(hf__token_is_zero(&alice.record.token));
    EXPECT_IS(inspect(&alice, "job"), HF_OK);
    EXPECT(!alice.record.is_held);
}

TEST_IF(has(HF_CAP_HANDOVER), a_handover_after_the_lease_ran_out_is_lost)
{
    PARTIES(alice, bob);

    EXPECT_IS(acquire_for(&alice, "job", 100), HF_OK);
    until_free(&alice, "job");
    EXPECT_IS(hand_over(&alice, "job", &bob), HF_LOST);
    EXPECT_IS(alice.record.fence, fence_of(&alice, "job"));
    EXPECT_IS(inspect(&alice, "job"), HF_OK);
    EXPECT(!alice.record.is_held);
}

TEST_IF(!has(HF_CAP_SESSION), an_expired_record_of_ours_can_be_released)
{
    PARTY(alice);

    EXPECT_IS(acquire_for(&alice, "job", 100), HF_OK);
    until_free(&alice, "job");
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_LOST);
    EXPECT_IS(alice.record.fence, fence_of(&alice, "job"));
}

/* Of a quorum a member may tell that does not have the last word yet. */
static bool is_told_of_the_next(struct party *late, uint64_t own)
{
    EXPECT_IS(renew(late, "job"), HF_LOST);
    EXPECT(late->record.is_held);
    return !has(HF_CAP_FENCE) || late->record.fence > own;
}

TEST(who_was_late_can_do_nothing_to_the_next_holder)
{
    PARTIES(alice, bob);
    uint64_t own;

    EXPECT_IS(acquire_for(&alice, "job", 100), HF_OK);
    own = alice.fence;
    fall_silent(&alice);
    until_free(&bob, "job");
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
    UNTIL(is_told_of_the_next(&alice, own));
    EXPECT_LESS(alice.record.fence, fence_of(&bob, "job") + 1);
    EXPECT_IS(release(&alice, "job"), HF_LOST);
    EXPECT_IS(raise_to(&alice, "job", bob.fence + 9), HF_LOST);
    EXPECT_IS(acquire(&alice, "job"), HF_BUSY);
    EXPECT_IS(renew(&bob, "job"), HF_OK);
    if (has(HF_CAP_FENCE)) {
        EXPECT_SAFE_MORE(fence_of(&bob, "job"), fence_of(&alice, "job"));
    }
}

/* Others may have seen the name free meanwhile. */
TEST_IF(!has(HF_CAP_SESSION) && has(HF_CAP_FENCE),
        a_late_duplicate_of_an_acquire_is_another_grant)
{
    PARTY(alice);

    EXPECT_IS(acquire_for(&alice, "job", 100), HF_OK);
    uint64_t fence = alice.fence;
    until_free(&alice, "job");
    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_SAFE_MORE(alice.fence, fence);
    EXPECT_IS(renew(&alice, "job"), HF_OK);
}

TEST(a_renewed_lease_runs_from_the_renewal)
{
    PARTIES(alice, bob);

    EXPECT_IS(acquire_for(&alice, "job", slowly(600)), HF_OK);
    for (int i = 0; i < 8; i++) {
        hf__test_pause_ms(100);
        EXPECT_IS(renew_for(&alice, "job", slowly(600)), HF_OK);
    }
    EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
    EXPECT_TEXT(bob.record.owner.label, "alice");
}

TEST_IF(has(HF_CAP_KEEP), a_released_name_can_be_kept_closed)
{
    PARTIES(alice, bob);
    int64_t start = hf__test_now_ms();

    EXPECT_IS(acquire_and_keep(&alice, "job", LEASE_MS, 600), HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
    EXPECT(bob.record.is_kept);
    EXPECT(!bob.record.is_held);
    EXPECT(hf__token_is_zero(&bob.record.token));
    EXPECT_LESS(bob.record.remaining_us, 600001);
    EXPECT_IS(acquire(&alice, "job"), HF_BUSY);
    until_free(&bob, "job");
    EXPECT_MORE(hf__test_now_ms() - start, 595);
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
}

TEST_IF(has(HF_CAP_KEEP), an_expired_name_can_be_kept_closed)
{
    PARTIES(alice, bob);
    int64_t start = hf__test_now_ms();

    EXPECT_IS(acquire_and_keep(&alice, "job", 100, slowly(800)), HF_OK);
    hf__test_pause_ms(150);
    EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
    EXPECT(bob.record.is_kept);
    EXPECT(hf__token_is_zero(&bob.record.token));
    until_free(&bob, "job");
    EXPECT_MORE(hf__test_now_ms() - start, slowly(800) - 5);
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
}

/* Who asks again for an answer that was lost meets its own keeping. */
TEST_IF(has(HF_CAP_KEEP), a_claim_does_not_lock_itself_out)
{
    PARTY(alice);

    EXPECT_IS(acquire_and_keep(&alice, "job", 100, 60000), HF_OK);
    hf__test_pause_ms(150);
    EXPECT_IS(acquire_and_keep(&alice, "job", 100, 60000), HF_OK);
    EXPECT_IS(release_and_reopen(&alice, "job"), HF_OK);
}

TEST_IF(has(HF_CAP_KEEP), the_owner_can_reopen_what_it_kept_closed)
{
    PARTIES(alice, bob);

    EXPECT_IS(acquire_and_keep(&alice, "job", LEASE_MS, 60000), HF_OK);
    EXPECT_IS(release_and_reopen(&alice, "job"), HF_OK);
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
}

/* Also when its lease is long over: its token is still there. */
TEST_IF(has(HF_CAP_KEEP), a_lapsed_owner_can_reopen_what_it_kept_closed)
{
    PARTIES(alice, bob);

    EXPECT_IS(acquire_and_keep(&alice, "job", 100, 60000), HF_OK);
    hf__test_pause_ms(150);
    EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
    EXPECT_IS(release_and_reopen(&alice, "job"), HF_OK);
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
}

TEST_IF(has(HF_CAP_KEEP), what_is_kept_closed_is_held_by_nobody)
{
    PARTY(alice);
    struct listing all = {0};

    EXPECT_IS(acquire_and_keep(&alice, "job", LEASE_MS, 60000), HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(renew(&alice, "job"), HF_LOST);
    EXPECT_IS(release(&alice, "job"), HF_LOST);
    EXPECT_IS(inspect(&alice, "job"), HF_OK);
    EXPECT(alice.record.is_kept);
    EXPECT_IS(list(&alice, "", &all), has(HF_CAP_LIST) ? HF_OK : HF_ENOTSUP);
    EXPECT_IS(all.count, 0);
}

TEST_IF(has(HF_CAP_KEEP), a_break_opens_what_is_kept_closed)
{
    PARTIES(alice, bob);

    EXPECT_IS(acquire_and_keep(&alice, "held", LEASE_MS, 60000), HF_OK);
    EXPECT_IS(break_it(&bob, "held", 0), HF_OK);
    EXPECT_IS(acquire(&bob, "held"), HF_OK);
    EXPECT_IS(acquire_and_keep(&alice, "kept", LEASE_MS, 60000), HF_OK);
    EXPECT_IS(release(&alice, "kept"), HF_OK);
    EXPECT_IS(break_it(&bob, "kept", fence_of(&alice, "kept") + 1),
              HF_CONFLICT);
    EXPECT_IS(break_it(&bob, "kept", 0), HF_OK);
    EXPECT_IS(acquire(&bob, "kept"), HF_OK);
}

/* Its lease was over, and its owner could still have raised its fence. */
TEST_IF(has(HF_CAP_KEEP), a_break_of_what_is_kept_ends_the_grant_that_kept_it)
{
    PARTIES(alice, bob);

    EXPECT_IS(acquire_and_keep(&alice, "job", 100, 60000), HF_OK);
    UNTIL(inspect(&bob, "job") == HF_OK && bob.record.is_kept);
    EXPECT_IS(break_it(&bob, "job", 0), HF_OK);
    EXPECT_IS(renew(&alice, "job"), HF_LOST);
    EXPECT_IS(raise_to(&alice, "job", fence_of(&alice, "job")), HF_LOST);
    EXPECT_IS(release(&alice, "job"), HF_LOST);
}

/* What the grant before kept closed is over; only the new one counts. */
TEST_IF(has(HF_CAP_KEEP), each_grant_keeps_for_itself)
{
    PARTIES(alice, bob);

    EXPECT_IS(acquire_and_keep(&alice, "job", LEASE_MS, 100), HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    until_free(&bob, "job");
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
    EXPECT_IS(release(&bob, "job"), HF_OK);
    EXPECT_IS(acquire(&alice, "job"), HF_OK);
}

TEST_IF(has(HF_CAP_KEEP), keeping_outlives_the_session)
{
    PARTY(alice);

    EXPECT_IS(acquire_and_keep(&alice, "job", LEASE_MS, 60000), HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    rejoin(&alice);
    EXPECT_IS(acquire(&alice, "job"), HF_BUSY);
    EXPECT(alice.record.is_kept);
}
