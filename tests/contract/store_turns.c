/* SPDX-License-Identifier: MIT */
/*
 * Every store that keeps a line and wakes its waiters: who is woken when, and
 * that nobody has to ask all the time. Alice holds what the others wait for.
 */
#include "tests/contract/vocabulary_crowd.h"

static void queue_and_watch(struct waiting *w, struct party *p)
{
    EXPECT_IS(queue_up(p, "job", ALONE), HF_BUSY);
    EXPECT(p->is_queued);
    watch_name(w, p, "job");
}

TEST_IF(has(HF_CAP_FAIR | HF_CAP_WAIT), a_ticket_is_woken_when_its_turn_comes)
{
    JOB_OF(alice, bob, carol);
    struct waiting first;
    struct waiting second;

    queue_and_watch(&first, &bob);
    queue_and_watch(&second, &carol);
    start_waiting(&first);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    expect_woken(&first);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_OK);
    queue_and_watch(&second, &carol);
    start_waiting(&second);
    EXPECT_IS(release(&bob, "job"), HF_OK);
    expect_woken(&second);
    EXPECT_IS(queue_up(&carol, "job", ALONE), HF_OK);
}

/* How often a claim is told to look within half a second. */
static int looks_of(struct party *p, struct hf__lock_mode lock_mode,
                    int (*ask_it)(struct party *, const char *,
                                  struct hf__lock_mode))
{
    int64_t start = hf__test_now_ms();
    struct waiting w;
    int looks = 0;

    while (hf__test_now_ms() - start < 500) {
        EXPECT_IS(ask_it(p, "job", lock_mode), HF_BUSY);
        watch_name(&w, p, "job");
        EXPECT_IS(wait_up_to(&w, 100), HF_OK);
        looks++;
    }
    return looks;
}

TEST_IF(has(HF_CAP_FAIR | HF_CAP_WAIT), a_ticket_sleeps_until_its_turn_comes)
{
    JOB_OF(alice, bob, carol);
    EXPECT_LESS(looks_of(&bob, ALONE, queue_up), 20);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_LESS(looks_of(&carol, ALONE, queue_up), 20);
}

/* Free, but not for her: she need not ask all the time. */
TEST_IF(has(HF_CAP_FAIR | HF_CAP_WAIT), who_is_not_in_line_sleeps_behind_it)
{
    JOB_OF(alice, bob, carol);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_LESS(looks_of(&carol, ALONE, want), 20);
}

TEST_IF(has(HF_CAP_FAIR | HF_CAP_WAIT),
        who_is_not_in_line_is_woken_when_it_is_over)
{
    JOB_OF(alice, bob, carol);
    struct waiting w;

    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(want(&carol, "job", ALONE), HF_BUSY);
    watch_name(&w, &carol, "job");
    start_waiting(&w);
    EXPECT_IS(release(&bob, "job"), HF_LOST);
    expect_woken(&w);
    EXPECT_IS(want(&carol, "job", ALONE), HF_OK);
}

/* Bob does nothing but wait, for longer than a ticket lives without. */
TEST_IF(has(HF_CAP_FAIR | HF_CAP_WAIT), a_wait_keeps_a_ticket_alive)
{
    JOB_OF(alice, bob, carol);
    struct waiting w;

    queue_and_watch(&w, &bob);
    start_waiting(&w);
    hf__test_pause_ms(HF__TICKET_PATIENCE_MS + 600);
    EXPECT_IS(queue_up(&carol, "job", ALONE), HF_BUSY);
    EXPECT(is_next(&alice, "job", 0, &bob));
    EXPECT(is_next(&alice, "job", 1, &carol));
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(queue_up(&carol, "job", ALONE), HF_BUSY);
    expect_woken(&w);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_OK);
}

/* Bob's session goes on, and so does what it may still have of his wait. */
TEST_IF(has(HF_CAP_FAIR | HF_CAP_WAIT) && !has(HF_CAP_SESSION),
        who_has_waited_and_left_is_passed_over)
{
    JOB_OF(alice, bob, carol);
    struct waiting w;

    queue_and_watch(&w, &bob);
    EXPECT_IS(wait_up_to(&w, 200), HF_OK);
    EXPECT_IS(hf__conn_wait(&bob.conn, NULL, 0,
                            hf__after_ms(hf__now(), slowly(5000)), &bob.error),
              HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    UNTIL(queue_up(&carol, "job", ALONE) == HF_OK);
    EXPECT_IS(inspect(&bob, "other"), HF_OK);
}

TEST_IF(has(HF_CAP_FAIR | HF_CAP_WAIT),
        who_is_next_is_woken_when_those_before_are_gone)
{
    JOB_OF(alice, bob, carol, dave);
    struct waiting w;

    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    EXPECT_IS(queue_up(&carol, "job", ALONE), HF_BUSY);
    queue_and_watch(&w, &dave);
    start_waiting(&w);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    fall_silent(&bob);
    fall_silent(&carol);
    expect_woken(&w); /* for both of them not longer than for one */
    EXPECT_IS(queue_up(&dave, "job", ALONE), HF_OK);
}

TEST_IF(has(HF_CAP_FAIR | HF_CAP_WAIT),
        who_is_next_is_woken_when_who_was_before_leaves)
{
    JOB_OF(alice, bob, carol);
    struct waiting w;

    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    queue_and_watch(&w, &carol);
    start_waiting(&w);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(release(&bob, "job"), HF_LOST);
    expect_woken(&w);
    EXPECT_IS(queue_up(&carol, "job", ALONE), HF_OK);
}

TEST_IF(has(HF_CAP_FAIR | HF_CAP_WAIT),
        who_is_next_is_woken_at_the_end_of_a_lease)
{
    PARTIES(alice, bob);
    struct waiting w;

    EXPECT_IS(acquire_for(&alice, "job", slowly(400)), HF_OK);
    queue_and_watch(&w, &bob);
    start_waiting(&w);
    fall_silent(&alice);
    expect_woken(&w);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_OK);
}

TEST_IF(has(HF_CAP_FAIR | HF_CAP_WAIT), who_is_next_is_woken_by_a_break)
{
    JOB_OF(alice, bob);
    struct waiting w;

    queue_and_watch(&w, &bob);
    start_waiting(&w);
    EXPECT_IS(break_it(&alice, "job", 0), HF_OK);
    expect_woken(&w);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_OK);
}

/* Told at once, not only when the waiter looks around by itself. */
TEST_IF(has(HF_CAP_FAIR | HF_CAP_WAIT),
        a_wait_for_a_turn_that_has_come_ends_at_once)
{
    JOB_OF(alice, bob);
    struct waiting w;

    queue_and_watch(&w, &bob);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(wait_up_to(&w, slowly(5000)), HF_OK);
    EXPECT(w.watch.has_fired);
    EXPECT_SOON(w.took_ms, slowly(4000));
}

TEST_IF(has(HF_CAP_FAIR | HF_CAP_KEEP | HF_CAP_WAIT),
        who_is_in_line_waits_for_what_is_kept_closed)
{
    PARTIES(alice, bob);
    struct waiting w;

    EXPECT_IS(acquire_and_keep(&alice, "job", LEASE_MS, slowly(500)), HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_BUSY);
    EXPECT(bob.is_queued && bob.record.is_kept);
    watch_name(&w, &bob, "job");
    start_waiting(&w);
    expect_woken(&w);
    EXPECT_IS(queue_up(&bob, "job", ALONE), HF_OK);
}
