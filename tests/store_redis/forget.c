/* SPDX-License-Identifier: MIT */
/*
 * A server without an append-only file remembers nothing when it is killed: the
 * holder is told at its renewal, and fences go on from the clock.
 */
#include "tests/store_redis/world.h"

static void kill_and_restart(struct hf__redis *r)
{
    hf__redis_kill(r);
    hf__redis_restart(r, NULL);
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
