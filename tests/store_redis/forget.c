/* SPDX-License-Identifier: MIT */
/*
 * What a server that is killed remembers: with an append-only file all, and
 * without one nothing. Then the holder is told at its renewal, and fences go on
 * from the clock.
 */
#include "tests/store_redis/world.h"

static void kill_and_restart(struct hf__redis *r)
{
    hf__redis_kill(r);
    hf__redis_restart(r, NULL);
}

TEST_WITHIN(60, a_server_that_remembers_gives_the_lock_to_nobody_else)
{
    AUTO_SERVER *r = own_server_with_aof(NULL);
    AUTO_CLIENT *alice = open_with("io_timeout=1s");
    AUTO_CLIENT *bob = open_with("io_timeout=1s");
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(6000));
    AUTO_LOCK *next = NULL;

    for (int i = 0; i < 3; i++) {
        kill_and_restart(r);
        EXPECT_IS(try_once(bob, "job"), HF_BUSY);
    }
    while (hf_renew(job, NULL) != HF_OK) {
        EXPECT_IS(hf_held(job), 1);
    }
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    kill_and_restart(r);
    next = acquire(bob, "job");
    EXPECT_SAFE_MORE(hf_fence(next), hf_fence(job));
}

/* Renewed every 500 ms: told long before its lease ends. */
TEST_WITHIN(60, a_server_that_forgets_tells_the_holder_at_its_renewal)
{
    AUTO_SERVER *r = own_server(NULL);
    AUTO_CLIENT *alice = open_with("io_timeout=1s");
    AUTO_CLIENT *bob = open_with("io_timeout=1s");
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(1500));
    AUTO_LOCK *next = NULL;

    EXPECT_IS(grade_of(alice), 'D');
    kill_and_restart(r);
    EXPECT_IS(hf_wait_lost(job, patience(1500)), HF_LOST);
    expect_lost(job, HF_REASON_STORE_GONE);
    next = acquire(bob, "job");
    EXPECT_SAFE_MORE(hf_fence(next), hf_fence(job));
    EXPECT_IS(hf_release(job, NULL), HF_LOST);
    expect_held(next);
}

TEST_WITHIN(60, no_fence_falls_whatever_a_server_forgets)
{
    AUTO_SERVER *r = own_server(NULL);
    AUTO_CLIENT *alice = open_with("io_timeout=1s");
    uint64_t last = 0;

    for (int i = 0; i < 4; i++) {
        AUTO_LOCK *job = acquire(alice, "job");

        EXPECT_SAFE_MORE(hf_fence(job), last);
        last = hf_fence(job);
        EXPECT_IS(hf_release(job, NULL), HF_OK);
        kill_and_restart(r);
    }
}

/* A waiter finds out by itself: nobody is there who could wake it. */
TEST_WITHIN(60, who_waits_through_a_restart_is_granted_the_lock)
{
    AUTO_SERVER *own = own_server(NULL);
    AUTO_CLIENT *alice = open_with("io_timeout=1s");
    AUTO_CLIENT *bob = open_with("io_timeout=1s");
    AUTO_LOCK *job = acquire_fixed(alice, "job", 60000);
    int64_t start = hf__test_now_ms();
    int r;

    EXPECT_IS(attempt(bob, "job", 300), HF_TIMEDOUT);
    kill_and_restart(own);
    EXPECT_IS(attempt(bob, "job", patience(5000)), HF_OK);
    printf("granted after %lld ms\n", (long long)since(start));
    while ((r = hf_renew(job, NULL)) != HF_LOST) { /* by a dead connection */
        EXPECT(r == HF_EUNAVAIL || r == HF_EUNKNOWN);
    }
}
