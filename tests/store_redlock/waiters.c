/* SPDX-License-Identifier: MIT */
/*
 * What those who wait do to the holder: their attempts win members that it
 * does not have, for a moment, and leave nothing there that keeps it from
 * having them.
 */
#include "tests/store_redlock/world.h"

#include <stdlib.h>
#include <string.h>

enum { LEASE_MS = 3000, MEMBERS = 5 };

/* ---- a holder's members */

static bool was_tried(int i, const char *own)
{
    char fence[24];

    snprintf(fence, sizeof fence, "%s",
             hf__redis_command(member(i), "HGET holdfast:{job} fence"));
    return strcmp(fence, own) != 0 ||
           hf__redis_command(member(i), "HGET holdfast:{job} top")[0] != '\0';
}

/* It is forgotten there, and who waits has had it since. */
static void let_others_try(unsigned members, uint64_t fence)
{
    int64_t start = hf__test_now_ms();
    char own[24];

    snprintf(own, sizeof own, "%llu", (unsigned long long)fence);
    for (int i = 0; i < MEMBERS; i++) {
        while ((members >> i & 1) != 0 && !was_tried(i, own)) {
            EXPECT_LESS(since(start), patience(20000));
            clear_at(i, "job");
            hf__test_pause_ms(200);
        }
    }
}

static bool has_it(int i, const char *token)
{
    return strcmp(token_at(i, "job"), token) == 0;
}

/* Its renewals make the grant anew where it is not. */
static void await_it_on(unsigned members, const char *token)
{
    int64_t start = hf__test_now_ms();

    for (int i = 0; i < MEMBERS; i++) {
        while ((members >> i & 1) != 0 && !has_it(i, token)) {
            EXPECT_LESS(since(start), patience(8 * LEASE_MS));
            hf__test_pause_ms(20);
        }
    }
}

static void remember_token(int i, char token[33])
{
    snprintf(token, 33, "%s", token_at(i, "job"));
    EXPECT_IS(strlen(token), 32);
}

/* One who waits tries all of them, and so has a fence above the holder's. */
TEST_WITHIN(60, who_waits_does_not_keep_a_holder_from_members_that_forgot)
{
    GROUP(MEMBERS);
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", LEASE_MS);
    struct waiter bob[1];
    char token[33];

    remember_token(0, token);
    begin_to_wait(bob, 1, "", LEASE_MS);
    let_others_try(24, hf_fence(job));
    await_it_on(31, token);
    hf__redis_kill(member(0));
    hf__redis_kill(member(1));
    hf__test_pause_ms(2 * LEASE_MS);
    expect_held(job);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    expect_served(bob, 1);
}

TEST_WITHIN(60, many_who_wait_do_not_either_while_members_are_emptied)
{
    AUTO_GROUP *g = forgetful_group(MEMBERS);
    say_options("allow=volatile");
    AUTO_CLIENT *alice = open_counted();
    AUTO_LOCK *job = acquire_leased(alice, "job", LEASE_MS);
    struct waiter others[6];
    char token[33];

    EXPECT_IS(hf__redis_group_size(g), MEMBERS);
    remember_token(0, token);
    begin_to_wait(others, 6, "allow=volatile", LEASE_MS);
    for (int i = 0; i < MEMBERS; i++) {
        hf__redis_kill(member(i));
        hf__redis_restart(member(i), NULL);
        await_it_on(31, token);
        expect_held(job);
    }
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    expect_served(others, 6);
}

static uint64_t number_at(int i, const char *field)
{
    return strtoull(
        hf__redis_command(member(i), "HGET holdfast:{job} %s", field), NULL,
        10);
}

/* Two members have said that it is busy; the third may not have been reached.
 */
static uint64_t await_undone(int i, uint64_t last)
{
    UNTIL(number_at(i, "top") > last);
    expect_nothing_left(1U << i, "job");
    return number_at(i, "top");
}

static bool is_known_to_all(hf_client *client)
{
    AUTO_LOCK *job = acquire_fixed(client, "job", LEASE_MS);
    uint64_t fence = hf_fence(job);

    EXPECT_IS(hf_release(job, NULL), HF_OK);
    return number_at(2, "fence") >= fence;
}

/* A fence that was undone is not given again, nor is one below it. */
TEST_WITHIN(60, fences_rise_over_those_that_were_undone)
{
    GROUP(3);
    AUTO_CLIENT *alice = open_store();
    uint64_t last = 0;

    UNTIL(is_known_to_all(alice)); /* who opens waits for two of three */
    for (int i = 0; i < 20; i++) {
        AUTO_LOCK *job = acquire_fixed(alice, "job", LEASE_MS);
        uint64_t before;
        uint64_t undone;

        EXPECT_SAFE_MORE(hf_fence(job), last);
        last = hf_fence(job);
        EXPECT_IS(hf_release(job, NULL), HF_OK);
        UNTIL(number_at(2, "fence") >= last); /* two were enough */
        expect_nothing_left(7, "job");
        before = number_at(2, "fence");
        take_at(0, "job");
        take_at(1, "job");
        EXPECT_IS(try_once(alice, "job"), HF_BUSY);
        undone = await_undone(2, last);
        EXPECT_IS(number_at(2, "fence"), before);
        clear_at(0, "job");
        clear_at(1, "job");
        last = undone;
    }
}
