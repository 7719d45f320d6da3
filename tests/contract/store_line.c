/* SPDX-License-Identifier: MIT */
/*
 * Every store that keeps a line: who came first goes first, and who is gone
 * is passed over. Alice holds what the others queue up for.
 */
#include "tests/contract/vocabulary_crowd.h"

#include "src/base/time.h"

TEST_IF(has(HF_CAP_FAIR), those_in_line_are_granted_in_their_order)
{
    JOB_OF(alice, bob, carol);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    EXPECT(bob.is_queued);
    EXPECT_TEXT(bob.record.owner.label, "alice");
    EXPECT_IS(queue_up(&carol, "job", ALONE), HF_BUSY);
    EXPECT(carol.is_queued);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(queue_up(&carol, "job", ALONE), HF_BUSY);
    EXPECT(!carol.record.is_held && carol.record.is_promised);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_OK);
    EXPECT(!bob.is_queued);
    EXPECT_SAFE_MORE(bob.fence, fence_of(&alice, "job"));
    EXPECT_IS(queue_up(&carol, "job", ALONE), HF_BUSY);
    EXPECT_IS(release(&bob, "job"), HF_OK);
    EXPECT_IS(queue_up(&carol, "job", ALONE), HF_OK);
}

TEST_IF(has(HF_CAP_FAIR), nobody_barges_past_the_line)
{
    JOB_OF(alice, bob, carol);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(try_as(&carol, "job", ALONE), HF_BUSY);
    EXPECT(!carol.is_queued);
    EXPECT(!carol.record.is_held && !carol.record.is_kept);
    EXPECT(carol.record.is_promised);
    EXPECT_IS(want(&carol, "job", ALONE), HF_BUSY);
    EXPECT(!carol.is_queued);
    EXPECT_IS(try_as(&alice, "job", ALONE), HF_BUSY);
    EXPECT_IS(inspect(&alice, "job"), HF_OK);
    EXPECT(alice.record.is_promised);
    EXPECT_IS(try_as(&carol, "other", ALONE), HF_OK);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_OK);
}

TEST_IF(has(HF_CAP_FAIR), who_asks_again_keeps_its_place)
{
    JOB_OF(alice, bob, carol);
    for (int i = 0; i < 3; i++) {
        EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
        EXPECT_IS(queue_up(&carol, "job", ALONE), HF_BUSY);
    }
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    expect_around(&alice, "job", 1, 2);
    EXPECT(is_next(&alice, "job", 0, &bob));
    EXPECT(is_next(&alice, "job", 1, &carol));
}

TEST_IF(has(HF_CAP_FAIR), a_release_takes_a_ticket_out_of_line)
{
    JOB_OF(alice, bob, carol);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    EXPECT_IS(queue_up(&carol, "job", ALONE), HF_BUSY);
    EXPECT_IS(release(&bob, "job"), HF_LOST);
    EXPECT_IS(bob.record.fence, alice.fence);
    expect_around(&bob, "job", 1, 1);
    EXPECT_IS(renew(&alice, "job"), HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(queue_up(&carol, "job", ALONE), HF_OK);
}

TEST_IF(has(HF_CAP_FAIR), a_grant_takes_its_ticket_out_of_line)
{
    JOB_OF(alice, bob);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_OK);
    expect_around(&alice, "job", 1, 0);
    EXPECT_IS(release(&bob, "job"), HF_OK);
    EXPECT_IS(try_as(&alice, "job", ALONE), HF_OK);
}

/* Carol asks all the time, Bob not once more. */
TEST_IF(has(HF_CAP_FAIR), who_is_gone_is_passed_over)
{
    JOB_OF(alice, bob, carol);
    int64_t start = hf__test_now_ms();
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    EXPECT_IS(queue_up(&carol, "job", ALONE), HF_BUSY);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    fall_silent(&bob);
    while (queue_up(&carol, "job", ALONE) == HF_BUSY) {
        EXPECT_SOON(hf__test_now_ms() - start, slowly_to_the_end(&carol, 4000));
        hf__test_pause_ms(10);
    }
    if (!has(HF_CAP_SESSION)) {
        EXPECT_MORE(hf__test_now_ms() - start, HF__TICKET_PATIENCE_MS - 10);
    }
}

/* What a session has stays there while it lives, however little it says. */
TEST_IF(has(HF_CAP_FAIR | HF_CAP_SESSION), who_lives_is_not_passed_over)
{
    JOB_OF(alice, bob, carol);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    EXPECT_IS(queue_up(&carol, "job", ALONE), HF_BUSY);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    hf__test_pause_ms(HF__TICKET_PATIENCE_MS + 200);
    EXPECT_IS(queue_up(&carol, "job", ALONE), HF_BUSY);
    EXPECT(is_next(&alice, "job", 0, &bob));
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_OK);
}

