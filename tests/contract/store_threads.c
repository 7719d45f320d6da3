/* SPDX-License-Identifier: MIT */
/*
 * Every store: eight threads, each with a session of its own, and a counter
 * that loses updates unless the lock excludes. And that the suite is run
 * against every store there is.
 */
#include "tests/contract/vocabulary.h"

#include <stdatomic.h>
#include <string.h>

enum { THREADS = 8, ROUNDS = 40 };

static atomic_int counter;
static atomic_int inside;
static _Atomic uint64_t last_fence;

/* Read, pause, write: two at once would lose an update. */
static void count_one(struct party *p)
{
    EXPECT_SAFE_IS(atomic_fetch_add(&inside, 1), 0);
    if (has(HF_CAP_FENCE)) {
        EXPECT_SAFE_MORE(p->fence, atomic_load(&last_fence));
        atomic_store(&last_fence, p->fence);
    }
    int seen = atomic_load(&counter);
    if (seen % 8 == 0) {
        hf__test_pause_ms(1);
    }
    atomic_store(&counter, seen + 1);
    EXPECT_SAFE_IS(atomic_fetch_sub(&inside, 1), 1);
}

/* Who polls a quorum in step with others splits its votes for ever. */
static void until_acquired(struct party *p)
{
    static _Atomic unsigned n;
    struct waiting w;

    while (acquire(p, "counter") != HF_OK) {
        if (has(HF_CAP_WAIT)) {
            watch_name(&w, p, "counter");
            EXPECT_IS(wait_up_to(&w, 1000), HF_OK);
        } else {
            hf__test_pause_ms(1 + atomic_fetch_add(&n, 1) * 7 % 11);
        }
    }
}

static void count_many(void *arg)
{
    PARTY(worker);

    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        until_acquired(&worker);
        count_one(&worker);
        EXPECT_IS(release(&worker, "counter"), HF_OK);
    }
}

TEST_WITHIN(60, eight_threads_lose_no_update)
{
    struct hf__test_thread *threads[THREADS];

    hf__test_start_all(threads, THREADS, count_many, NULL);
    hf__test_join_all(threads, THREADS);
    EXPECT_IS(atomic_load(&counter), THREADS * ROUNDS);
}

static bool is_argument(const char *text)
{
    for (int i = 1; hf__test_args[i] != NULL; i++) {
        if (strcmp(hf__test_args[i], text) == 0) {
            return true;
        }
    }
    return false;
}

/* The build passes the list that it loops over; for decorated stores it loops
 * over the same one. */
TEST_IF(strchr(scheme(), '+') == NULL,
        the_suite_is_run_for_every_registered_store)
{
    int n = 0;

    for (; hf__store_name(n) != NULL; n++) {
        EXPECT(is_argument(hf__store_name(n)));
    }
    for (int i = 1; hf__test_args[i] != NULL; i++) {
        EXPECT(hf__backend_find(hf__test_args[i]) != NULL);
        EXPECT_LESS(i, n + 1);
    }
}
