/* SPDX-License-Identifier: MIT */
/*
 * How long the server keeps what: a record until the clock has passed its
 * fence, a line while somebody stands in it; and what holds when one of a
 * name's keys is gone and another is not.
 */
#include "src/backend/conn.h"
#include "src/backend/registry.h"
#include "tests/store_redis/world.h"

#include <stdlib.h>
#include <string.h>

#define LEASE_US INT64_C(60000000)
#define DAY_MS   INT64_C(86400000)
#define DAY_US   (1000 * DAY_MS)

static struct hf__conn session;

#define SESSION                                                                \
    HF_AUTO(end_session) struct hf__conn *own_session = begin();               \
    (void)own_session

static void end_session(struct hf__conn **c)
{
    hf__conn_close(*c);
}

static struct hf__conn *begin(void)
{
    open_session(&session, url_as("", ""));
    return &session;
}

/* One operation of claim `who` on "job". */
static struct hf__op run(enum hf__op_kind kind, int who, struct hf__op op)
{
    static const struct hf__owner whose = {.label = "test", .pid = 1};
    struct hf__op *ops[] = {&op};
    hf_error err = HF_ERROR_INIT;

    op.kind = kind;
    op.key = (struct hf__key){"holdfast:job", 12, 9};
    op.token = (struct hf__token){{(unsigned char)who, 1}};
    op.lease_us = LEASE_US;
    op.owner = &whose;
    op.err = &err;
    EXPECT_IS(hf__conn_execute(&session, ops, 1,
                               hf__after_ms(hf__now(), patience(20000)), &err),
              HF_OK);
    return op;
}

static struct hf__op take(int who, enum hf__mode mode, enum hf__queueing q)
{
    return run(HF__OP_ACQUIRE, who,
               (struct hf__op){.lock_mode = {mode, 0}, .queueing = q});
}

static struct hf__op with_fence(enum hf__op_kind kind, int who, uint64_t fence)
{
    return run(kind, who, (struct hf__op){.fence = fence});
}

/* Of "holdfast:{job}", ":q" or ":b". */
static int64_t left_ms(const char *ending)
{
    const char *said =
        hf__redis_command(server(), "PTTL %s%s", record("job"), ending);

    return strtoll(said, NULL, 10);
}

static void cut(const char *ending)
{
    EXPECT_TEXT(
        hf__redis_command(server(), "PEXPIRE %s%s 5000", record("job"), ending),
        "1");
}

static void drop(const char *ending)
{
    EXPECT_TEXT(hf__redis_command(server(), "DEL %s%s", record("job"), ending),
                "1");
}

/* ---- fences */

/* As a quorum raises it whose fastest member's clock is ahead. */
TEST(a_fence_ahead_of_the_clock_is_kept_until_the_clock_has_passed_it)
{
    SESSION;
    struct hf__op op = take(1, HF__MODE_EXCLUSIVE, HF__QUEUE_NEVER);
    uint64_t far = op.fence + 3 * (uint64_t)DAY_US;

    EXPECT_IS(with_fence(HF__OP_RAISE, 1, far).result, HF_OK);
    EXPECT_MORE(left_ms(""), 4 * DAY_MS - 60000);
    cut("");
    EXPECT_IS(with_fence(HF__OP_RENEW, 1, far).result, HF_OK);
    EXPECT_MORE(left_ms(""), 4 * DAY_MS - 60000);
    EXPECT_IS(with_fence(HF__OP_RELEASE, 1, far).result, HF_OK);
    cut("");
    op = take(2, HF__MODE_EXCLUSIVE, HF__QUEUE_NEVER);
    EXPECT_SAFE_MORE(op.fence, far);
    EXPECT_MORE(left_ms(""), 4 * DAY_MS - 60000);
    EXPECT_LESS(left_ms(""), 4 * DAY_MS + 60000);
    EXPECT_IS(with_fence(HF__OP_RELEASE, 2, op.fence).result, HF_OK);
    cut("");
    op = take(3, HF__MODE_SHARED, HF__QUEUE_NEVER);
    EXPECT_SAFE_MORE(op.fence, far);
    EXPECT_MORE(left_ms(""), 4 * DAY_MS - 60000);
    cut("");
    EXPECT_IS(with_fence(HF__OP_RAISE, 3, op.fence + DAY_US).result, HF_OK);
    EXPECT_MORE(left_ms(""), 5 * DAY_MS - 60000);
}

/* ---- lines */

