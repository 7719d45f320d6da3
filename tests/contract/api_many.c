/* SPDX-License-Identifier: MIT */
/*
 * Several names in one lock: all of them or none, whatever ends the wait; what
 * is got first is kept and renewed meanwhile, and the lock is held only while
 * all are. Alice wants many, bob has one of them.
 */
#include "tests/contract/api.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The middle one is first, so that no order is right by chance. */
static const char *const three[] = {"b", "c", "a"};

static hf_lock *acquire_three(hf_client *client, int64_t lease_ms)
{
    hf_acquire_opts opts = wanting(patience(10000), lease_ms);
    hf_error err = HF_ERROR_INIT;
    hf_lock *lock = NULL;
    int r = hf_acquire_many(client, three, 3, &opts, &lock, &err);

    if (r) {
        printf("acquiring three: %s: %s\n", hf_strstatus(r), err.text);
    }
    EXPECT_IS(r, HF_OK);
    EXPECT(lock);
    return lock;
}

static void expect_all(hf_client *client, hf_presence expected)
{
    for (int i = 0; i < 3; i++) {
        EXPECT_IS(presence(client, three[i]), expected);
    }
}

/* An acquire of the three in a thread of its own. */
struct wait {
    hf_client *client;
    hf_acquire_opts opts;
    hf_lock *lock;
    hf_error err;
    _Atomic int number;
    int status;
    struct hf__test_thread *thread;
};

static void wait_for_three(void *arg)
{
    struct wait *w = arg;

    atomic_store(&w->number, thread_number());
    w->status =
        hf_acquire_many(w->client, three, 3, &w->opts, &w->lock, &w->err);
}

static void start_wait(struct wait *w, hf_client *client, hf_cancel *cancel)
{
    w->client = client;
    w->opts = wanting(HF_FOREVER, HF_LEASE_DEFAULT_MS);
    w->opts.cancel = cancel;
    w->err = (hf_error)HF_ERROR_INIT;
    w->lock = NULL;
    atomic_init(&w->number, 0);
    w->thread = hf__test_start(wait_for_three, w);
}

static int end_wait(struct wait *w)
{
    hf__test_join(w->thread);
    EXPECT_IS(w->lock != NULL, w->status == HF_OK);
    return w->status;
}

TEST(many_names_are_held_and_released_as_one)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *lock = acquire_three(alice, HF_LEASE_DEFAULT_MS);

    expect_held(lock);
    EXPECT_IS(hf_count(lock), 3);
    for (int i = 0; i < 3; i++) {
        AUTO_INFO *info = look_at(bob, three[i]);

        EXPECT_TEXT(hf_name_at(lock, i), three[i]);
        EXPECT_IS(hf_info_fence(info), hf_fence_at(lock, i));
        EXPECT_IS(try_once(bob, three[i]), HF_BUSY);
    }
    EXPECT_TEXT(hf_name(lock), "b");
    EXPECT_IS(hf_fence(lock), hf_fence_at(lock, 0));
    EXPECT_IS(hf_renew(lock, NULL), HF_OK);
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
    expect_all(bob, HF_FREE);
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
    EXPECT_IS(hf_renew(lock, NULL), HF_LOST);
    EXPECT_IS(hf_held(lock), 0);
    EXPECT_IS(hf_state(lock), HF_STATE_RELEASED);
    EXPECT_IS(hf_wait_lost(lock, 0), HF_OK);
}

TEST(a_lock_of_one_name_counts_one)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *lock = acquire(alice, "job");
    const char *const one[] = {"other"};
    hf_acquire_opts opts = wanting(0, HF_LEASE_DEFAULT_MS);
    AUTO_LOCK *other = NULL;

    EXPECT_IS(hf_acquire_many(alice, one, 1, &opts, &other, NULL), HF_OK);
    EXPECT_IS(hf_count(lock), 1);
    EXPECT_TEXT(hf_name_at(lock, 0), "job");
    EXPECT_IS(hf_fence_at(lock, 0), hf_fence(lock));
    EXPECT_IS(hf_count(other), 1);
    EXPECT_TEXT(hf_name_at(other, 0), "other");
    EXPECT_TEXT(hf_name_at(other, 1), "");
    EXPECT_TEXT(hf_name_at(other, -1), "");
    EXPECT_IS(hf_fence_at(other, 1), 0);
    EXPECT_IS(hf_count(NULL), 0);
    EXPECT_TEXT(hf_name_at(NULL, 0), "");
}

TEST_IF(store_has_room(), the_most_names_cost_one_batch_each_way)
{
    AUTO_CLIENT *alice = open_lasting("connections=1");
    hf_acquire_opts opts = wanting(0, HF_LEASE_MAX_MS);
    const char *names[HF_MANY_MAX];
    char texts[HF_MANY_MAX][8];
    AUTO_LOCK *warm = acquire(alice, "warm");
    uint64_t before = stats_of(alice).batches;
    AUTO_LOCK *lock = NULL;

    for (int i = 0; i < HF_MANY_MAX; i++) {
        snprintf(texts[i], sizeof texts[i], "n%d", i);
        names[i] = texts[i];
    }
    EXPECT_IS(hf_acquire_many(alice, names, HF_MANY_MAX, &opts, &lock, NULL),
              HF_OK);
    EXPECT_IS(stats_of(alice).batches, before + 1);
    EXPECT_IS(hf_renew(lock, NULL), HF_OK);
    EXPECT_IS(stats_of(alice).batches, before + 2);
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
    EXPECT_IS(stats_of(alice).batches, before + 3);
    expect_held(warm);
}

/* ---- all or nothing */

