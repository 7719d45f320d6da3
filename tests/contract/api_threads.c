/* SPDX-License-Identifier: MIT */
/*
 * Many at once: never two inside, no update lost, nobody left waiting. The
 * oracles use plain loads and stores that nothing but the lock protects.
 */
#include "tests/contract/api.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { CROWD = 100, WORKERS = 8, ROUNDS = 100, NAMES = 20 };

static atomic_int inside;
static atomic_int most_inside;
static atomic_int n_entered;

static void enter_once(void *client)
{
    AUTO_LOCK *job = acquire_leased(client, "job", 20000);
    int now = atomic_fetch_add(&inside, 1) + 1;

    if (now > atomic_load(&most_inside)) {
        atomic_store(&most_inside, now);
    }
    sched_yield();
    EXPECT_IS(hf_held(job), 1);
    atomic_fetch_add(&n_entered, 1);
    atomic_fetch_sub(&inside, 1);
}

static void run_crowd(hf_client *clients[], int n)
{
    struct hf__test_thread *threads[CROWD];

    for (int i = 0; i < CROWD; i++) {
        threads[i] = hf__test_start(enter_once, clients[i % n]);
    }
    hf__test_join_all(threads, CROWD);
    EXPECT_SAFE_IS(atomic_load(&most_inside), 1);
    EXPECT_IS(atomic_load(&n_entered), CROWD);
}

TEST(of_a_hundred_threads_one_is_inside)
{
    AUTO_CLIENT *alice = open_store();

    run_crowd(&alice, 1);
}

TEST(of_a_hundred_threads_of_four_clients_one_is_inside)
{
    CLIENTS(a, b, c, d);

    run_crowd((hf_client *[]){a, b, c, d}, 4);
}

TEST(of_a_hundred_threads_over_many_connections_one_is_inside)
{
    AUTO_CLIENT *alice = open_with("connections=4");

    run_crowd(&alice, 1);
}

static atomic_int counter;

/* An increment that loses updates unless nobody comes between. */
static void add_one(void)
{
    int seen = atomic_load_explicit(&counter, memory_order_relaxed);

    sched_yield();
    atomic_store_explicit(&counter, seen + 1, memory_order_relaxed);
}

static void count_up(void *client)
{
    for (int i = 0; i < ROUNDS; i++) {
        AUTO_LOCK *job = acquire(client, "counter");

        add_one();
        EXPECT_IS(hf_release(job, NULL), HF_OK);
    }
}

TEST_WITHIN(40, no_update_is_lost)
{
    CLIENTS(alice, bob);
    struct hf__test_thread *threads[WORKERS];

    for (int i = 0; i < WORKERS; i++) {
        threads[i] = hf__test_start(count_up, i % 2 ? alice : bob);
    }
    hf__test_join_all(threads, WORKERS);
    EXPECT_IS(atomic_load(&counter), WORKERS * ROUNDS);
}

/* Owner of each name, by the number of its thread; 0: nobody. */
static atomic_int owners[NAMES];

struct wanderer {
    hf_client *client;
    int number;
    unsigned seed;
};

static void wander_once(struct wanderer *w)
{
    int i = (int)((unsigned)rand_r(&w->seed) % NAMES);
    hf_acquire_opts opts = wanting(rand_r(&w->seed) % 20, 20000);
    hf_lock *lock = NULL;
    char name[16];
    int r;

    snprintf(name, sizeof name, "name %d", i);
    r = hf_acquire(w->client, name, &opts, &lock, NULL);
    if (r != HF_OK) {
        EXPECT(r == HF_BUSY || r == HF_TIMEDOUT);
        return;
    }
    EXPECT_IS(atomic_exchange(&owners[i], w->number), 0);
    sched_yield();
    EXPECT_IS(atomic_exchange(&owners[i], 0), w->number);
    hf_free(lock);
}

static void wander(void *arg)
{
    for (int i = 0; i < 125; i++) {
        wander_once(arg);
    }
}

TEST(a_thousand_claims_of_twenty_names)
{
    AUTO_CLIENT *alice = open_store();
    struct hf__test_thread *threads[WORKERS];
    struct wanderer w[WORKERS];

    for (int i = 0; i < WORKERS; i++) {
        w[i] = (struct wanderer){alice, i + 1,
                                 (unsigned)hf__test_seed() + (unsigned)i};
        threads[i] = hf__test_start(wander, &w[i]);
    }
    hf__test_join_all(threads, WORKERS);
    for (int i = 0; i < NAMES; i++) {
        char name[16];

        snprintf(name, sizeof name, "name %d", i);
        EXPECT_IS(try_once(alice, name), HF_OK);
    }
}

/* All calls on one grant at once: each has some right answer. */
static void pester(void *lock)
{
    for (int i = 0; i < 200; i++) {
        int r = hf_renew(lock, NULL);

        EXPECT(r == HF_OK || r == HF_LOST);
        EXPECT(hf_remaining_ms(lock) >= 0);
        EXPECT(hf_state(lock) != HF_STATE_LOST);
        EXPECT(hf_held(lock) || hf_state(lock) == HF_STATE_RELEASED);
        r = hf_wait_lost(lock, 0);
        EXPECT(r == HF_TIMEDOUT || r == HF_OK);
    }
}

TEST(one_handle_serves_many_threads)
{
    HELD(job, alice);
    struct hf__test_thread *threads[4];

    hf__test_start_all(threads, 4, pester, job);
    hf__test_pause_ms(20);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    hf__test_join_all(threads, 4);
    EXPECT_IS(try_once(alice, "job"), HF_OK);
}
