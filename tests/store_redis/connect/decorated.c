/* SPDX-License-Identifier: MIT */
/*
 * Behind the fault decorator the store is the same: it is told the URL's
 * scheme and whose session it is.
 */
#include "tests/store_redis/connect/site.h"

#include <string.h>

static void sleep_on_job(void *arg)
{
    struct door *d = arg;
    struct hf__watch watch = {.key = {"holdfast:job", 12, 9}, .fence = 7};
    struct hf__watch *watches[] = {&watch};
    struct hf__op op = {.kind = HF__OP_INSPECT, .key = watch.key};
    struct hf__op *ops[] = {&op};
    struct hf__record record = {.is_held = false};
    hf__time deadline = hf__after_ms(hf__now(), 5000);

    op.ret_record = &record;
    EXPECT_IS(hf__conn_execute(&d->conn, ops, 1, deadline, &d->error), HF_OK);
    EXPECT(record.is_held);
    watch.token = record.token;
    watch.fence = record.fence;
    EXPECT_IS(hf__conn_wait(&d->conn, watches, 1, deadline, &d->error), HF_OK);
    EXPECT(!watch.has_fired);
}

static void hold_job(struct door *d)
{
    static const struct hf__owner owner = {.label = "test", .pid = 1};
    struct hf__op op = {.kind = HF__OP_ACQUIRE,
                        .key = {"holdfast:job", 12, 9},
                        .token = {{1, 2, 3}},
                        .lease_us = 30000000,
                        .owner = &owner};
    struct hf__op *ops[] = {&op};

    EXPECT_IS(hf__conn_execute(&d->conn, ops, 1, hf__after_ms(hf__now(), 5000),
                               &d->error),
              HF_OK);
    EXPECT_IS(op.result, HF_OK);
}

TEST(a_waiter_is_known_by_its_client)
{
    AUTO_SERVER *r = hf__redis_start(NULL);
    DOOR(holder);
    DOOR(waiter);
    int64_t start = hf__test_now_ms();
    struct hf__test_thread *thread;

    EXPECT_IS(enter(&holder, url_of("redis://%s", at(r))), HF_OK);
    hold_job(&holder);
    waiter.conn.client = 0x1234;
    EXPECT_IS(enter(&waiter, url_of("fault+redis://%s", at(r))), HF_OK);
    thread = hf__test_start(sleep_on_job, &waiter);
    while (strstr(hf__redis_command(r, "PUBSUB CHANNELS"),
                  "holdfast;wake:0000000000001234") == NULL) {
        EXPECT_LESS(hf__test_now_ms() - start, 4000);
        hf__test_pause_ms(5);
    }
    hf__conn_interrupt(&waiter.conn);
    hf__test_join(thread);
}
