/* SPDX-License-Identifier: MIT */
/*
 * One member whose connection fails at each statement and reply, in each way;
 * and members that are emptied of scripts or keys under a holder. The others
 * decide, and nothing is left.
 */
#include "tests/servers/proxy.h"
#include "tests/store_redlock/world.h"

#include <string.h>

/* ---- a connection that fails */

/* A claim, a renewal, a release. */
enum { STATEMENTS = 3 };

static int hits; /* so far */

static hf_client *open_by_proxy(struct hf__proxy *p)
{
    hf_client *client = NULL;
    char url[200];

    snprintf(url, sizeof url,
             "redlock://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d", port_of(0),
             port_of(1), hf__proxy_port(p));
    EXPECT_IS(hf_open(url, NULL, &client, NULL), HF_OK);
    return client;
}

/* Until it is asked again, and was told of what is over. */
static void await_back(hf_client *client)
{
    int64_t start = hf__test_now_ms();

    for (;;) {
        AUTO_LOCK *probe = acquire_fixed(client, "probe", 5000);
        bool is_asked = token_at(2, "probe")[0] != '\0';

        EXPECT_IS(hf_release(probe, NULL), HF_OK);
        if (is_asked && token_at(2, "job")[0] == '\0') {
            return;
        }
        EXPECT_LESS(since(start), patience(8000));
        hf__test_pause_ms(20);
    }
}

/* Renewals go by a connection of their own, which may not be back yet. */
static void fail_at(struct hf__proxy *p, hf_client *client,
                    const struct hf__proxy_rule *rule)
{
    int64_t start = hf__test_now_ms();

    hf__proxy_rule(p, rule);
    do {
        AUTO_LOCK *job = acquire_fixed(client, "job", 30000);

        EXPECT_LESS(since(start), patience(8000));
        EXPECT_IS(hf_renew(job, NULL), HF_OK);
        EXPECT_IS(hf_release(job, NULL), HF_OK);
    } while (!hf__proxy_wait_hits(p, hits + 1, 50));
    hits++;
    hf__proxy_heal(p);
    await_back(client);
    expect_nothing_left(~0U, "job");
}

static void fail_everywhere(enum hf__proxy_action action)
{
    static const enum hf__proxy_what whats[] = {HF__STATEMENT, HF__REPLY};
    static const enum hf__proxy_where wheres[] = {HF__BEFORE, HF__INSIDE,
                                                  HF__AFTER};
    GROUP(3);
    struct hf__proxy *p = hf__proxy_start(port_of(2), &hf__framing_redis);
    AUTO_CLIENT *client = open_by_proxy(p);

    EXPECT_IS(try_once(client, "job"), HF_OK);
    for (int i = 0; i < 2 * 3 * STATEMENTS; i++) {
        struct hf__proxy_rule rule = {.what = whats[i % 2],
                                      .where = wheres[i / 2 % 3],
                                      .action = action,
                                      .n = 1 + i / 6,
                                      .bytes = 2,
                                      .text = "EVALSHA"};

        fail_at(p, client, &rule);
    }
    hf__proxy_free(p);
}

CASE_WITHIN(60, one_that_hangs_up_anywhere_leaves_nothing,
            fail_everywhere(HF__CLOSE));
CASE_WITHIN(60, one_that_resets_anywhere_leaves_nothing,
            fail_everywhere(HF__RESET));
CASE_WITHIN(120, one_that_is_silent_anywhere_leaves_nothing,
            fail_everywhere(HF__SILENCE));

/* It granted what the others refused, and nobody heard of it. */
TEST_WITHIN(60, a_refused_claim_leaves_nothing_where_its_answer_was_lost)
{
    GROUP(3);
    struct hf__proxy *p = hf__proxy_start(port_of(2), &hf__framing_redis);
    AUTO_CLIENT *client = open_by_proxy(p);

    await_back(client);
    take_at(0, "job");
    take_at(1, "job");
    for (int i = 0; i < 2; i++) {
        struct hf__proxy_rule rule = {.what = HF__REPLY,
                                      .where = HF__BEFORE,
                                      .action = i ? HF__RESET : HF__CLOSE,
                                      .text = "{job}"};

        hf__proxy_rule(p, &rule);
        do {
            EXPECT_IS(try_once(client, "job"), HF_BUSY);
        } while (!hf__proxy_wait_hits(p, i + 1, 50));
        await_back(client);
    }
    hf__proxy_free(p);
}

/* ---- members that are emptied under a holder */

static void flush_scripts(unsigned members)
{
    for (int i = 0; i < 5; i++) {
        if ((members >> i & 1) != 0) {
            (void)hf__redis_command(member(i), "SCRIPT FLUSH");
        }
    }
}

/* A client hears of what came back too late at its next calls. */
static void go_on_until_it_is_gone(hf_client *client)
{
    int64_t start = hf__test_now_ms();

    for (int i = 0; i < 5; i++) {
        while (token_at(i, "job")[0] != '\0') {
            EXPECT_LESS(since(start), patience(5000));
            EXPECT_IS(try_once(client, "other"), HF_OK);
        }
    }
}

TEST_WITHIN(60, members_that_forget_the_scripts_are_told_them_again)
{
    GROUP(5);
    CLIENTS(alice, bob);

    for (unsigned members = 1; members < 1u << 5; members++) {
        flush_scripts(members);
        AUTO_LOCK *job = acquire_fixed(alice, "job", 30000);

        flush_scripts(members);
        EXPECT_IS(hf_renew(job, NULL), HF_OK);
        flush_scripts(members);
        EXPECT_IS(presence(alice, "job"), HF_HELD_BY);
        EXPECT_SAFE_IS(try_once(bob, "job"), HF_BUSY);
        flush_scripts(members);
        EXPECT_IS(hf_release(job, NULL), HF_OK);
        go_on_until_it_is_gone(alice);
    }
}

/* Another's attempt may be there when it is renewed, for a moment. */
static void renew_until_it_is_on_all(hf_lock *job, const char *token)
{
    int64_t start = hf__test_now_ms();

    for (int i = 0; i < 5; i++) {
        while (strcmp(token_at(i, "job"), token) != 0) {
            EXPECT_LESS(since(start), patience(3000));
            EXPECT_IS(hf_renew(job, NULL), HF_OK);
        }
    }
}

/* By hand, or by FLUSHALL (see durability.c). */
TEST_WITHIN(60, a_key_deleted_on_a_minority_is_made_anew)
{
    GROUP(5);
    CLIENTS(alice, bob);
    AUTO_LOCK *job = acquire_fixed(alice, "job", 30000);
    char token[33];

    expect_held(job);
    snprintf(token, sizeof token, "%s", token_at(0, "job"));
    for (int i = 0; i < 5; i++) {
        renew_until_it_is_on_all(job, token);
        clear_at(i, "job");
        clear_at((i + 1) % 5, "job");
        EXPECT_IS(presence(bob, "job"), HF_HELD_BY);
        EXPECT_SAFE_IS(try_once(bob, "job"), HF_BUSY);
    }
    renew_until_it_is_on_all(job, token);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    expect_nothing_left(~0U, "job");
    EXPECT_IS(try_once(bob, "job"), HF_OK);
}
