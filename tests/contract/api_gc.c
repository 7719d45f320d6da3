/* SPDX-License-Identifier: MIT */
/*
 * Every store, over the public API: cleaning up deletes what nobody uses and
 * says how much that was.
 */
#include "tests/contract/api.h"

#include <string.h>

TEST_IF(store_cleans(), idle_names_are_cleaned_up_and_counted)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *held = acquire(alice, "held");
    uint64_t count = 99;

    for (int i = 0; i < 3; i++) {
        char name[8];

        snprintf(name, sizeof name, "n%d", i);
        EXPECT_IS(try_once(alice, name), HF_OK);
    }
    hf__test_pause_ms(5);
    EXPECT_IS(hf_gc(alice, 3600000, &count, NULL), HF_OK);
    EXPECT_IS(count, 0);
    EXPECT_IS(hf_gc(alice, 0, &count, NULL), HF_OK);
    EXPECT_IS(count, 3);
    EXPECT_IS(hf_gc(alice, 0, &count, NULL), HF_OK);
    EXPECT_IS(count, 0);
    expect_held(held);
    EXPECT_IS(hf_release(held, NULL), HF_OK);
}

TEST_IF(store_cleans(), another_prefix_is_left_alone)
{
    AUTO_CLIENT *alice = open_with("prefix=app");
    AUTO_CLIENT *bob = open_with("prefix=ap");
    uint64_t count = 0;

    EXPECT_IS(try_once(alice, "job"), HF_OK);
    hf__test_pause_ms(5);
    EXPECT_IS(hf_gc(bob, 0, &count, NULL), HF_OK);
    EXPECT_IS(count, 0);
    EXPECT_IS(hf_gc(alice, 0, &count, NULL), HF_OK);
    EXPECT_IS(count, 1);
}

TEST_IF(store_can(HF_CAP_FENCE) && store_cleans(),
        the_fence_goes_on_rising_after_cleaning)
{
    AUTO_CLIENT *alice = open_store();
    uint64_t last = 0;

    for (int i = 0; i < 5; i++) {
        AUTO_LOCK *job = acquire(alice, "job");

        EXPECT_SAFE_MORE(hf_fence(job), last);
        last = hf_fence(job);
        EXPECT_IS(hf_release(job, NULL), HF_OK);
        hf__test_pause_ms(2);
        EXPECT_IS(hf_gc(alice, 0, NULL, NULL), HF_OK);
    }
}

static void come_and_go(void *arg)
{
    char name[16];

    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "n%d", i % 10);
        EXPECT_IS(attempt(arg, name, patience(5000)), HF_OK);
    }
}

TEST_IF(store_cleans(), cleaning_disturbs_nobody)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_CLIENT *bob = open_store();
    struct hf__test_thread *threads[3];

    for (int i = 0; i < 3; i++) {
        threads[i] = hf__test_start(come_and_go, i == 0 ? bob : alice);
    }
    for (int i = 0; i < 50; i++) {
        EXPECT_IS(hf_gc(bob, 0, NULL, NULL), HF_OK);
        hf__test_pause_ms(2);
    }
    for (int i = 0; i < 3; i++) {
        hf__test_join(threads[i]);
    }
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
