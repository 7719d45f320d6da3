/* SPDX-License-Identifier: MIT */
/*
 * Each grant has a number above that of every earlier grant of its name, and
 * a secret of its own. Whatever ended the grant before, the number rises.
 */
#include "tests/contract/api.h"

#include <string.h>

/* The number of a grant that is given back at once. */
static uint64_t next_fence(hf_client *client)
{
    AUTO_LOCK *job = acquire(client, "job");

    EXPECT_LESS(hf_fence(job), INT64_C(1) << 53);
    return hf_fence(job);
}

TEST(a_store_without_fences_gives_none)
{
    AUTO_CLIENT *alice = open_store();

    EXPECT_IS(next_fence(alice) != 0, store_can(HF_CAP_FENCE));
}

TEST(a_renewal_keeps_fence_and_token)
{
    HELD(job, alice);
    uint64_t fence = hf_fence(job);
    char token[64];

    snprintf(token, sizeof token, "%s", hf_token(job));
    EXPECT_IS(hf_renew(job, NULL), HF_OK);
    EXPECT_IS(hf_fence(job), fence);
    EXPECT_TEXT(hf_token(job), token);
}

struct hand {
    hf_client *client;
    uint64_t fences[50];
    int n;
};

/* The numbers are kept under the lock that gave them, in order of grants. */
static void take_turns(void *arg)
{
    struct hand *h = arg;

    for (int i = 0; i < 10; i++) {
        AUTO_LOCK *job = acquire(h->client, "job");
        int n = __atomic_load_n(&h->n, __ATOMIC_SEQ_CST);

        __atomic_store_n(&h->fences[n], hf_fence(job), __ATOMIC_SEQ_CST);
        __atomic_store_n(&h->n, n + 1, __ATOMIC_SEQ_CST);
    }
}

TEST_IF(store_can(HF_CAP_FENCE), the_fence_rises_from_thread_to_thread)
{
    AUTO_CLIENT *alice = open_store();
    struct hand h = {.client = alice};
    struct hf__test_thread *threads[5];

    hf__test_start_all(threads, 5, take_turns, &h);
    hf__test_join_all(threads, 5);
    EXPECT_IS(h.n, 50);
    for (int i = 1; i < 50; i++) {
        EXPECT_SAFE_MORE(h.fences[i], h.fences[i - 1]);
    }
}

static void expect_hex(const char *token)
{
    EXPECT_IS(strlen(token), 32);
    EXPECT_IS(strspn(token, "0123456789abcdef"), 32);
}

TEST(each_grant_has_a_secret_of_its_own)
{
    AUTO_CLIENT *alice = open_store();
    char tokens[20][33];

    for (int i = 0; i < 20; i++) {
        AUTO_LOCK *job = acquire(alice, "job");

        expect_hex(hf_token(job));
        snprintf(tokens[i], sizeof tokens[i], "%s", hf_token(job));
        for (int k = 0; k < i; k++) {
            EXPECT_NOT(strcmp(tokens[i], tokens[k]), 0);
        }
    }
}

TEST(no_line_of_the_log_tells_a_secret)
{
    AUTO_CLIENT *alice = open_logged(HF_LOG_DEBUG);
    AUTO_CLIENT *bob = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(1500));
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(hf_renew(job, NULL), HF_OK);
    EXPECT_IS(hf_break(bob, "job", 0, NULL), HF_OK);
    EXPECT_IS(hf_wait_lost(job, HF_FOREVER), HF_LOST);
    EXPECT_IS(hf_release(job, &err), HF_LOST);
    EXPECT(!logged(hf_token(job), NULL));
    EXPECT(!strstr(err.text, hf_token(job)));
}
