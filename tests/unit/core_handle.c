/* SPDX-License-Identifier: MIT */
/*
 * A lock's timer fires on the keeper's thread while its last owner lets go:
 * the two must not both free it. The moment is held open here, which needs
 * the lock's insides.
 */
#include "src/core/hold.h"
#include "tests/lib/test.h"

#include <stdatomic.h>

static void (*real_fire)(struct hf__duty *, hf__time now);
static atomic_bool is_firing;

static void fire_late(struct hf__duty *duty, hf__time now)
{
    atomic_store(&is_firing, true);
    hf__test_pause_ms(200);
    real_fire(duty, now);
}

TEST(a_timer_that_fires_into_the_last_free_finds_nobody)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_client *client = NULL;
    hf_lock *lock = NULL;

    opts.lease_ms = 300;
    EXPECT_IS(hf_open("memory:handle", NULL, &client, NULL), HF_OK);
    EXPECT_IS(hf_acquire(client, "job", &opts, &lock, NULL), HF_OK);
    hf__mutex_lock(&client->keeper.mutex);
    real_fire = lock->handle->duty.fire;
    lock->handle->duty.fire = fire_late;
    hf__mutex_unlock(&client->keeper.mutex);
    while (!atomic_load(&is_firing)) {
        hf__test_pause_ms(1);
    }
    hf_free(lock);
    EXPECT_IS(atomic_load(&client->refs), 1);
    hf_close(client);
}
