/* SPDX-License-Identifier: MIT */
/*
 * The server numbers claims with 32 bits, and near the end of them it gives the
 * same numbers again. Who stands in line before that is granted in order; who
 * comes later stands in no line, and is granted when that one is at its end
 * and the name's folder was made anew.
 */
#include "tests/store_zookeeper/api/guest.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#define PATH "/locks/test/job"

/* No claim with a number above this one is granted (node.c). */
#define LAST (INT32_MAX - 65536)

enum { WAITERS = 6, IN_LINE = 3 };

struct order {
    struct hf__test_thread *threads[WAITERS];
    int came[WAITERS]; /* the number of who was granted i-th */
    _Atomic int granted;
    _Atomic int inside;
    uint64_t last_fence; /* under the lock */
};

/* Each has a client of its own: those of one take turns before they ask. */
struct waiter {
    struct order *order;
    hf_client *client;
    int number;
    int shared;
};

static void wait_in_line(void *arg)
{
    struct waiter *w = arg;
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_lock *lock = NULL;

    opts.wait_ms = patience(20000);
    opts.shared = w->shared;
    EXPECT_IS(hf_acquire(w->client, "job", &opts, &lock, NULL), HF_OK);
    if (!w->shared) {
        EXPECT_SAFE_IS(atomic_fetch_add(&w->order->inside, 1), 0);
        EXPECT_SAFE_MORE(hf_fence(lock), w->order->last_fence);
        w->order->last_fence = hf_fence(lock);
    }
    w->order->came[atomic_fetch_add(&w->order->granted, 1)] = w->number;
    hf__test_pause_ms(5);
    atomic_fetch_sub(&w->order->inside, w->shared ? 0 : 1);
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
    hf_free(lock);
    hf_close(w->client);
}

static void await_count(struct hf__zookeeper *server, int n)
{
    UNTIL(hf__zookeeper_count(server, PATH) == n);
}

/* The folder, with so many numbers left that count. */
static struct hf__zookeeper *start_before_the_end(int n_left)
{
    struct hf__zookeeper *server = hf__zookeeper_start(NULL);

    hf__zookeeper_put(server, PATH, "");
    hf__zookeeper_set_sequence(server, PATH, LAST - n_left + 1);
    return server;
}

static hf_client *open_on(struct hf__zookeeper *server)
{
    return open_at(hf__zookeeper_port(server), "",
                   "/locks?prefix=test&session_timeout=20s");
}

/* They come one after the other; some stand in line behind the holder. */
static void line_up(struct hf__zookeeper *server, struct waiter waiters[],
                    struct order *order)
{
    for (int i = 0; i < WAITERS; i++) {
        waiters[i].order = order;
        waiters[i].client = open_on(server);
        waiters[i].number = i;
        order->threads[i] = hf__test_start(wait_in_line, &waiters[i]);
        if (i < IN_LINE) {
            await_count(server, i + 2);
        }
    }
    hf__test_pause_ms(100); /* the others come and go */
}

static void join_all(struct order *order)
{
    for (int i = 0; i < WAITERS; i++) {
        hf__test_join(order->threads[i]);
    }
}

TEST_WITHIN(60, a_line_keeps_its_order_where_the_numbers_end)
{
    AUTO_SERVER *server = start_before_the_end(IN_LINE + 1);
    AUTO_CLIENT *holder = open_on(server);
    AUTO_LOCK *lock = acquire(holder, "job");
    struct order order = {.granted = 0};
    struct waiter waiters[WAITERS] = {{.shared = 0}};

    line_up(server, waiters, &order);
    expect_held(lock);
    EXPECT_SAFE_IS(order.granted, 0);
    order.last_fence = hf_fence(lock);
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
    join_all(&order);
    EXPECT_SAFE_IS(order.granted, WAITERS);
    for (int i = 0; i < IN_LINE; i++) {
        EXPECT_SAFE_IS(order.came[i], i);
    }
    await_count(server, 0);
    take_and_give(holder, "job");
}

/* Shared, shared, alone in line; behind them shared, shared, alone. */
TEST_WITHIN(60, those_who_share_are_granted_where_the_numbers_end)
{
    AUTO_SERVER *server = start_before_the_end(IN_LINE + 1);
    AUTO_CLIENT *holder = open_on(server);
    AUTO_LOCK *lock = acquire(holder, "job");
    struct order order = {.granted = 0};
    struct waiter waiters[WAITERS];

    for (int i = 0; i < WAITERS; i++) {
        waiters[i].shared = i % 3 != 2;
    }
    line_up(server, waiters, &order);
    EXPECT_SAFE_IS(order.granted, 0);
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
    join_all(&order);
    EXPECT_SAFE_IS(order.granted, WAITERS);
    EXPECT_SAFE_IS(order.came[0] + order.came[1], 1);
    EXPECT_SAFE_IS(order.came[2], 2);
}
