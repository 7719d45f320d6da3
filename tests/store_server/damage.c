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

void replace_after(void (*damage)(void))
{
    CLIENTS(alice, bob);
    AUTO_LOCK *job = acquire_fixed(alice, "job", 30000);
    AUTO_LOCK *next = NULL;

    damage();
    next = acquire_leased(bob, "job", 30000);
    EXPECT_SAFE_MORE(hf_fence(next), hf_fence(job));
    EXPECT_IS(hf_renew(job, NULL), HF_LOST);
    expect_lost(job, HF_REASON_TAKEN);
    EXPECT_IS(hf_release(job, NULL), HF_LOST);
    expect_held(next);
    EXPECT_IS(hf_renew(next, NULL), HF_OK);
}

void outlive_ends_of(void (*sessions)(void))
{
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(LEASE_MS));
    int r;

    for (int i = 0; i < 10; i++) {
        sessions();
        EXPECT_IS(try_once(alice, "other"), HF_OK);
        sessions();
        r = hf_renew(job, NULL);
        EXPECT(r == HF_OK || r == HF_EUNAVAIL); /* not sent, not unknown */
        sessions();
        hf__test_pause_ms(patience(150));
        EXPECT(hf_held(job));
    }
    sessions();
    EXPECT_IS(hf_release(job, NULL), HF_OK);
}
