/* SPDX-License-Identifier: MIT */
/*
 * Thousands of locks: on few connections, each renewed by looking at it, in
 * time. And two clients of which each has what the other wants: the server
 * knows of no deadlock, so both wait as long as they are patient.
 */
#include "tests/store_mysql_session/world.h"

enum { MANY = 2000, BATCH = 200, BATCHES = MANY / BATCH, MOST = 100 };

static char names[MANY][12];

static void acquire_all(hf_client *client, hf_lock *locks[BATCHES])
{
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "n%05d", i);
    }
    for (int i = 0; i < BATCHES; i++) {
        hf_acquire_opts opts = wanting(patience(10000), HF_LEASE_DEFAULT_MS);
        const char *list[BATCH];
        hf_error err = HF_ERROR_INIT;
        int r;

        for (int k = 0; k < BATCH; k++) {
            list[k] = names[i * BATCH + k];
        }
        r = hf_acquire_many(client, list, BATCH, &opts, &locks[i], &err);
        if (r != HF_OK) {
            printf("%s\n", err.text);
        }
        EXPECT_IS(r, HF_OK);
    }
}

/* A line has so many at most; the client has some besides for what it asks. */
TEST_WITHIN(120, thousands_of_locks_need_few_connections_and_last)
{
    enum { OTHERS = 12 };
    hf_lock *locks[BATCHES];
    int64_t start = hf__test_now_ms();

    AUTO_CLIENT *alice = open_store();
    AUTO_CLIENT *bob = open_store();

    acquire_all(alice, locks);
    printf("%d locks on %d connections after %lld ms\n", MANY, connections(),
           (long long)since(start));
    EXPECT_LESS(connections(), MANY / MOST + OTHERS);
    EXPECT_MORE(connections(), MANY / MOST - 1);
    EXPECT_IS(hf_wait_lost(locks[0], 2 * session_ms()), HF_TIMEDOUT);
    for (int i = 0; i < BATCHES; i++) {
        expect_held(locks[i]);
    }
    EXPECT_IS(try_once(bob, names[0]), HF_BUSY);
    EXPECT_IS(try_once(bob, names[MANY - 1]), HF_BUSY);
    for (int i = 0; i < BATCHES; i++) {
        EXPECT_IS(hf_release(locks[i], NULL), HF_OK);
        hf_free(locks[i]);
    }
    EXPECT_IS(try_once(bob, names[0]), HF_OK);
    EXPECT_IS(try_once(bob, names[MANY - 1]), HF_OK);
    UNTIL(connections() < OTHERS);
}

/* What ends one of these connections costs its locks, and no other. */
TEST_WITHIN(60, the_end_of_one_connection_costs_its_locks_alone)
{
    hf_lock *locks[6];

    say_options("session_timeout=60s&locks_per_connection=2");
    AUTO_CLIENT *alice = open_store();

    for (int i = 0; i < 6; i++) {
        snprintf(names[i], sizeof names[i], "n%d", i);
        locks[i] = acquire(alice, names[i]);
    }
    EXPECT_IS(holder_of("n2"), holder_of("n3"));
    EXPECT_NOT(holder_of("n1"), holder_of("n2"));
    EXPECT_NOT(holder_of("n3"), holder_of("n4"));
    end_connection(holder_of("n2"));
    EXPECT_IS(hf_wait_lost(locks[2], patience(5000)), HF_LOST);
    EXPECT_IS(hf_wait_lost(locks[3], patience(5000)), HF_LOST);
    for (int i = 0; i < 6; i++) {
        EXPECT_IS(hf_held(locks[i]), i / 2 != 1);
        EXPECT_IS(hf_release(locks[i], NULL), i / 2 == 1 ? HF_LOST : HF_OK);
        hf_free(locks[i]);
    }
}

/* ---- a circle */

TEST_WITHIN(60, two_who_wait_for_each_other_wait_as_long_as_they_are_patient)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_CLIENT *bob = open_store();
    AUTO_LOCK *a = acquire(alice, "a");
    AUTO_LOCK *b = acquire(bob, "b");
    struct waiter one;
    struct waiter other;

    begin_to_wait(&one, alice, "b", 1500);
    begin_to_wait(&other, bob, "a", 1500);
    EXPECT_IS(end_waiting(&one), HF_TIMEDOUT);
    EXPECT_IS(end_waiting(&other), HF_TIMEDOUT);
    expect_held(a);
    expect_held(b);
    EXPECT_IS(hf_release(a, NULL), HF_OK);
    EXPECT_IS(attempt(bob, "a", patience(5000)), HF_OK);
}
