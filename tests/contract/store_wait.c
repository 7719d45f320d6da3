/* SPDX-License-Identifier: MIT */
/*
 * Every store that wakes its waiters: what ends a wait, and that nothing else
 * does for long. Bob waits for what Alice has.
 */
#include "tests/contract/vocabulary.h"

/* Bob has just seen that Alice holds the name. */
static void bob_sees(struct waiting *w, struct party *bob, const char *name)
{
    EXPECT_IS(acquire(bob, name), HF_BUSY);
    watch_name(w, bob, name);
}

TEST_IF(has(HF_CAP_WAIT), a_wait_ends_at_once_if_the_name_is_free)
{
    PARTY(bob);
    struct waiting w;

    watch_name(&w, &bob, "never");
    EXPECT_IS(wait_up_to(&w, 5000), HF_OK);
    EXPECT(w.watch.has_fired);
    EXPECT_SOON(w.took_ms, 4000);
}

TEST_IF(has(HF_CAP_WAIT),
        a_wait_ends_at_once_if_the_name_was_released_meanwhile)
{
    JOB_OF(alice, bob);
    struct waiting w;

    bob_sees(&w, &bob, "job");
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(wait_up_to(&w, 5000), HF_OK);
    EXPECT(w.watch.has_fired);
    EXPECT_SOON(w.took_ms, 4000);
}

/* Who is in its place need not ask again; nor who stands in the server's own
 * queue, which is for the name, and not for the end of one grant. */
TEST_IF(has(HF_CAP_WAIT) && !has(HF__CAP_WAIT_LEAVES) &&
            !(has(HF_CAP_SESSION) && has(HF__CAP_WAIT_ONE)),
        a_wait_ends_at_once_if_another_holds_it_meanwhile)
{
    JOB_OF(alice, carol, bob);
    struct waiting w;

    bob_sees(&w, &bob, "job");
    EXPECT_IS(release(&alice, "job"), HF_OK);
    EXPECT_IS(acquire(&carol, "job"), HF_OK);
    EXPECT_IS(wait_up_to(&w, 5000), HF_OK);
    EXPECT(w.watch.has_fired);
    EXPECT_SOON(w.took_ms, 4000);
}

/* Whoever waits also looks by himself, after a tenth of a second at the
 * soonest. That nothing but a wake can have been so quick proves the wake; a
 * busy machine is late, but not each time. */
enum { LOOK_MS = 100, ROUNDS = 40, WAKES = 2 };

static bool is_woken_by(int (*end)(struct party *, const char *))
{
    JOB_OF(alice, bob);
    struct waiting w;

    bob_sees(&w, &bob, "job");
    start_waiting(&w);
    EXPECT_IS(end(&alice, "job"), HF_OK);
    expect_woken(&w);
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
    return w.took_ms < LOOK_MS;
}

static void expect_wakes(int (*end)(struct party *, const char *))
{
    int wakes = 0;

    for (int i = 0; i < ROUNDS && wakes < WAKES; i++) {
        wakes += is_woken_by(end);
    }
    EXPECT_IS(wakes, WAKES);
}

TEST_WITHIN_IF(60, has(HF_CAP_WAIT), a_release_wakes_a_waiter)
{
    expect_wakes(release);
}

static int break_all(struct party *p, const char *name)
{
    return break_it(p, name, 0);
}

TEST_WITHIN_IF(60, has(HF_CAP_WAIT), a_break_wakes_a_waiter)
{
    expect_wakes(break_all);
}

/* Two wait for what alice holds, then she releases it: the first is woken. */
static void release_to(struct party *alice, struct party *bob,
                       struct waiting *first, struct party *carol,
                       struct waiting *second)
{
    EXPECT_IS(acquire(alice, "job"), HF_OK);
    bob_sees(first, bob, "job");
    bob_sees(second, carol, "job");
    start_waiting(first);
    start_waiting(second);
    EXPECT_IS(release(alice, "job"), HF_OK);
    expect_woken(first);
}

TEST_IF(has(HF_CAP_WAIT), a_release_wakes_all_waiters)
{
    PARTIES(alice, bob, carol);
    struct waiting first;
    struct waiting second;

    release_to(&alice, &bob, &first, &carol, &second);
    expect_woken(&second);
}

TEST_IF(has(HF_CAP_WAIT), the_end_of_a_lease_wakes_a_waiter)
{
    PARTIES(alice, bob);
    struct waiting w;

    EXPECT_IS(acquire_for(&alice, "job", slowly(400)), HF_OK);
    bob_sees(&w, &bob, "job");
    start_waiting(&w);
    fall_silent(&alice);
    expect_woken(&w);
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
}

TEST_IF(has(HF_CAP_WAIT | HF_CAP_KEEP), the_end_of_keeping_wakes_a_waiter)
{
    PARTIES(alice, bob);
    struct waiting w;

    EXPECT_IS(acquire_and_keep(&alice, "job", LEASE_MS, slowly(400)), HF_OK);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    bob_sees(&w, &bob, "job");
    start_waiting(&w);
    expect_woken(&w);
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
}

/* A store need not wake anybody for a handover: nothing became free. */
TEST_IF(has(HF_CAP_WAIT | HF_CAP_HANDOVER), a_waiter_outlasts_a_handover)
{
    JOB_OF(alice, bob, carol);
    struct waiting w;

    bob_sees(&w, &bob, "job");
    start_waiting(&w);
    EXPECT_IS(hand_over(&alice, "job", &carol), HF_OK);
    hf__test_pause_ms(50);
    EXPECT_IS(release(&carol, "job"), HF_OK);
    expect_woken(&w);
    EXPECT_IS(acquire(&bob, "job"), HF_OK);
}