TEST(one_busy_name_leaves_none_and_is_named)
{
    CLIENTS(alice, bob);
    hf_acquire_opts opts = wanting(0, HF_LEASE_DEFAULT_MS);
    hf_error err = HF_ERROR_INIT;

    for (int i = 0; i < 3; i++) {
        AUTO_LOCK *busy = acquire(bob, three[i]);
        AUTO_LOCK *lock = NULL;
        char text[128];

        snprintf(text, sizeof text, "\"%s\" is held by ", three[i]);
        EXPECT_IS(hf_acquire_many(alice, three, 3, &opts, &lock, &err),
                  HF_BUSY);
        EXPECT(!lock);
        EXPECT_HAS(err.text, text);
        EXPECT_IS(err.status, HF_BUSY);
        EXPECT_IS(hf_release(busy, NULL), HF_OK);
        expect_all(bob, HF_FREE);
    }
}

TEST(a_wait_keeps_what_sorts_before_and_no_more)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *busy = acquire(bob, "b");
    struct wait w;

    start_wait(&w, alice, NULL);
    UNTIL(presence(bob, "a") == HF_HELD_BY);
    UNTIL(presence(bob, "c") == HF_FREE); /* it is given back, if it was had */
    await_sleep(&w.number);
    EXPECT_IS(presence(bob, "c"), HF_FREE);
    EXPECT_IS(try_once(bob, "a"), HF_BUSY);
    EXPECT_IS(hf_release(busy, NULL), HF_OK);
    EXPECT_IS(end_wait(&w), HF_OK);
    expect_held(w.lock);
    hf_free(w.lock);
    expect_all(bob, HF_FREE);
}

TEST(a_wait_that_times_out_leaves_nothing)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *busy = acquire(bob, "b");
    hf_acquire_opts opts = wanting(300, HF_LEASE_DEFAULT_MS);
    hf_error err = HF_ERROR_INIT;
    AUTO_LOCK *lock = NULL;
    int64_t start = hf__test_now_ms();

    EXPECT_IS(hf_acquire_many(alice, three, 3, &opts, &lock, &err),
              HF_TIMEDOUT);
    EXPECT_MORE(since(start), 299);
    EXPECT_SOON(since(start), patience(5000));
    EXPECT_HAS(err.text, "\"b\" is held by ");
    EXPECT_IS(try_once(bob, "a"), HF_OK);
    EXPECT_IS(try_once(bob, "c"), HF_OK);
    EXPECT_IS(hf_held(busy), 1);
}

TEST(a_wait_that_is_cancelled_leaves_nothing)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *busy = acquire(bob, "b");
    AUTO_CANCEL *cancel = new_cancel();
    int64_t fired;
    struct wait w;

    start_wait(&w, alice, cancel);
    UNTIL(presence(bob, "a") == HF_HELD_BY);
    await_sleep(&w.number);
    fired = hf__test_now_ms();
    hf_cancel_fire(cancel);
    EXPECT_IS(end_wait(&w), HF_CANCELLED);
    EXPECT_SOON(since(fired), patience(5000));
    EXPECT_HAS(w.err.text, "\"b\"");
    expect_held(busy);
    EXPECT_IS(presence(bob, "a"), HF_FREE);
    EXPECT_IS(presence(bob, "c"), HF_FREE);
    /* Before it began, too. */
    EXPECT_IS(hf_acquire_many(alice, three, 3, &w.opts, &w.lock, NULL),
              HF_CANCELLED);
}

static void fire_soon(void *cancel)
{
    hf__test_pause_ms(rand() % 8);
    hf_cancel_fire(cancel);
}

/* At any moment: in the round, in the wait, between the two. */
TEST_WITHIN(40, a_cancel_at_any_moment_leaves_nothing)
{
    CLIENTS(alice, bob);

    srand((unsigned)hf__test_seed());
    for (int i = 0; i < 60; i++) {
        AUTO_CANCEL *cancel = new_cancel();
        AUTO_LOCK *busy = acquire(i % 2 ? alice : bob, three[i % 3]);
        hf_acquire_opts opts = wanting(HF_FOREVER, HF_LEASE_DEFAULT_MS);
        struct hf__test_thread *t = hf__test_start(fire_soon, cancel);
        hf_error err = HF_ERROR_INIT;
        AUTO_LOCK *lock = NULL;

        opts.cancel = cancel;
        EXPECT_IS(hf_acquire_many(alice, three, 3, &opts, &lock, &err),
                  HF_CANCELLED);
        EXPECT_NOT(err.text[0], 0);
        hf__test_join(t);
        EXPECT_IS(hf_release(busy, NULL), HF_OK);
        for (int k = 0; k < 3; k++) {
            (void)await_free(bob, three[k], patience(5000));
        }
    }
}

TEST_IF(store_can(HF_CAP_KEEP), min_hold_does_not_keep_what_was_given_back)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *busy = acquire(bob, "b");
    hf_acquire_opts opts = wanting(50, HF_LEASE_DEFAULT_MS);
    AUTO_LOCK *lock = NULL;

    opts.min_hold_ms = 60000;
    EXPECT_IS(hf_acquire_many(alice, three, 3, &opts, &lock, NULL),
              HF_TIMEDOUT);
    EXPECT_IS(try_once(bob, "a"), HF_OK);
    EXPECT_IS(try_once(bob, "c"), HF_OK);
    EXPECT_IS(hf_release(busy, NULL), HF_OK);
    EXPECT_IS(hf_acquire_many(alice, three, 3, &opts, &lock, NULL), HF_OK);
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
    EXPECT_IS(try_once(bob, "a"), HF_BUSY);
}
