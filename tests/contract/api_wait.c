/* SPDX-License-Identifier: MIT */
/*
 * Waiting: within a client the waiters get the lock in the order in which
 * they came, between clients nobody is left out, and a waiter who goes away
 * or dies holds nobody up.
 */
#include "tests/contract/api_line.h"

enum { QUEUE = 50 };

static void begin_wait(struct waiter *w, hf_client *client, int64_t wait_ms)
{
    *w = (struct waiter){.opts = wanting(wait_ms, HF_LEASE_DEFAULT_MS)};
    start_sleeper(w, client, "job");
}

TEST(waiters_of_a_client_enter_in_the_order_of_arrival)
{
    HELD(job, alice);
    static struct waiter w[QUEUE];

    for (int i = 0; i < QUEUE; i++) {
        begin_wait(&w[i], alice, HF_FOREVER);
    }
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    for (int i = 0; i < QUEUE; i++) {
        EXPECT_IS(end_waiter(&w[i]), HF_OK);
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

    begin_wait(&w[0], alice, HF_FOREVER);
    begin_wait(&w[1], alice, 200);
    begin_wait(&w[2], alice, HF_FOREVER);
    EXPECT_IS(end_waiter(&w[1]), HF_TIMEDOUT);
    start = hf__test_now_ms();
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(end_waiter(&w[0]), HF_OK);
    EXPECT_IS(end_waiter(&w[2]), HF_OK);
    EXPECT_SOON(since(start), patience(5000));
    EXPECT_IS(w[0].place, 1);
    EXPECT_IS(w[2].place, 2);
}

TEST(the_first_waiter_who_gives_up_holds_nobody_up)
{
    HELD(job, alice, bob);
    struct waiter w[2];
    int64_t start;

    begin_wait(&w[0], bob, 200);
    begin_wait(&w[1], bob, HF_FOREVER);
    EXPECT_IS(end_waiter(&w[0]), HF_TIMEDOUT);
    start = hf__test_now_ms();
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(end_waiter(&w[1]), HF_OK);
    EXPECT_SOON(since(start), patience(5000));
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
        begin_wait(&w[i], clients[i % 3], patience(15000));
    }
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    for (int i = 0; i < 15; i++) {
        EXPECT_IS(end_waiter(&w[i]), HF_OK);
    }
}

TEST(a_wait_for_one_name_does_not_hold_up_another)
{
    HELD(job, alice, bob);
    struct waiter w;
    int64_t start;

    begin_wait(&w, bob, HF_FOREVER);
    start = hf__test_now_ms();
    for (int i = 0; i < 10; i++) {
        EXPECT_IS(try_once(bob, "other"), HF_OK);
        EXPECT_IS(presence(bob, "job"), HF_HELD_BY);
    }
    EXPECT_SOON(since(start), patience(5000));
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(end_waiter(&w), HF_OK);
}

TEST(waits_for_many_names_end_each_with_its_own_release)
{
    HELD(a, alice, bob);
    AUTO_LOCK *b = acquire(alice, "b");
    AUTO_LOCK *job = acquire(alice, "job");
    struct waiter w;
    int64_t start;

    begin_wait(&w, bob, HF_FOREVER);
    EXPECT_IS(attempt(bob, "a", 50), HF_TIMEDOUT);
    EXPECT_IS(hf_release(b, NULL), HF_OK);
    (void)await_free(bob, "b", patience(5000));
    expect_held(a);
    EXPECT_IS(w.place, 0);
    start = hf__test_now_ms();
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(end_waiter(&w), HF_OK);
    EXPECT_SOON(since(start), patience(5000));
}

TEST(a_waiter_enters_when_the_holders_client_closes)
{
    hf_client *alice = open_store();
    AUTO_CLIENT *bob = open_store();
    AUTO_LOCK *job = acquire(alice, "job");
    struct waiter w;
    int64_t start;

    begin_wait(&w, bob, HF_FOREVER);
    start = hf__test_now_ms();
    hf_close(alice);
    EXPECT_IS(end_waiter(&w), HF_OK);
    EXPECT_SOON(since(start), patience(5000));
    EXPECT_IS(hf_held(job), 0);
}

TEST(a_waiter_enters_though_the_holder_released_a_lost_lock)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *job = acquire_fixed(alice, "job", 300);
    struct waiter w[2];

    begin_wait(&w[0], alice, patience(5000));
    begin_wait(&w[1], bob, patience(5000));
    EXPECT_IS(hf_wait_lost(job, HF_FOREVER), HF_LOST);
    EXPECT_IS(hf_release(job, NULL), HF_LOST);
    EXPECT_IS(end_waiter(&w[0]), HF_OK);
    EXPECT_IS(end_waiter(&w[1]), HF_OK);
}