TEST_IF(has(HF_CAP_WAIT), one_of_many_watches_is_enough)
{
    PARTIES(alice, bob);
    struct waiting w[3];
    struct hf__watch *all[3];
    static const char *const names[] = {"a", "b", "c"};

    for (int i = 0; i < 3; i++) {
        EXPECT_IS(acquire(&alice, names[i]), HF_OK);
        bob_sees(&w[i], &bob, names[i]);
        all[i] = &w[i].watch;
    }
    EXPECT_IS(release(&alice, "b"), HF_OK);
    hf__time limit = hf__after_ms(hf__now(), 5000);
    EXPECT_IS(hf__conn_wait(&bob.conn, all, 3, limit, &bob.error), HF_OK);
    EXPECT(!all[0]->has_fired);
    EXPECT(all[1]->has_fired);
    EXPECT(!all[2]->has_fired);
}

TEST_IF(has(HF_CAP_WAIT), a_wait_ends_at_its_deadline)
{
    JOB_OF(alice, bob);
    struct waiting w;

    bob_sees(&w, &bob, "job");
    EXPECT_IS(wait_up_to(&w, 300), HF_OK);
    EXPECT(!w.watch.has_fired);
    EXPECT_SOON(w.took_ms, slowly(5000));
    EXPECT_IS(renew(&alice, "job"), HF_OK);
}

static void wait_once(void *arg)
{
    struct waiting *w = arg;

    EXPECT_IS(wait_up_to(w, slowly(6000)), HF_OK);
}

TEST_IF(has(HF_CAP_WAIT), an_interrupt_ends_a_wait)
{
    JOB_OF(alice, bob);
    struct waiting w;

    bob_sees(&w, &bob, "job");
    w.thread = hf__test_start(wait_once, &w);
    hf__test_pause_ms(50);
    int64_t start = hf__test_now_ms();
    hf__conn_interrupt(&bob.conn);
    stop_waiting(&w);
    EXPECT_SOON(hf__test_now_ms() - start, slowly(5000));
    EXPECT(!w.watch.has_fired);
    EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
}

TEST_IF(has(HF_CAP_WAIT), an_interrupt_between_two_calls_ends_the_next_wait)
{
    JOB_OF(alice, bob);
    struct waiting w;

    bob_sees(&w, &bob, "job");
    hf__conn_interrupt(&bob.conn);
    EXPECT_IS(wait_up_to(&w, 5000), HF_OK);
    EXPECT_SOON(w.took_ms, 4000);
    EXPECT_IS(wait_up_to(&w, 300), HF_OK);
    EXPECT(!w.watch.has_fired);
}

TEST_IF(has(HF_CAP_WAIT), a_woken_waiter_can_wait_again)
{
    PARTIES(alice, bob);
    struct waiting w;

    for (int i = 0; i < 5; i++) {
        EXPECT_IS(acquire(&alice, "job"), HF_OK);
        bob_sees(&w, &bob, "job");
        start_waiting(&w);
        EXPECT_IS(release(&alice, "job"), HF_OK);
        expect_woken(&w);
    }
}

/* ---- letting go */

static int let_go(struct party *p, int64_t ms)
{
    return hf__conn_wait(&p->conn, NULL, 0, hf__after_ms(hf__now(), ms),
                         &p->error);
}

TEST_IF(has(HF_CAP_WAIT), who_has_not_waited_can_let_go)
{
    PARTY(alice);

    EXPECT_IS(let_go(&alice, slowly(5000)), HF_OK);
    EXPECT_IS(acquire(&alice, "job"), HF_OK);
}

/* Whoever was first and tries no more is in nobody's way. */
TEST_IF(has(HF_CAP_WAIT), who_lets_go_holds_nobody_up)
{
    PARTIES(alice, bob, carol);
    struct waiting first;
    struct waiting second;

    release_to(&alice, &bob, &first, &carol, &second);
    EXPECT_IS(let_go(&bob, slowly(5000)), HF_OK);
    expect_woken(&second);
    EXPECT_IS(acquire(&carol, "job"), HF_OK);
    EXPECT_IS(release(&carol, "job"), HF_OK);
}

/* Interrupted, and then not to come back. */
TEST_IF(has(HF_CAP_WAIT), who_was_interrupted_lets_go)
{
    JOB_OF(alice, bob);
    struct waiting w;

    bob_sees(&w, &bob, "job");
    w.thread = hf__test_start(wait_once, &w);
    hf__test_pause_ms(50);
    hf__conn_interrupt(&bob.conn);
    stop_waiting(&w);
    EXPECT_IS(let_go(&bob, slowly(5000)), HF_OK);
    EXPECT_IS(let_go(&bob, slowly(5000)), HF_OK);
    bob_sees(&w, &bob, "job");
    start_waiting(&w);
    EXPECT_IS(release(&alice, "job"), HF_OK);
    expect_woken(&w);
}

/* It has no time: then the session is of no use, or it has let go. */
TEST_IF(has(HF_CAP_WAIT), letting_go_takes_no_longer_than_it_may)
{
    JOB_OF(alice, bob);
    struct waiting w;
    int64_t start;
    int r;

    bob_sees(&w, &bob, "job");
    w.thread = hf__test_start(wait_once, &w);
    hf__test_pause_ms(50);
    hf__conn_interrupt(&bob.conn);
    stop_waiting(&w);
    start = hf__test_now_ms();
    r = let_go(&bob, 0);
    EXPECT_SOON(hf__test_now_ms() - start, slowly(3000));
    if (r < 0) {
        rejoin(&bob);
    }
    EXPECT_IS(acquire(&bob, "job"), HF_BUSY);
}