/* Who shares has given the key of the line's facts its day already. */
TEST(a_line_is_kept_no_longer_than_the_record)
{
    SESSION;

    EXPECT_IS(take(1, HF__MODE_SHARED, HF__QUEUE_NEVER).result, HF_OK);
    EXPECT(take(2, HF__MODE_EXCLUSIVE, HF__QUEUE_BEHIND_SHARED).is_queued);
    EXPECT_MORE(left_ms(":q"), DAY_MS - 1);
    EXPECT_LESS(left_ms(":q"), 2 * DAY_MS);
}

TEST(a_line_is_kept_as_long_as_somebody_stands_in_it)
{
    static const char *const endings[] = {"", ":q", ":b"};
    SESSION;

    EXPECT_IS(take(1, HF__MODE_SHARED, HF__QUEUE_NEVER).result, HF_OK);
    EXPECT(take(2, HF__MODE_EXCLUSIVE, HF__QUEUE_ALWAYS).is_queued);
    for (int i = 0; i < 3; i++) {
        cut(endings[i]);
        EXPECT(take(2, HF__MODE_EXCLUSIVE, HF__QUEUE_ALWAYS).is_queued);
        EXPECT_MORE(left_ms(endings[i]), DAY_MS - 1);
    }
}

TEST(who_is_told_that_it_stands_in_line_does)
{
    SESSION;

    EXPECT_IS(take(1, HF__MODE_SHARED, HF__QUEUE_NEVER).result, HF_OK);
    EXPECT(take(2, HF__MODE_EXCLUSIVE, HF__QUEUE_ALWAYS).is_queued);
    EXPECT_IS(take(3, HF__MODE_SHARED, HF__QUEUE_NEVER).result, HF_BUSY);
    drop(":q");
    EXPECT(take(2, HF__MODE_EXCLUSIVE, HF__QUEUE_ALWAYS).is_queued);
    EXPECT_IS(take(3, HF__MODE_SHARED, HF__QUEUE_NEVER).result, HF_BUSY);
    EXPECT_TEXT(hf__redis_command(server(), "ZCARD %s:q", record("job")), "1");
}

/* ---- a record that is gone, unlike those beside one another */

TEST(who_shares_a_name_without_a_record_holds_it_still)
{
    SESSION;
    struct hf__op one = take(1, HF__MODE_SHARED, HF__QUEUE_NEVER);
    struct hf__op next;

    drop("");
    EXPECT_IS(take(2, HF__MODE_EXCLUSIVE, HF__QUEUE_NEVER).result, HF_BUSY);
    drop("");
    EXPECT_IS(with_fence(HF__OP_RENEW, 1, one.fence).result, HF_OK);
    EXPECT(take(2, HF__MODE_EXCLUSIVE, HF__QUEUE_ALWAYS).is_queued);
    EXPECT_IS(take(3, HF__MODE_SHARED, HF__QUEUE_NEVER).result, HF_BUSY);
    drop("");
    EXPECT_IS(with_fence(HF__OP_RELEASE, 1, one.fence).result, HF_OK);
    EXPECT_IS(take(3, HF__MODE_SHARED, HF__QUEUE_NEVER).result, HF_BUSY);
    next = take(2, HF__MODE_EXCLUSIVE, HF__QUEUE_ALWAYS);
    EXPECT_IS(next.result, HF_OK);
    EXPECT_SAFE_MORE(next.fence, one.fence);
    EXPECT_IS(with_fence(HF__OP_RELEASE, 2, next.fence).result, HF_OK);
    EXPECT_IS(count_keys(), 1);
}

TEST(of_a_record_that_is_gone_no_fence_falls)
{
    SESSION;
    struct hf__op one = take(1, HF__MODE_SHARED, HF__QUEUE_NEVER);
    struct hf__op two;

    one = with_fence(HF__OP_RAISE, 1, one.fence + 3600000000);
    EXPECT_IS(one.result, HF_OK);
    drop("");
    two = take(2, HF__MODE_SHARED, HF__QUEUE_NEVER);
    EXPECT_IS(two.result, HF_OK);
    EXPECT_SAFE_MORE(two.fence, one.fence);
    drop("");
    EXPECT_IS(with_fence(HF__OP_BREAK, 1, 0).result, HF_OK);
    EXPECT_IS(with_fence(HF__OP_RENEW, 2, two.fence).result, HF_LOST);
    one = take(3, HF__MODE_EXCLUSIVE, HF__QUEUE_NEVER);
    EXPECT_IS(one.result, HF_OK);
    EXPECT_SAFE_MORE(one.fence, two.fence);
}
