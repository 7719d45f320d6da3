/* SPDX-License-Identifier: MIT */
/*
 * Batches as the core sends them, past it: how long each operation of one waits
 * for members that are slow, what goes out of one that is interrupted, and who
 * confirms a renewal.
 */
#include "src/backend/redlock/redlock.h"
#include "tests/servers/proxy.h"
#include "tests/store_redlock/world.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

extern const struct hf__backend hf__redlock_backend;

/* ---- a session, and operations of it */

static struct hf__redlock session;
static struct hf__owner nobody = {.label = "batch"};

static void open_session(const char *url_text)
{
    struct hf__url *url = NULL;
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(hf__url_parse(url_text, &url, &err), HF_OK);
    session.head.generation = 1;
    EXPECT_IS(hf__redlock_backend.open(&session, url, "",
                                       hf__after_ms(hf__now(), 10000), &err),
              HF_OK);
    hf__url_free(url);
}

static struct hf__op op_of(enum hf__op_kind kind, const char *key,
                           int64_t lease_ms)
{
    struct hf__op op = {.kind = kind,
                        .result = HF_EUNAVAIL,
                        .key = {key, (uint16_t)strlen(key), 9},
                        .lease_us = lease_ms * 1000,
                        .owner = &nobody,
                        .sent = hf__now()};

    memset(op.token.bytes, key[9], sizeof op.token.bytes);
    return op;
}

static void run(struct hf__op *a, struct hf__op *b)
{
    struct hf__op *ops[] = {a, b};

    EXPECT_IS(hf__redlock_backend.execute(&session, ops, b == NULL ? 1 : 2,
                                          hf__after_ms(hf__now(), 10000), NULL),
              HF_OK);
}

/* ---- slow members: the first two are behind proxies */

enum { SLOW = 2 };
static struct hf__proxy *proxies[SLOW];

static void open_slow(int64_t delay_ms)
{
    char url[200];

    for (int i = 0; i < SLOW; i++) {
        proxies[i] = hf__proxy_start(port_of(i), &hf__framing_none);
    }
    snprintf(
        url, sizeof url, "redlock://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d",
        hf__proxy_port(proxies[0]), hf__proxy_port(proxies[1]), port_of(2));
    open_session(url);
    for (int i = 0; i < SLOW; i++) {
        hf__proxy_delay(proxies[i], HF__TO_CLIENT, delay_ms);
    }
}

static void close_slow(void)
{
    hf__redlock_backend.close(&session);
    for (int i = 0; i < SLOW; i++) {
        hf__proxy_free(proxies[i]);
    }
}

TEST_WITHIN(60, a_short_lease_ends_no_other_claim)
{
    GROUP(3);
    struct hf__op a = op_of(HF__OP_ACQUIRE, "holdfast:a", 30000);
    struct hf__op b = op_of(HF__OP_ACQUIRE, "holdfast:b", 1000);

    open_slow(400);
    run(&a, &b);
    EXPECT_IS(a.result, HF_OK);
    EXPECT_IS(b.result, HF_EUNKNOWN);
    close_slow();
}

/* They are retried, which only the end of the batch allows. */
TEST_WITHIN(60, a_renewal_of_a_short_lease_ends_the_others)
{
    GROUP(3);
    struct hf__op a = op_of(HF__OP_ACQUIRE, "holdfast:a", 30000);
    struct hf__op b = op_of(HF__OP_ACQUIRE, "holdfast:b", 1000);
    int64_t start;

    open_slow(0);
    run(&a, &b);
    EXPECT_IS(a.result, HF_OK);
    EXPECT_IS(b.result, HF_OK);
    a.kind = b.kind = HF__OP_RENEW;
    a.result = b.result = HF_EUNAVAIL;
    for (int i = 0; i < SLOW; i++) {
        hf__proxy_hold(proxies[i], HF__TO_CLIENT);
    }
    start = hf__test_now_ms();
    run(&a, &b);
    EXPECT_IS(a.result, HF_EUNKNOWN);
    EXPECT_IS(b.result, HF_EUNKNOWN);
    EXPECT_SOON(since(start), patience(400));
    close_slow();
}

/* Each member gives a fence of its own, and each round takes most of what
 * both may take. */
TEST_WITHIN(60, a_second_round_has_a_time_of_its_own)
{
    AUTO_GROUP *g = durable_group(3);
    struct hf__op a = op_of(HF__OP_ACQUIRE, "holdfast:a", 30000);

    for (int i = 0; i < hf__redis_group_size(g); i++) {
        (void)hf__redis_command(member(i),
                                "HMSET holdfast:{a} fence %s%d "
                                "expires 0",
                                "900000000000000", i);
    }
    open_slow(1000);
    run(&a, NULL);
    EXPECT_IS(a.result, HF_OK);
    EXPECT_IS(a.fence, 9000000000000003);
    close_slow();
}

/* ---- an end */

TEST_WITHIN(60, who_is_interrupted_claims_nothing_and_gives_back)
{
    GROUP(3);
    struct hf__op a = op_of(HF__OP_ACQUIRE, "holdfast:a", 30000);
    struct hf__op b = op_of(HF__OP_ACQUIRE, "holdfast:b", 30000);

    open_session(url_of(~0U, ""));
    run(&b, NULL);
    EXPECT_IS(b.result, HF_OK);
    b.kind = HF__OP_RELEASE;
    b.result = HF_EUNAVAIL;
    session.head.generation = 2;
    atomic_store(&session.head.interrupted, 2);
    run(&a, &b);
    EXPECT_IS(a.result, HF_EUNAVAIL);
    hf__redlock_backend.close(&session);
    expect_nothing_left(~0U, "b");
    for (int i = 0; i < 3; i++) {
        EXPECT_TEXT(hf__redis_command(member(i), "EXISTS holdfast:{a}"), "0");
    }
}

/* ---- a renewal of what is over */

static bool has_token(int i, const char *token)
{
    return strcmp(token_at(i, "a"), token) == 0;
}

/* As of who adopts: one has never heard of the grant after, another has
 * forgotten it, and both make the renewed one anew. */
TEST_WITHIN(60, one_that_forgot_confirms_no_renewal_of_what_was_before)
{
    AUTO_GROUP *g = forgetful_group(3);
    struct hf__op a = op_of(HF__OP_ACQUIRE, "holdfast:a", 1000);
    struct hf__op b = op_of(HF__OP_ACQUIRE, "holdfast:a", 4000);
    char token[33];
    bool are_told = false;
    int64_t start;

    EXPECT_IS(hf__redis_group_size(g), 3);
    say_options("longest_lease=4s");
    hf_close(open_counted());
    open_session(url_of(~0U, "longest_lease=4s"));
    run(&a, NULL);
    EXPECT_IS(a.result, HF_OK);
    snprintf(token, sizeof token, "%s", token_at(0, "a"));
    hf__test_pause_ms(1100);
    memset(b.token.bytes, 'b', sizeof b.token.bytes);
    run(&b, NULL);
    EXPECT_IS(b.result, HF_OK);
    clear_at(2, "a");
    start = hf__test_now_ms();
    hf__redis_kill(member(1));
    hf__redis_restart(member(1), NULL);
    a.kind = HF__OP_RENEW;
    while (!are_told) {
        are_told = has_token(1, token) && has_token(2, token);
        run(&a, NULL);
        EXPECT_SOON(since(start), 3000); /* else it counts again */
        EXPECT_SAFE(a.result != HF_OK);
    }
    hf__redlock_backend.close(&session);
}
