/* SPDX-License-Identifier: MIT */
/*
 * A holder learns at once that its grant was broken, long before its renewal:
 * here, in another process, of one lock among many, and of one that nothing
 * renews; and a holder of another lock is left alone.
 */
#include "tests/contract/peer.h"

#include <stdatomic.h>
#include <stdio.h>

enum { ROUNDS = 5, LOCKS = 300 };

/* Milliseconds; on a machine that does other things the best round tells. */
#define NOMINAL_MS 100
#define WORST_MS   2000

static struct {
    atomic_int round; /* to break in */
    atomic_int broken;
} * page;

static int64_t shorter(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t time_of_loss(hf_client *breaker, hf_lock *job)
{
    int64_t start = hf__test_now_ms();
    int64_t took;

    EXPECT_IS(hf_break(breaker, hf_name(job), hf_fence(job), NULL), HF_OK);
    EXPECT_IS(hf_wait_lost(job, HF_FOREVER), HF_LOST);
    took = since(start);
    expect_lost(job, HF_REASON_BROKEN);
    EXPECT_IS(hf_release(job, NULL), HF_LOST);
    EXPECT_SOON(took, WORST_MS);
    return took;
}

TEST_IF(store_can(HF_CAP_PUSH), a_holder_learns_of_a_break_at_once)
{
    CLIENTS(alice, bob);
    int64_t best = WORST_MS;

    for (int i = 0; i < ROUNDS; i++) {
        AUTO_LOCK *job = acquire(alice, "job");

        best = shorter(best, time_of_loss(bob, job));
    }
    EXPECT_SOON(best, NOMINAL_MS);
}

TEST_IF(store_can(HF_CAP_PUSH),
        a_holder_that_does_not_renew_learns_of_a_break_at_once)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *job = acquire_fixed(alice, "job", 30000);
    int64_t left = hf_remaining_ms(job);

    (void)time_of_loss(bob, job);
    EXPECT_LESS(left, 30001);
}

static hf_lock *acquire_beside(hf_client *client, const char *name, int slots)
{
    hf_acquire_opts opts = wanting(0, 30000);
    hf_lock *lock = NULL;

    opts.slots = slots;
    opts.shared = slots == 0;
    EXPECT_IS(hf_acquire(client, name, &opts, &lock, NULL), HF_OK);
    return lock;
}

static void break_one_then_all(int slots)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *one = acquire_beside(alice, "job", slots);
    AUTO_LOCK *two = acquire_beside(alice, "job", slots);
    AUTO_LOCK *three = acquire_beside(alice, "job", slots);
    int64_t start;

    (void)time_of_loss(bob, two);
    expect_held(one);
    expect_held(three);
    start = hf__test_now_ms();
    EXPECT_IS(hf_break(bob, "job", 0, NULL), HF_OK);
    EXPECT_IS(hf_wait_lost(one, HF_FOREVER), HF_LOST);
    EXPECT_IS(hf_wait_lost(three, HF_FOREVER), HF_LOST);
    EXPECT_SOON(since(start), WORST_MS);
}

CASE_IF(store_can(HF_CAP_PUSH | HF_CAP_SHARED),
        shared_holders_learn_of_breaks_at_once, break_one_then_all(0));
CASE_IF(store_can(HF_CAP_PUSH | HF_CAP_SLOTS),
        holders_of_slots_learn_of_breaks_at_once, break_one_then_all(3));

TEST_IF(store_can(HF_CAP_PUSH | HF_CAP_DETACH),
        a_detached_grant_that_was_adopted_hears_of_its_break)
{
    HELD(job, alice, bob);
    AUTO_LOCK *taken = NULL;

    EXPECT_IS(hf_detach(job, NULL), HF_OK);
    EXPECT_IS(hf_adopt(alice, "job", hf_token(job), NULL, &taken, NULL), HF_OK);
    (void)time_of_loss(bob, taken);
}

TEST_IF(store_can(HF_CAP_PUSH) && store_breaks_one(),
        a_break_tells_no_other_holder)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *other = acquire_fixed(alice, "other", 30000);
    AUTO_LOCK *job = acquire(alice, "job");
    int64_t left;

    (void)time_of_loss(bob, job);
    expect_held(other);
    /* It was not even renewed: what is not due cannot be. */
    left = hf_remaining_ms(other);
    hf__test_pause_ms(20);
    EXPECT(hf_remaining_ms(other) < left || !store_leases());
}

TEST_WITHIN_IF(60,
               store_can(HF_CAP_PUSH) && store_breaks_one() && store_has_room(),
               one_of_many_locks_hears_of_its_break)
{
    static hf_lock *locks[LOCKS];
    CLIENTS(alice, bob);
    int64_t best = WORST_MS;

    for (int i = 0; i < LOCKS; i++) {
        char name[24];

        (void)snprintf(name, sizeof name, "job:%d", i);
        locks[i] = acquire(alice, name);
    }
    for (int i = 0; i < ROUNDS; i++) {
        best = shorter(best, time_of_loss(bob, locks[i * LOCKS / ROUNDS]));
    }
    EXPECT_SOON(best, NOMINAL_MS);
    for (int i = 0; i < LOCKS; i++) {
        EXPECT_IS(hf_held(locks[i]), i % (LOCKS / ROUNDS) != 0);
        hf_free(locks[i]);
    }
}

static void break_each_round(int number)
{
    AUTO_CLIENT *client = open_store();

    (void)number;
    for (int round = 1; round <= ROUNDS; round++) {
        UNTIL(atomic_load(&page->round) >= round);
        EXPECT_IS(hf_break(client, "job", 0, NULL), HF_OK);
        atomic_store(&page->broken, round);
    }
}

TEST_IF(store_can(HF_CAP_PUSH) && store_is_shared(),
        a_holder_learns_of_another_processs_break_at_once)
{
    int64_t best = WORST_MS;
    pid_t breaker;

    page = shared_page(sizeof *page);
    breaker = start_crew(break_each_round, 0);
    AUTO_CLIENT *alice = open_store();
    for (int round = 1; round <= ROUNDS; round++) {
        AUTO_LOCK *job = acquire(alice, "job");
        int64_t start;

        atomic_store(&page->round, round);
        UNTIL(atomic_load(&page->broken) >= round);
        start = hf__test_now_ms();
        EXPECT_IS(hf_wait_lost(job, HF_FOREVER), HF_LOST);
        EXPECT(!hf_held(job));
        EXPECT_SOON(since(start), WORST_MS);
        best = shorter(best, since(start));
        expect_lost(job, HF_REASON_BROKEN);
    }
    end_crew(breaker);
    EXPECT_SOON(best, NOMINAL_MS);
}
