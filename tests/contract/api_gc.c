/* SPDX-License-Identifier: MIT */
/*
 * Every store, over the public API: cleaning up deletes what nobody uses and
 * says how much that was.
 */
#include "tests/contract/api.h"

#include <stdatomic.h>
#include <string.h>

TEST_IF(store_cleans(), idle_names_are_cleaned_up_and_counted)
{
    HELD(held, alice);
    hf_gc_info gone = HF_GC_INFO_INIT;

    for (int i = 0; i < 3; i++) {
        char name[8];

        snprintf(name, sizeof name, "n%d", i);
        EXPECT_IS(try_once(alice, name), HF_OK);
    }
    hf__test_pause_ms(5);
    EXPECT_IS(hf_gc(alice, 3600000, &gone, NULL), HF_OK);
    EXPECT_IS(gone.removed, 0);
    EXPECT_IS(hf_gc(alice, 0, &gone, NULL), HF_OK);
    EXPECT_IS(gone.removed, 3);
    EXPECT_IS(hf_gc(alice, 0, &gone, NULL), HF_OK);
    EXPECT_IS(gone.removed, 0);
    expect_held(held);
    EXPECT_IS(hf_release(held, NULL), HF_OK);
}

TEST_IF(store_cleans(), another_prefix_is_left_alone)
{
    AUTO_CLIENT *alice = open_with("prefix=app");
    AUTO_CLIENT *bob = open_with("prefix=ap");
    hf_gc_info gone = HF_GC_INFO_INIT;

    EXPECT_IS(try_once(alice, "job"), HF_OK);
    hf__test_pause_ms(5);
    EXPECT_IS(hf_gc(bob, 0, &gone, NULL), HF_OK);
    EXPECT_IS(gone.removed, 0);
    EXPECT_IS(hf_gc(alice, 0, &gone, NULL), HF_OK);
    EXPECT_IS(gone.removed, 1);
}

enum { NAMES = 10, TURNS = 300, COMERS = 3 };
static atomic_int inside[NAMES];
static atomic_uint_least64_t fences[NAMES]; /* of each, the last */
static atomic_int n_done;

static void come_and_go(void *arg)
{
    hf_acquire_opts opts = wanting(patience(5000), HF_LEASE_DEFAULT_MS);
    char name[16];

    for (int i = 0; i < TURNS; i++) {
        AUTO_LOCK *lock = NULL;
        int n = i % NAMES;

        snprintf(name, sizeof name, "n%d", n);
        EXPECT_IS(hf_acquire(arg, name, &opts, &lock, NULL), HF_OK);
        EXPECT_SAFE_IS(atomic_fetch_add(&inside[n], 1), 0);
        EXPECT_SAFE(hf_fence(lock) >
                    atomic_exchange(&fences[n], hf_fence(lock)));
        atomic_fetch_sub(&inside[n], 1);
        EXPECT_IS(hf_release(lock, NULL), HF_OK);
    }
    atomic_fetch_add(&n_done, 1);
}

TEST_IF(store_can(HF_CAP_FENCE) && store_cleans(), cleaning_disturbs_nobody)
{
    CLIENTS(alice, bob);
    struct hf__test_thread *threads[COMERS];
    hf_gc_info gone = HF_GC_INFO_INIT;

    for (int i = 0; i < COMERS; i++) {
        threads[i] = hf__test_start(come_and_go, i == 0 ? bob : alice);
    }
    while (atomic_load(&n_done) < COMERS) {
        EXPECT_IS(hf_gc(bob, 0, NULL, NULL), HF_OK);
        hf__test_pause_ms(2);
    }
    hf__test_join_all(threads, COMERS);
    hf__test_pause_ms(5);
    EXPECT_IS(hf_gc(bob, 0, &gone, NULL), HF_OK);
    EXPECT_LESS(gone.removed, NAMES + 1);
    EXPECT_IS(hf_gc(bob, 0, &gone, NULL), HF_OK);
    EXPECT_IS(gone.removed, 0);
}

TEST(cleaning_with_bad_arguments_is_refused)
{
    AUTO_CLIENT *alice = open_store();
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(hf_gc(NULL, 0, NULL, &err), HF_EINVAL);
    EXPECT_IS(hf_gc(alice, -1, NULL, &err), HF_EINVAL);
    EXPECT(strstr(err.text, "idle_ms"));
    EXPECT_IS(hf_gc(alice, INT64_MAX, NULL, &err), HF_EINVAL);
}

TEST_IF(!store_cleans(), what_keeps_no_idle_records_says_so)
{
    AUTO_CLIENT *alice = open_store();
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(hf_gc(alice, 0, NULL, NULL), HF_ENOTSUP);
    EXPECT_IS(open_status(store_url("gc=1s"), &err), HF_EINVAL);
    EXPECT_HAS(err.text, "gc: this store keeps no idle");
}