TEST_IF(!has(HF_CAP_SESSION) && has(HF_CAP_FAIR),
        who_comes_back_has_its_place_again)
{
    JOB_OF(alice, bob, carol);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    EXPECT_IS(queue_up(&carol, "job", ALONE), HF_BUSY);
    hf__test_pause_ms(HF__TICKET_PATIENCE_MS + 200);
    EXPECT_IS(queue_up(&carol, "job", ALONE), HF_BUSY);
    expect_around(&alice, "job", 1, 1);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    EXPECT(is_next(&alice, "job", 0, &bob));
    EXPECT(is_next(&alice, "job", 1, &carol));
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(queue_up(&carol, "job", ALONE), HF_BUSY);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_OK);
}

TEST_IF(has(HF_CAP_FAIR) && !has(HF_CAP_SESSION),
        a_place_in_line_outlives_its_session)
{
    JOB_OF(alice, bob, carol);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    EXPECT_IS(queue_up(&carol, "job", ALONE), HF_BUSY);
    rejoin(&bob);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    EXPECT(is_next(&alice, "job", 0, &bob));
    EXPECT(is_next(&alice, "job", 1, &carol));
}

TEST_IF(has(HF_CAP_FAIR | HF_CAP_HANDOVER),
        a_handover_does_not_go_past_the_line)
{
    JOB_OF(alice, bob, carol);
    EXPECT_IS(queue_up(&carol, "job", ALONE), HF_BUSY);
    EXPECT_IS(hand_over(&alice, "job", &bob), HF_BUSY);
    EXPECT_IS(renew(&alice, "job"), HF_OK);
    EXPECT_IS(inspect(&alice, "job"), HF_OK);
    EXPECT_IS(alice.record.fence, fence_of(&alice, "job"));
    EXPECT_IS(release(&carol, "job"), HF_LOST);
    EXPECT_IS(hand_over(&alice, "job", &bob), HF_OK);
}

TEST_IF(has(HF_CAP_FAIR | HF_CAP_HANDOVER),
        a_handover_does_not_wait_for_who_is_gone)
{
    JOB_OF(alice, bob, carol);
    EXPECT_IS(queue_up(&carol, "job", ALONE), HF_BUSY);
    hf__test_pause_ms(HF__TICKET_PATIENCE_MS + 200);
    EXPECT_IS(hand_over(&alice, "job", &bob), HF_OK);
}

TEST_IF(has(HF_CAP_FAIR | HF_CAP_HANDOVER),
        a_handover_to_who_is_in_line_takes_it_out)
{
    JOB_OF(alice, bob);
    struct request rq;

    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    ask(&alice, &rq, HF__OP_HANDOVER, "job");
    rq.op.next_token = claim_of(&bob, "job")->token;
    EXPECT_IS(send_one_request(&alice, &rq), HF_OK);
    expect_around(&alice, "job", 1, 0);
    EXPECT_IS(renew(&bob, "job"), HF_OK);
}

TEST_IF(has(HF_CAP_FAIR), a_break_leaves_the_line_as_it_is)
{
    JOB_OF(alice, bob, carol);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    EXPECT_IS(break_it(&carol, "job", 0), HF_OK);
    EXPECT_IS(try_as(&carol, "job", ALONE), HF_BUSY);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_OK);
}

TEST_IF(has(HF_CAP_FAIR), those_in_line_are_told_of_in_order)
{
    PARTIES(alice, bob, carol);
    struct scene s;
    int64_t before = hf__wall_us();

    EXPECT_IS(acquire(&alice, "job"), HF_OK);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    snprintf(carol.owner.note, sizeof carol.owner.note, "a 'note'");
    EXPECT_IS(queue_up(&carol, "job", ALONE), HF_BUSY);
    look_around(&alice, "job", &s);
    EXPECT_IS(s.n_holders, 1);
    EXPECT_IS(s.n_waiters, 2);
    EXPECT_TEXT(s.crowd.list[0].record.owner.label, "alice");
    EXPECT_IS(s.crowd.list[0].record.fence, alice.record.fence);
    EXPECT_TEXT(s.crowd.list[1].record.owner.label, "bob");
    EXPECT_TEXT(s.crowd.list[2].record.owner.label, "carol");
    EXPECT_TEXT(s.crowd.list[2].record.owner.note, "a 'note'");
    EXPECT_IS(s.crowd.list[2].record.owner.pid, carol.owner.pid);
    EXPECT_IS(s.crowd.list[2].record.lock_mode.mode, HF__MODE_EXCLUSIVE);
    EXPECT(!s.crowd.list[2].record.is_held);
    EXPECT_MORE(s.crowd.list[2].record.acquired_us, before - 1000000);
    EXPECT_LESS(s.crowd.list[2].record.acquired_us, hf__wall_us() + 1000000);
    hf__participant_list_free(&s.crowd);
}
