/* SPDX-License-Identifier: MIT */
/*
 * Waiting: within a client the waiters get the lock in the order in which
 * they came, between clients nobody is left out, and a waiter who goes away
 * or dies holds nobody up.
 */
#include "tests/contract/api.h"

#include <stdatomic.h>

enum { QUEUE = 50 };

struct waiter {
    hf_client *client;
    int64_t wait_ms;
    struct hf__test_thread *thread;
    _Atomic int number;
    int status;
    int place; /* the how many-th grant it was; 0: none */
};

static atomic_int n_grants;

static void wait_for_job(void *arg)
{
    struct waiter *w = arg;
    hf_acquire_opts opts = wanting(w->wait_ms, HF_LEASE_DEFAULT_MS);
    AUTO_LOCK *lock = NULL;

    atomic_store(&w->number, thread_number());
    w->status = hf_acquire(w->client, "job", &opts, &lock, NULL);
    if (lock) {
        w->place = atomic_fetch_add(&n_grants, 1) + 1;
    }
}

static void start_waiter(struct waiter *w, hf_client *client, int64_t wait_ms)
{
    *w = (struct waiter){.client = client, .wait_ms = wait_ms, .status = -1};
    w->thread = hf__test_start(wait_for_job, w);
    await_sleep(&w->number);
}

TEST(waiters_of_a_client_enter_in_the_order_of_arrival)
{
    HELD(job, alice);
    static struct waiter w[QUEUE];

    for (int i = 0; i < QUEUE; i++) {
        start_waiter(&w[i], alice, HF_FOREVER);
    }
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    for (int i = 0; i < QUEUE; i++) {
        hf__test_join(w[i].thread);
        EXPECT_IS(w[i].status, HF_OK);
    }
    for (int i = 0; i < QUEUE; i++) {
        EXPECT_IS(w[i].place, i + 1);
    }
}

TEST(a_waiter_who_gives_up_in_the_middle_holds_nobody_up)
{
    HELD(job, alice);
    struct waiter w[3];
    int64_t start;

    start_waiter(&w[0], alice, HF_FOREVER);
    start_waiter(&w[1], alice, 200);
    start_waiter(&w[2], alice, HF_FOREVER);
    hf__test_join(w[1].thread);
    EXPECT_IS(w[1].status, HF_TIMEDOUT);
    start = hf__test_now_ms();
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    hf__test_join(w[0].thread);
    hf__test_join(w[2].thread);
    EXPECT_SOON(since(start), patience(5000));
    EXPECT_IS(w[0].place, 1);
    EXPECT_IS(w[2].place, 2);
}

TEST(the_first_waiter_who_gives_up_holds_nobody_up)
{
    HELD(job, alice, bob);
    struct waiter w[2];
    int64_t start;

    start_waiter(&w[0], bob, 200);
    start_waiter(&w[1], bob, HF_FOREVER);
    hf__test_join(w[0].thread);
    EXPECT_IS(w[0].status, HF_TIMEDOUT);
    start = hf__test_now_ms();
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    hf__test_join(w[1].thread);
    EXPECT_SOON(since(start), patience(5000));
    EXPECT_IS(w[1].status, HF_OK);
}

static _Atomic(hf_lock *) entered;

static void enter_and_stay(void *arg)
{
    hf_acquire_opts opts = wanting(300, HF_LEASE_DEFAULT_MS);
    hf_lock *lock = NULL;
    int r = hf_acquire(arg, "job", &opts, &lock, NULL);

    EXPECT(r == HF_OK || r == HF_TIMEDOUT);
    if (lock) {
        EXPECT(!atomic_exchange(&entered, lock));
    }
}

TEST(one_release_lets_exactly_one_waiter_enter)
{
    HELD(job, alice, bob);
    struct hf__test_thread *threads[4];

    for (int i = 0; i < 4; i++) {
        threads[i] = hf__test_start(enter_and_stay, i % 2 ? alice : bob);
    }
    hf__test_pause_ms(100);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    hf__test_join_all(threads, 4);
    EXPECT(atomic_load(&entered));
    expect_held(atomic_load(&entered));
    hf_free(atomic_load(&entered));
}

TEST(waiters_of_several_clients_all_enter)
{
    HELD(job, alice, bob, carol);
    hf_client *clients[] = {alice, bob, carol};
    struct waiter w[15];

    for (int i = 0; i < 15; i++) {
        start_waiter(&w[i], clients[i % 3], patience(15000));
    }
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    for (int i = 0; i < 15; i++) {
        hf__test_join(w[i].thread);
        EXPECT_IS(w[i].status, HF_OK);
    }
    EXPECT_IS(atomic_load(&n_grants), 15);
}

TEST(a_wait_for_one_name_does_not_hold_up_another)
{
    HELD(job, alice, bob);
    struct waiter w;
    int64_t start;

    start_waiter(&w, bob, HF_FOREVER);
    start = hf__test_now_ms();
    for (int i = 0; i < 10; i++) {
        EXPECT_IS(try_once(bob, "other"), HF_OK);
        EXPECT_IS(presence(bob, "job"), HF_HELD_BY);
    }
    EXPECT_SOON(since(start), patience(5000));
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    hf__test_join(w.thread);
    EXPECT_IS(w.status, HF_OK);
}

TEST(waits_for_many_names_end_each_with_its_own_release)
{
    HELD(a, alice, bob);
    AUTO_LOCK *b = acquire(alice, "b");
    AUTO_LOCK *job = acquire(alice, "job");
    struct waiter w;
    int64_t start;

    start_waiter(&w, bob, HF_FOREVER);
    EXPECT_IS(attempt(bob, "a", 50), HF_TIMEDOUT);
    EXPECT_IS(hf_release(b, NULL), HF_OK);
    (void)await_free(bob, "b", patience(5000));
    expect_held(a);
    EXPECT_IS(w.place, 0);
    start = hf__test_now_ms();
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    hf__test_join(w.thread);
    EXPECT_SOON(since(start), patience(5000));
}

TEST(a_waiter_enters_when_the_holders_client_closes)
{
    hf_client *alice = open_store();
    AUTO_CLIENT *bob = open_store();
    AUTO_LOCK *job = acquire(alice, "job");
    struct waiter w;
    int64_t start;

    start_waiter(&w, bob, HF_FOREVER);
    start = hf__test_now_ms();
    hf_close(alice);
    hf__test_join(w.thread);
    EXPECT_SOON(since(start), patience(5000));
    EXPECT_IS(w.status, HF_OK);
    EXPECT_IS(hf_held(job), 0);
}

TEST(a_waiter_enters_though_the_holder_released_a_lost_lock)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *job = acquire_fixed(alice, "job", 300);
    struct waiter w[2];

    start_waiter(&w[0], alice, patience(5000));
    start_waiter(&w[1], bob, patience(5000));
    EXPECT_IS(hf_wait_lost(job, HF_FOREVER), HF_LOST);
    EXPECT_IS(hf_release(job, NULL), HF_LOST);
    hf__test_join(w[0].thread);
    hf__test_join(w[1].thread);
    EXPECT_IS(w[0].status, HF_OK);
    EXPECT_IS(w[1].status, HF_OK);
}
