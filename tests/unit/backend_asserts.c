/* SPDX-License-Identifier: MIT */
/*
 * What only a bug of ours could ask of a store, or a store's code answer,
 * stops the program: here it must. And what keys, tokens and fences are.
 */
#include "src/backend/conn.h"
#include "tests/lib/test.h"

#include <string.h>

static int fake_result;    /* of each operation */
static int execute_result; /* of the call */

static int fake_open(void *s, const struct hf__url *url, const char *allow,
                     hf__time deadline, hf_error *err)
{
    struct hf__head *head = s;

    (void)url;
    (void)allow;
    (void)deadline;
    (void)err;
    head->server_info.grade = 'B';
    return HF_OK;
}

static void fake_close(void *s)
{
    (void)s;
}

static int fake_execute(void *s, struct hf__op *ops[], int n, hf__time deadline,
                        hf_error *err)
{
    (void)s;
    (void)deadline;
    (void)err;
    for (int i = 0; i < n; i++) {
        ops[i]->result = fake_result;
    }
    return execute_result;
}

static struct hf__backend backend = {
    .scheme = "fake",
    .size = sizeof(struct hf__head),
    .open = fake_open,
    .close = fake_close,
    .execute = fake_execute,
};

static struct hf__conn conn;
static struct hf__owner owner;
static const struct hf__url url = {.scheme = "fake", .path = ""};

static void open_fake(void)
{
    EXPECT_IS(hf__conn_open(&conn, &backend, &url, "", HF__NEVER, NULL), HF_OK);
}

static struct hf__op make_op(enum hf__op_kind kind, const char *key)
{
    return (struct hf__op){
        .kind = kind,
        .key = {key, (uint16_t)strlen(key), 0},
        .token = {{1}},
        .next_token = {{2}},
        .lease_us = 1000000,
        .owner = &owner,
    };
}

static int execute_one(struct hf__op *op)
{
    return hf__conn_execute(&conn, &op, 1, HF__NEVER, NULL);
}

/* The fake itself harms nobody, so that the tests below fail for a reason. */
TEST(a_sound_operation_is_let_through)
{
    struct hf__op op = make_op(HF__OP_ACQUIRE, "k");

    open_fake();
    EXPECT_IS(execute_one(&op), HF_OK);
    hf__conn_close(&conn);
}

/* ---- what only we could get wrong --------------------------------------- */

static void execute_and_return(struct hf__op *ops[], int n)
{
    open_fake();
    EXPECT(hf__conn_execute(&conn, ops, n, HF__NEVER, NULL) <= 0);
}

static void execute_bad(struct hf__op op)
{
    struct hf__op *one = &op;

    execute_and_return(&one, 1);
}

/* An acquire that were sound but for this. */
#define UNSOUND(ident, ...)                                                    \
    MUST_FAIL(ident)                                                           \
    {                                                                          \
        struct hf__op op = make_op(HF__OP_ACQUIRE, "k");                       \
                                                                               \
        __VA_ARGS__;                                                           \
        execute_bad(op);                                                       \
    }                                                                          \
    struct hf__test

UNSOUND(an_acquire_without_a_token, op.token = (struct hf__token){{0}});
UNSOUND(an_acquire_without_a_lease, op.lease_us = 0);
UNSOUND(an_acquire_without_an_owner, op.owner = NULL);
UNSOUND(a_handover_to_oneself, op.kind = HF__OP_HANDOVER,
        op.next_token = op.token);
UNSOUND(a_keeping_where_the_store_keeps_nothing, op.keep_us = 1);
UNSOUND(a_detached_grant_where_there_is_none, op.is_detached = true);
UNSOUND(a_shared_grant_where_there_is_none,
        op.lock_mode.mode = HF__MODE_SHARED);
UNSOUND(slots_where_there_are_none,
        op.lock_mode = (struct hf__lock_mode){HF__MODE_SLOTS, 2});
UNSOUND(a_place_in_line_where_there_is_none, op.queueing = HF__QUEUE_ALWAYS);
UNSOUND(an_operation_that_timed_out, fake_result = HF_TIMEDOUT);

/* As the store were one that can do all of it. */
static struct hf__op able(struct hf__lock_mode lock_mode)
{
    struct hf__op op = make_op(HF__OP_ACQUIRE, "k");

    backend.caps = HF_CAP_FAIR | HF_CAP_SHARED | HF_CAP_SLOTS | HF_CAP_KEEP;
    op.lock_mode = lock_mode;
    op.fence = 1;
    return op;
}

TEST(what_a_store_can_do_may_be_asked_of_it)
{
    execute_bad(able((struct hf__lock_mode){HF__MODE_SHARED, 0}));
    hf__conn_close(&conn);
    execute_bad(able((struct hf__lock_mode){HF__MODE_SLOTS, HF_SLOTS_MAX}));
    hf__conn_close(&conn);
}

MUST_FAIL_CASE(slots_without_a_number,
               execute_bad(able((struct hf__lock_mode){HF__MODE_SLOTS, 0})));
MUST_FAIL_CASE(more_slots_than_there_can_be,
               execute_bad(able((struct hf__lock_mode){HF__MODE_SLOTS,
                                                       HF_SLOTS_MAX + 1})));

MUST_FAIL(a_keeping_of_what_is_shared)
{
    struct hf__op op = able((struct hf__lock_mode){HF__MODE_SHARED, 0});

    op.keep_us = 1;
    execute_bad(op);
}

