/* SPDX-License-Identifier: MIT */
/*
 * Every store, over the public API: cleaning up deletes what nobody uses and
 * says how much that was.
 */
#include "tests/contract/detached.h"
#include "tests/contract/peer.h"

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

TEST_IF(store_tells_ends(), a_cleaning_counts_apart_what_expired)
{
    AUTO_CLIENT *alice = open_logged(HF_LOG_INFO);
    hf_gc_info gone = HF_GC_INFO_INIT;
    char token[33];

    leave_behind(alice, "expired", 100, token);
    EXPECT_IS(try_once(alice, "released"), HF_OK);
    EXPECT_IS(try_once(alice, "another"), HF_OK);
    UNTIL(presence(alice, "expired") == HF_FREE);
    hf__test_pause_ms(5);
    EXPECT_IS(hf_gc(alice, 0, &gone, NULL), HF_OK);
    EXPECT_IS(gone.removed, 3);
    EXPECT_IS(gone.expired, 1);
    EXPECT_IS(gone.marks, 0);
    EXPECT(logged("event=gc removed=3 expired=1 marks=0 cells=0 result=HF_OK",
                  NULL));
    EXPECT_IS(hf_gc(alice, 0, &gone, NULL), HF_OK);
    EXPECT_IS(gone.removed, 0);
    EXPECT_IS(gone.expired, 0);
}

TEST_IF(store_tells_ends() && store_is_shared(),
        what_a_killed_holder_left_has_expired)
{
    struct peer *bob = start_peer();
    AUTO_CLIENT *alice = open_store();
    hf_gc_info gone = HF_GC_INFO_INIT;

    EXPECT_IS(peer_acquire(bob, "job", 0, patience(500)), HF_OK);
    kill_peer(bob);
    UNTIL_WITHIN(15000, hf_gc(alice, 0, &gone, NULL) == HF_OK && gone.removed);
    EXPECT_IS(gone.removed, 1);
    EXPECT_IS(gone.expired, 1);
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
    hf_gc_info gone = HF_GC_INFO_INIT;

    EXPECT_IS(hf_gc(NULL, 0, NULL, &err), HF_EINVAL);
    EXPECT_IS(hf_gc(alice, -1, NULL, &err), HF_EINVAL);
    EXPECT(strstr(err.text, "idle_ms"));
    EXPECT_IS(hf_gc(alice, INT64_MAX, NULL, &err), HF_EINVAL);
    gone.size = sizeof gone + 8;
    EXPECT_IS(hf_gc(alice, 0, &gone, &err), HF_EINVAL);
    gone.size = 0;
    EXPECT_IS(hf_gc(alice, 0, &gone, &err), HF_EINVAL);
    EXPECT(strstr(err.text, "HF_GC_INFO_INIT"));
}

TEST_IF(store_cleans(), a_cleaner_of_an_older_version_gets_what_it_knows)
{
    AUTO_CLIENT *alice = open_store();
    hf_gc_info gone = HF_GC_INFO_INIT;

    gone.size = offsetof(hf_gc_info, expired);
    gone.expired = 77;
    EXPECT_IS(try_once(alice, "job"), HF_OK);
    hf__test_pause_ms(5);
    EXPECT_IS(hf_gc(alice, 0, &gone, NULL), HF_OK);
    EXPECT_IS(gone.removed, 1);
    EXPECT_IS(gone.expired, 77);
}

TEST_IF(!store_cleans(), what_keeps_no_idle_records_says_so)
{
    AUTO_CLIENT *alice = open_store();
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(hf_gc(alice, 0, NULL, NULL), HF_ENOTSUP);
    EXPECT_IS(open_status(store_url("gc=1s"), &err), HF_EINVAL);
    EXPECT_HAS(err.text, "gc: this store keeps no idle");
}
