/* SPDX-License-Identifier: MIT */
/*
 * The words of damage.h.
 */
#include "tests/store_server/damage.h"

enum { LEASE_MS = 1500 };

void lose_by(void (*damage)(void))
{
    CLIENTS(alice, bob);
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(LEASE_MS));
    AUTO_LOCK *next = NULL;
    int64_t start = hf__test_now_ms();

    damage();
    EXPECT_IS(hf_wait_lost(job, patience(LEASE_MS)), HF_LOST);
    EXPECT_SOON(since(start), safe(patience(LEASE_MS)) - 100);
    expect_lost(job, HF_REASON_STORE_GONE);
    next = acquire_leased(bob, "job", patience(LEASE_MS));
    EXPECT_SAFE_MORE(hf_fence(next), hf_fence(job));
    EXPECT_IS(hf_release(job, NULL), HF_LOST);
    expect_held(next);
    EXPECT_IS(try_once(alice, "other"), HF_OK);
}
