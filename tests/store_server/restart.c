/* SPDX-License-Identifier: MIT */
/*
 * One holder while its server is killed, started again, or stands still: a
 * lock outlives what is shorter than its lease, and is lost in time else.
 */
#include "tests/store_server/server.h"

static void stop_and_restart(void)
{
    stop_server();
    restart_server();
}

static void kill_and_restart(void)
{
    kill_server();
    restart_server();
}

TEST_WITHIN(60, a_restart_costs_no_lock)
{
    OWN_SERVER(true);
    AUTO_CLIENT *alice = open_with("io_timeout=1s");
    AUTO_CLIENT *bob = open_with("io_timeout=1s");
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(12000));

    stop_and_restart();
    EXPECT_IS(hf_held(job), 1);
    EXPECT_IS(attempt(bob, "job", 1000), HF_TIMEDOUT);
    kill_and_restart();
    EXPECT_IS(hf_held(job), 1);
    while (hf_renew(job, NULL) != HF_OK) {
        EXPECT_IS(hf_held(job), 1);
    }
    EXPECT_IS(attempt(bob, "job", 1000), HF_TIMEDOUT);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
}

TEST_WITHIN(60, a_server_that_stands_still_for_less_than_the_lease_costs_none)
{
    OWN_SERVER(false);
    AUTO_CLIENT *alice = open_with(io_timeout(500, ""));
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(6000));
    hf_acquire_opts opts = wanting(0, 30000);
    hf_lock *none = NULL;
    int64_t start;

    pause_server();
    start = hf__test_now_ms();
    EXPECT_IS(hf_acquire(alice, "other", &opts, &none, NULL), HF_EUNKNOWN);
    EXPECT_SOON(since(start), patience(3000));
    hf__test_pause_ms(2000 - since(start));
    EXPECT_IS(hf_held(job), 1);
    resume_server();
    (void)await_free(alice, "other", patience(10000));
    EXPECT_IS(hf_renew(job, NULL), HF_OK);
    expect_held(job);
}

TEST_WITHIN(60, a_server_that_stands_still_for_longer_is_a_lock_lost_in_time)
{
    OWN_SERVER(false);
    AUTO_CLIENT *alice = open_with(io_timeout(500, ""));
    int64_t lease_ms = patience(1500);
    AUTO_LOCK *job = acquire_leased(alice, "job", lease_ms);
    AUTO_LOCK *next = NULL;

    pause_server();
    hf__test_pause_ms(lease_ms);
    EXPECT_IS(hf_held(job), 0); /* whoever of us is late */
    EXPECT_IS(hf_wait_lost(job, patience(5000)), HF_LOST);
    expect_lost(job, HF_REASON_EXPIRED);
    hf__test_pause_ms(lease_ms);
    resume_server();
    next = acquire_leased(alice, "job", 30000);
    EXPECT_SAFE_MORE(hf_fence(next), hf_fence(job));
    hf__test_pause_ms(1500); /* what was under way then comes too late */
    expect_held(next);
    EXPECT_IS(hf_renew(next, NULL), HF_OK);
}
