/* SPDX-License-Identifier: MIT */
/*
 * Waiting on Redis through the public API, between processes: a waiter that
 * gives up holds nobody up, and nothing of it is left; and when its connection,
 * the server or what that knew goes away, it waits on and is granted the lock
 * soon after that is free.
 */
#include "tests/contract/api_line.h"
#include "tests/contract/peer.h"
#include "tests/contract/urls.h"
#include "tests/store_redis/wait/sleeper.h"

#include <stdlib.h>

enum { CYCLES = 200 };

int hf__store_url(const char *which, char *url, size_t size)
{
    snprintf(url, size, "%s://127.0.0.1:%d/0", which, hf__redis_port(server()));
    return 0;
}

static hf_acquire_opts patient(bool is_fair)
{
    hf_acquire_opts opts = wanting(patience(20000), 30000);

    opts.fair = is_fair;
    return opts;
}

/* ---- who gives up */

static int64_t helpers(void)
{
    return strtoll(hf__redis_command(server(), "EXISTS holdfast:{job}:w "
                                               "holdfast:{job}:q"),
                   NULL, 10);
}

/* Tickets are given back in the background. */
static void expect_no_trace(void)
{
    await_count(channels, 0);
    await_count(helpers, 0);
}

TEST(who_gives_up_holds_nobody_up)
{
    SERVER(NULL);
    struct peer *waiter = start_peer();
    CLIENTS(alice, bob);
    AUTO_LOCK *job = acquire(alice, "job");
    int64_t start;

    EXPECT_IS(attempt(bob, "job", 100), HF_TIMEDOUT);
    expect_no_trace();
    peer_begin_acquire(waiter, "job", patience(20000), 30000);
    await_count(channels, 1);
    EXPECT_IS(attempt(bob, "job", 100), HF_TIMEDOUT);
    await_count(channels, 1);
    EXPECT_IS(registered("job"), 1);
    start = hf__test_now_ms();
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(peer_finish(waiter), HF_OK);
    EXPECT_SOON(since(start), patience(100));
    end_peer(waiter);
    expect_no_trace();
}

static void wait_and_be_cancelled(void *arg)
{
    hf_cancel *cancel = arg;

    hf__test_pause_ms(100);
    hf_cancel_fire(cancel);
}

TEST(who_is_cancelled_leaves_no_trace)
{
    SERVER(NULL);
    CLIENTS(alice, bob);
    AUTO_LOCK *job = acquire(alice, "job");

    for (int is_fair = 0; is_fair < 2; is_fair++) {
        AUTO_CANCEL *cancel = new_cancel();
        hf_acquire_opts opts = patient(is_fair);
        struct hf__test_thread *t =
            hf__test_start(wait_and_be_cancelled, cancel);

        opts.cancel = cancel;
        EXPECT_IS(attempt_with(bob, "job", &opts), HF_CANCELLED);
        hf__test_join(t);
        expect_no_trace();
    }
    expect_held(job);
}

/* ---- what is left */

static void take_turns(int is_fair)
{
    AUTO_CLIENT *client = open_store();
    hf_acquire_opts opts = patient(is_fair);

    for (int i = 0; i < CYCLES; i++) {
        AUTO_LOCK *job = must_acquire(client, "job", &opts);

        EXPECT_IS(hf_release(job, NULL), HF_OK);
    }
}

static void expect_nothing_left(int is_fair)
{
    SERVER(NULL);
    pid_t crew[2];

    for (int i = 0; i < 2; i++) {
        crew[i] = start_crew(take_turns, is_fair);
    }
    for (int i = 0; i < 2; i++) {
        end_crew(crew[i]);
    }
    expect_no_trace();
    EXPECT_TEXT(hf__redis_command(server(), "KEYS *"), "holdfast:{job}");
    await_count(channels, 0);
    EXPECT_TEXT(hf__redis_command(server(), "CLIENT LIST TYPE pubsub"), "");
}

CASE_WITHIN(60, two_hundred_turns_leave_only_the_record,
            expect_nothing_left(0));
CASE_WITHIN(60, so_do_those_in_line, expect_nothing_left(1));

/* ---- when something goes away */

static void expect_granted_after_a_cut(bool is_fair)
{
    SERVER(NULL);
    struct peer *waiter = start_peer();
    AUTO_CLIENT *client = open_store();
    AUTO_LOCK *job = acquire(client, "job");
    hf_acquire_opts opts = patient(is_fair);
    int64_t start;

    peer_begin_acquire_as(waiter, "job", &opts);
    await_count(channels, 1);
    for (int i = 0; i < 3; i++) {
        hf__redis_command(server(), "CLIENT KILL TYPE pubsub");
        await_count(channels, 0);
        await_count(channels, 1);
    }
    hf__test_pause_ms(50);
    start = hf__test_now_ms();
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(peer_finish(waiter), HF_OK);
    EXPECT_SOON(since(start), patience(100));
    end_peer(waiter);
}

CASE(who_is_cut_off_waits_on, expect_granted_after_a_cut(false));
CASE(who_is_cut_off_in_line_waits_on, expect_granted_after_a_cut(true));

TEST(who_waits_outlives_the_server)
{
    SERVER(NULL);
    AUTO_CLIENT *client = NULL;
    AUTO_LOCK *job = NULL;
    int64_t start;

    struct peer *waiter = start_peer();
    client = open_store();
    job = acquire(client, "job");
    EXPECT(job != NULL);
    peer_begin_acquire(waiter, "job", patience(15000), 30000);
    await_count(channels, 1);
    hf__redis_kill(server()); /* and what it knew: it keeps no file */
    hf__test_pause_ms(200);
    start = hf__test_now_ms();
    hf__redis_restart(server(), NULL);
    EXPECT_IS(peer_finish(waiter), HF_OK);
    EXPECT_SOON(since(start), patience(3000));
    end_peer(waiter);
}

static void expect_granted_after_a_flush(bool is_fair)
{
    SERVER(NULL);
    struct peer *waiter = start_peer();
    AUTO_CLIENT *client = open_store();
    AUTO_LOCK *job = acquire_fixed(client, "job", 30000);
    hf_acquire_opts opts = patient(is_fair);
    int64_t start;

    EXPECT(job != NULL);
    peer_begin_acquire_as(waiter, "job", &opts);
    await_count(channels, 1);
    hf__test_pause_ms(100);
    start = hf__test_now_ms();
    hf__redis_command(server(), "FLUSHALL");
    EXPECT_IS(peer_finish(waiter), HF_OK);
    EXPECT_SOON(since(start), patience(LOOK_MS) + 300);
    end_peer(waiter);
}

/* Nobody wakes it: it looks. */
CASE(who_waits_outlives_a_flush, expect_granted_after_a_flush(false));
CASE(who_is_in_line_outlives_a_flush, expect_granted_after_a_flush(true));