MUST_FAIL(a_misfit_of_what_has_no_slots)
{
    fake_result = HF_EINVAL;
    execute_bad(able((struct hf__lock_mode){HF__MODE_SHARED, 0}));
}

MUST_FAIL_CASE(an_empty_key, execute_bad(make_op(HF__OP_INSPECT, "")));

MUST_FAIL(a_batch_that_is_not_sorted)
{
    struct hf__op b = make_op(HF__OP_INSPECT, "b");
    struct hf__op a = make_op(HF__OP_INSPECT, "a");
    struct hf__op *ops[] = {&b, &a};

    execute_and_return(ops, 2);
}

MUST_FAIL(a_batch_with_one_key_twice)
{
    struct hf__op a = make_op(HF__OP_INSPECT, "a");
    struct hf__op b = make_op(HF__OP_RENEW, "a");
    struct hf__op *ops[] = {&a, &b};

    execute_and_return(ops, 2);
}

MUST_FAIL_CASE(an_empty_batch, execute_and_return(NULL, 0));

MUST_FAIL(a_renewal_that_is_busy)
{
    fake_result = HF_BUSY;
    execute_bad(make_op(HF__OP_RENEW, "k"));
}

MUST_FAIL(a_call_that_gives_an_outcome)
{
    execute_result = HF_BUSY;
    execute_bad(make_op(HF__OP_INSPECT, "k"));
}

MUST_FAIL(a_call_on_a_dead_session)
{
    struct hf__op op = make_op(HF__OP_INSPECT, "k");

    execute_result = HF_EUNAVAIL;
    open_fake();
    EXPECT_IS(execute_one(&op), HF_EUNAVAIL);
    EXPECT_IS(execute_one(&op), HF_EUNAVAIL);
}

/* ---- keys, tokens, fences ----------------------------------------------- */

static int order_of(const char *a, const char *b)
{
    struct hf__key x = {a, (uint16_t)strlen(a), 0};
    struct hf__key y = {b, (uint16_t)strlen(b), 0};

    return hf__key_compare(&x, &y);
}

TEST(keys_are_in_the_order_of_their_bytes)
{
    EXPECT_LESS(order_of("a", "b"), 0);
    EXPECT_LESS(order_of("a", "aa"), 0);
    EXPECT_LESS(order_of("B", "a"), 0);
    EXPECT_LESS(order_of("z", "\xc3\xa4"), 0);
    EXPECT_MORE(order_of("b", "ab"), 0);
    EXPECT_IS(order_of("job", "job"), 0);
}

TEST(a_zero_token_is_nobody)
{
    struct hf__token t = {{0}};
    struct hf__token last = {{[15] = 1}};

    EXPECT(hf__token_is_zero(&t));
    EXPECT(!hf__token_is_zero(&last));
    EXPECT(hf__token_equal(&t, &t));
    EXPECT(!hf__token_equal(&t, &last));
}

TEST(a_token_as_text)
{
    static const struct hf__token token = {{0x01, 0x9a, 0xbf, [15] = 0xe0}};
    const char *digits = "019abf000000000000000000000000e0";
    char text[HF__TOKEN_TEXT_SIZE];
    struct hf__token t;

    hf__token_format(&token, text);
    EXPECT_TEXT(text, digits);
    EXPECT(hf__token_parse(text, &t) && hf__token_equal(&t, &token));
    EXPECT(!hf__token_parse("019abf000000000000000000000000e00", &t));
    EXPECT(!hf__token_parse("00000000000000000000000000000000", &t));
    EXPECT(!hf__token_parse(NULL, &t));
    /* In the middle of other things, where zero is nobody. */
    memset(text, '.', sizeof text);
    hf__token_write(&token, text);
    EXPECT(memcmp(text, digits, HF__TOKEN_DIGITS) == 0);
    EXPECT_IS(text[HF__TOKEN_DIGITS], '.');
    EXPECT(hf__token_read(text, &t) && hf__token_equal(&t, &token));
    EXPECT(hf__token_read("00000000000000000000000000000000/x", &t));
    EXPECT(hf__token_is_zero(&t));
    EXPECT(!hf__token_read("019abf", &t));
    EXPECT(!hf__token_read("0", &t));
    EXPECT(!hf__token_read("", &t));
    hf__token_hide("a 019ABF000000000000000000000000e0! 1764050000000000", 52,
                   text, sizeof text);
    EXPECT_TEXT(text, "a *! 1764050000000000");
    hf__token_hide(digits, HF__TOKEN_DIGITS, text, sizeof text);
    EXPECT_TEXT(text, "*");
    hf__token_hide("cut, at its end: x'019abf", 25, text, 5);
    EXPECT_TEXT(text, "cut,");
    EXPECT(!hf__token_read("019ABF000000000000000000000000e0", &t));
    EXPECT(!hf__token_read("019abg000000000000000000000000e0", &t));
}

TEST(the_next_fence_is_above_and_not_below_the_clock)
{
    EXPECT_IS(hf__fence_after(0, 1000), 1000);
    EXPECT_IS(hf__fence_after(999, 1000), 1000);
    EXPECT_IS(hf__fence_after(1000, 1000), 1001);
    EXPECT_IS(hf__fence_after(5000, 1000), 5001);
    EXPECT_IS(hf__fence_after(7, -5), 8);
    EXPECT_IS(hf__fence_after(0, 0), 1);
    EXPECT(hf__fence_after(UINT64_MAX, 1000) == UINT64_MAX);
}
