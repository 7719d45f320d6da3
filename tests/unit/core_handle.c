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

static void release(void *arg)
{
    EXPECT_IS(hf_release(arg, NULL), HF_OK);
}

/* The release has been answered, or waits for what is under way. */
static bool has_settled(struct hf__handle *h)
{
    HF_SCOPED_LOCK(&h->mutex);

    return h->has_result || (h->grant.phase == HF__PHASE_RELEASING &&
                             h->errand == HF__ERRAND_RENEW);
}

/* The keeper has found a renewal due, and its thread is stopped before it can
 * do more. */
TEST(a_renewal_that_was_due_before_a_release_is_not_sent_after_it)
{
    hf_client *client = NULL;
    hf_lock *lock = NULL;
    struct hf__handle *h = NULL;
    struct hf__test_thread *releaser = NULL;
    unsigned left = 0;

    EXPECT_IS(hf_open("memory:due", NULL, &client, NULL), HF_OK);
    EXPECT_IS(hf_acquire(client, "job", NULL, &lock, NULL), HF_OK);
    h = lock->handle;
    hf__mutex_lock(&h->mutex);
    left = hf__handle_feed(h, (struct hf__event){.kind = HF__EVENT_TICK,
                                                 .now = h->grant.renew_at});
    hf__mutex_unlock(&h->mutex);
    releaser = hf__test_start(release, lock);
    while (!has_settled(h)) {
        hf__test_pause_ms(1);
    }
    hf__handle_follow_up(h, left);
    hf__test_join(releaser);
    /* One that comes after the release is refused, and not counted. */
    EXPECT_IS(atomic_load(&client->counters.renewed), 1);
    hf_free(lock);
    hf_close(client);
}
