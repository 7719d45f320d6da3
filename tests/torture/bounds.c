/* SPDX-License-Identifier: MIT */
/*
 * What holds in every scene whatever went wrong: alice is alone with what she
 * believes to hold, and what is left behind ends with its lease, or with the
 * session whose it was. Called by the test's thread.
 */
#include "tests/contract/api.h"
#include "tests/torture/scene.h"

void scene_expect_exclusive(struct scene *s)
{
    if (s->job && hf_state(s->job) == HF_STATE_HELD) {
        EXPECT_IS(try_once(s->bob, hf_name(s->job)), HF_BUSY);
    }
}

/* Half as much again as the lease. */
void scene_url(char *to, size_t size, const char *options)
{
    write_timed_url(to, size, options, patience(LEASE_MS) * 3 / 2);
}

/* Asked by a newcomer: who waits keeps a connection for it. A session ends
 * later than its lease, as end_given() has it. */
void scene_expect_free(int64_t more_ms)
{
    AUTO_CLIENT *carol = open_store();
    int64_t end_ms = patience(LEASE_MS) * (store_leases() ? 1 : 2);
    int64_t limit_ms = end_ms + more_ms;

    EXPECT_SOON(await_free(carol, "job", 2 * limit_ms), limit_ms);
    EXPECT_SOON(await_free(carol, "hob", 2 * limit_ms), limit_ms);
}
