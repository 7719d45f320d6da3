/* SPDX-License-Identifier: MIT */
/*
 * Both recipes on one name: whoever comes later, or both, are told so, and
 * both recipes are named. Never do two of them hold it, whatever the order in
 * which their requests come.
 */
#include "tests/store_zookeeper/api/guest.h"

#include <string.h>

static void expect_told(int status, const hf_error *err)
{
    EXPECT_IS(status, HF_EUNSAFE);
    EXPECT_HAS(err->text, "recipe=fair");
    EXPECT_HAS(err->text, "recipe=simple");
    EXPECT_HAS(err->text, path_of("job"));
}

static void expect_refused(hf_client *client, int64_t wait_ms)
{
    hf_error err = HF_ERROR_INIT;
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_lock *lock = NULL;

    opts.wait_ms = wait_ms;
    expect_told(hf_acquire(client, "job", &opts, &lock, &err), &err);
}

static void await_nobody(void)
{
    UNTIL(hf__zookeeper_count(hf__zookeeper_shared(), path_of("job")) <= 0);
}

TEST(one_name_is_of_one_recipe)
{
    AUTO_CLIENT *fair = open_shared("recipe=fair");
    AUTO_CLIENT *simple = open_shared("recipe=simple");

    for (int i = 0; i < 2; i++) {
        AUTO_LOCK *lock = acquire(i == 0 ? fair : simple, "job");

        expect_refused(i == 0 ? simple : fair, 0);
        expect_refused(i == 0 ? simple : fair, 2000);
        expect_held(lock);
        EXPECT_IS(hf_release(lock, NULL), HF_OK);
        await_nobody();
    }
}

/* ---- the requests cross */

struct
try {
    hf_client *client;
    hf_lock *lock;
    hf_error err;
    int result;
};

static void try_it(void *arg)
{
    struct try *t = arg;
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    t->err = (hf_error)HF_ERROR_INIT;
    t->result = hf_acquire(t->client, "job", &opts, &t->lock, &t->err);
}

static hf_client *open_of(const char *recipe)
{
    char options[32];

    snprintf(options, sizeof options, "recipe=%s", recipe);
    return open_shared(options);
}

/* One's claim is there, and it has not heard so, when the other comes; which
 * sees it, and withdraws. Then the first is told what it saw before. */
static void cross(const char *first, const char *second)
{
    AUTO_PROXY *proxy = hf__proxy_start(
        hf__zookeeper_port(hf__zookeeper_shared()), &hf__framing_zookeeper);
    AUTO_CLIENT *early = open_through(proxy, first);
    AUTO_CLIENT *late = open_of(second);
    struct try t = {.client = early};

    take_and_give(early, "job"); /* the folder is there */
    hf__proxy_hold(proxy, HF__TO_CLIENT);
    struct hf__test_thread *thread = hf__test_start(try_it, &t);
    UNTIL(hf__zookeeper_count(hf__zookeeper_shared(), path_of("job")) >= 1);
    expect_refused(late, 0);
    hf__proxy_heal(proxy);
    hf__test_join(thread);
    EXPECT_IS(t.result, HF_OK);
    expect_held(t.lock);
    hf_free(t.lock);
}

CASE_WITHIN(60, who_comes_simply_behind_a_claim_on_its_way_is_told,
            cross("fair", "simple"));
CASE_WITHIN(60, who_comes_in_order_behind_a_lock_on_its_way_is_told,
            cross("simple", "fair"));

/* At once, again and again: one is granted at most, and each other is told. */
TEST_WITHIN(60, of_two_who_mix_them_at_once_one_is_granted_at_most)
{
    AUTO_CLIENT *fair = open_shared("recipe=fair");
    AUTO_CLIENT *simple = open_shared("recipe=simple");
    int n_granted = 0;
    int n_told = 0;

    for (int i = 0; i < 150; i++) {
        struct try tries[2] = {{.client = fair}, {.client = simple}};
        struct hf__test_thread *threads[2];

        for (int k = 0; k < 2; k++) {
            threads[k] = hf__test_start(try_it, &tries[(k + i) % 2]);
        }
        hf__test_join(threads[0]);
        hf__test_join(threads[1]);
        EXPECT_SAFE(tries[0].result != HF_OK || tries[1].result != HF_OK);
        for (int k = 0; k < 2; k++) {
            if (tries[k].result != HF_OK) {
                expect_told(tries[k].result, &tries[k].err);
                n_told++;
            } else {
                n_granted++;
                EXPECT_IS(hf_release(tries[k].lock, NULL), HF_OK);
            }
            hf_free(tries[k].lock);
        }
        await_nobody();
    }
    printf("# %d were granted, %d told\n", n_granted, n_told);
    EXPECT_MORE(n_told, 0);
}
