/* SPDX-License-Identifier: MIT */
/*
 * Many that share a name, and others who want it alone: they are granted side
 * by side, never meet the others, and starve nobody.
 */
#include "tests/contract/api_line.h"
#include "tests/contract/peer.h"

enum { READERS = 6, ROUNDS = 60 };

static hf_client *common;
static atomic_int n_shared;
static atomic_int n_alone;

static void stay(atomic_int *kind)
{
    atomic_fetch_add(kind, 1);
    EXPECT_IS(atomic_load(kind == &n_shared ? &n_alone : &n_shared), 0);
    hf__test_pause_ms(1);
    EXPECT_IS(atomic_load(kind == &n_shared ? &n_alone : &n_shared), 0);
    atomic_fetch_sub(kind, 1);
}

static void share_again_and_again(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        hf_acquire_opts opts = shared(patience(10000));
        AUTO_LOCK *lock = must_acquire(arg, "job", &opts);

        stay(&n_shared);
        EXPECT_IS(hf_release(lock, NULL), HF_OK);
    }
}

/* Whoever is inside leaves only when it has met another: however slowly the
 * store grants, shared locks that exclude one another are found. */
static void share_until_met(void *arg)
{
    hf_acquire_opts opts = shared(patience(10000));
    AUTO_LOCK *lock = must_acquire(arg, "job", &opts);

    atomic_fetch_add(&n_shared, 1);
    for (int i = 0; i < 500 && atomic_load(&n_shared) < 2; i++) {
        hf__test_pause_ms(10);
    }
    EXPECT_MORE(atomic_load(&n_shared), 1);
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
}

static void be_alone_again_and_again(void *arg)
{
    for (int i = 0; i < ROUNDS / 4; i++) {
        hf_acquire_opts opts = wanting(patience(10000), HF_LEASE_DEFAULT_MS);
        AUTO_LOCK *lock = must_acquire(arg, "job", &opts);

        EXPECT_IS(atomic_fetch_add(&n_alone, 0), 0);
        stay(&n_alone);
        EXPECT_IS(hf_release(lock, NULL), HF_OK);
    }
}

TEST_WITHIN_IF(60, store_can(HF_CAP_SHARED),
               shared_locks_of_one_client_are_granted_side_by_side)
{
    AUTO_CLIENT *alice = open_store();
    struct hf__test_thread *threads[READERS];

    hf__test_start_all(threads, READERS, share_until_met, alice);
    hf__test_join_all(threads, READERS);
}

TEST_WITHIN_IF(60, store_can(HF_CAP_SHARED),
               who_shares_and_who_is_alone_never_meet)
{
    CLIENTS(alice, bob);
    struct hf__test_thread *threads[READERS];

    for (int i = 0; i < READERS; i++) {
        threads[i] = hf__test_start(i % 3 == 0 ? be_alone_again_and_again
                                               : share_again_and_again,
                                    i % 2 == 0 ? alice : bob);
    }
    hf__test_join_all(threads, READERS);
}

/* One of them always holds it: each stays until the next has come. */
static atomic_bool is_over;
static atomic_int n_came;

static void share_in_turns(void *arg)
{
    (void)arg;
    while (!atomic_load(&is_over)) {
        hf_acquire_opts opts = shared(patience(10000));
        AUTO_LOCK *lock = must_acquire(common, "job", &opts);
        int came = atomic_fetch_add(&n_came, 1);
        int64_t start = hf__test_now_ms();

        while (atomic_load(&n_came) == came + 1 && since(start) < 200 &&
               !atomic_load(&is_over)) {
            hf__test_pause_ms(1);
        }
        EXPECT_IS(hf_release(lock, NULL), HF_OK);
    }
}

TEST_WITHIN_IF(60, store_can(HF_CAP_SHARED),
               who_wants_it_alone_is_not_starved_by_those_who_share)
{
    CLIENTS(alice, bob);
    struct hf__test_thread *threads[3];

    common = alice;
    hf__test_start_all(threads, 3, share_in_turns, NULL);
    UNTIL(atomic_load(&n_came) >= 20);
    for (int i = 0; i < 3; i++) {
        EXPECT_SOON(await_free(bob, "job", patience(10000)), patience(3000));
    }
    atomic_store(&is_over, true);
    hf__test_join_all(threads, 3);
}

/* Behind a writer who waits, a reader sleeps as long as the holder stays. */
TEST_IF(store_can(HF_CAP_SHARED),
        a_reader_behind_a_writer_does_not_ask_all_the_time)
{
    CLIENTS(alice, bob, carol);
    hf_acquire_opts opts = shared(0);
    hf_acquire_opts alone = wanting(patience(10000), 30000);
    AUTO_LOCK *job = must_acquire(alice, "job", &opts);
    struct waiter writer = {0};
    struct waiter reader = {0};

    start_waiter(&writer, bob, &alone);
    await_waiters(alice, "job", 1);
    opts.wait_ms = patience(10000);
    start_waiter(&reader, carol, &opts);
    hf__test_pause_ms(1000);
    EXPECT_LESS(stats_of(carol).operations, 30);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(end_waiter(&writer), HF_OK);
    EXPECT_IS(end_waiter(&reader), HF_OK);
}
