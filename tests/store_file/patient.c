/* SPDX-License-Identifier: MIT */
/*
 * A client that waits for a name that is promised to another one: when it will
 * be free nobody can tell, and the store wakes who waits. So it is not asked
 * again and again meanwhile, however short the lease that is wanted.
 */
#include "include/holdfast.h"
#include "tests/store_file/files.h"

#include <stdio.h>

static void promise_to(struct peer *alice, struct peer *bob)
{
    EXPECT_IS(acquire(alice, "job", 60000), HF_OK);
    bob->is_fair = true;
    EXPECT_IS(acquire(bob, "job", 60000), HF_BUSY);
    EXPECT(bob->is_queued);
    EXPECT_IS(release(alice, "job"), HF_OK);
}

TEST(a_waiter_with_a_short_lease_does_not_poll)
{
    PEER(alice);
    PEER(bob);
    char url[512];
    hf_client *client = NULL;
    hf_lock *lock = NULL;
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_stats_info stats = {.size = sizeof stats};

    promise_to(&alice, &bob);
    snprintf(url, sizeof url, "file:%s?prefix=test", file_of(""));
    EXPECT_IS(hf_open(url, NULL, &client, NULL), HF_OK);
    opts.lease_ms = 100;
    opts.wait_ms = 800;
    EXPECT_IS(hf_acquire(client, "job", &opts, &lock, NULL), HF_TIMEDOUT);
    EXPECT_IS(hf_stats(client, &stats), HF_OK);
    printf("# %d operations in 0.8 s\n", (int)stats.operations);
    EXPECT(stats.operations < 6);
    hf_close(client);
}
