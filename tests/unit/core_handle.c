/* SPDX-License-Identifier: MIT */
/*
 * What happens to a lock at moments that are held open here, which needs its
 * insides: its timer fires on the keeper's thread while its last owner lets go,
 * and the two must not both free it; it is over while a renewal is under way.
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
    UNTIL(atomic_load(&is_firing));
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
    UNTIL(has_settled(h));
    hf__handle_follow_up(h, left);
    hf__test_join(releaser);
    /* One that comes after the release is refused, and not counted. */
    EXPECT_IS(atomic_load(&client->counters.renewed), 1);
    hf_free(lock);
    hf_close(client);
}

static hf_lock *acquire(hf_client *client, int64_t wait_ms)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_lock *lock = NULL;

    opts.wait_ms = wait_ms;
    EXPECT_IS(hf_acquire(client, "job", &opts, &lock, NULL), HF_OK);
    return lock;
}

/* A client with the name. */
static hf_lock *hold(const char *url, hf_client **ret_client)
{
    EXPECT_IS(hf_open(url, NULL, ret_client, NULL), HF_OK);
    return acquire(*ret_client, 0);
}

/* hf_held() has said so just before the answer, by the old deadline. */
TEST(a_renewal_that_was_answered_too_late_revives_nothing)
{
    struct hf__op op = {.kind = HF__OP_RENEW, .result = HF_OK};
    hf_client *client = NULL;
    hf_lock *lock = NULL;
    unsigned left = 0;

    lock = hold("memory:late", &client);
    op.sent = hf__now();
    hf__mutex_lock(&lock->handle->mutex);
    atomic_store(&lock->handle->held_until, 0);
    left = hf__handle_end_renewal(lock->handle, &op);
    hf__mutex_unlock(&lock->handle->mutex);
    hf__handle_follow_up(lock->handle, left);
    EXPECT_IS(hf_held(lock), 0);
    EXPECT_IS(hf_lost_reason(lock), HF_REASON_EXPIRED);
    hf_free(lock);
    hf_close(client);
}

/* The store has it till the end of its lease, if nobody says more. */
TEST(what_is_over_while_it_is_renewed_is_given_back)
{
    hf_client *client = NULL;
    hf_client *other = NULL;
    hf_lock *lock = NULL;
    struct hf__handle *h = NULL;
    unsigned left = 0;

    lock = hold("memory:over", &client);
    EXPECT_IS(hf_open("memory:over", NULL, &other, NULL), HF_OK);
    h = lock->handle;
    hf__mutex_lock(&h->mutex);
    hf__handle_begin(h, HF__ERRAND_RENEW);
    left = hf__handle_feed(h, (struct hf__event){.kind = HF__EVENT_TICK,
                                                 .now = h->grant.deadline});
    EXPECT_IS(hf__handle_ended(h, HF__ENDING_WITHDRAWN, NULL), HF_EUNAVAIL);
    left |= hf__handle_overdue(h);
    hf__mutex_unlock(&h->mutex);
    hf__handle_follow_up(h, left);
    hf_free(acquire(other, 15000));
    hf_free(lock);
    hf_close(other);
    hf_close(client);
}

/* It had to wait for its session so long. */
TEST(a_renewal_is_not_sent_after_the_deadline)
{
    hf_client *client = NULL;
    hf_lock *lock = NULL;
    struct hf__handle *h = NULL;

    lock = hold("memory:deadline", &client);
    h = lock->handle;
    hf__mutex_lock(&h->mutex);
    hf__handle_begin(h, HF__ERRAND_RENEW);
    EXPECT_IS(h->request.send_by.ns, h->grant.deadline.ns);
    h->request.send_by = hf__now();
    hf__mutex_unlock(&h->mutex);
    hf__handle_follow_up(h, HF__DO_SUBMIT);
    UNTIL(atomic_load(&client->counters.renewed) +
              atomic_load(&client->counters.renew_failed) !=
          0);
    EXPECT_IS(atomic_load(&client->counters.renew_failed), 1);
    hf_free(lock);
    hf_close(client);
}

TEST(a_renewal_that_fell_due_during_a_check_follows_it)
{
    hf_client *client = NULL;
    hf_lock *lock = NULL;
    struct hf__handle *h = NULL;

    lock = hold("memory:check", &client);
    h = lock->handle;
    hf__mutex_lock(&h->mutex);
    hf__handle_begin(h, HF__ERRAND_CHECK);
    EXPECT_IS(hf__handle_feed(h, (struct hf__event){.kind = HF__EVENT_TICK,
                                                    .now = h->grant.renew_at}),
              0);
    h->request.op.result = HF_OK;
    hf__mutex_unlock(&h->mutex);
    h->request.done(&h->request);
    UNTIL(atomic_load(&client->counters.renewed) != 0);
    hf_free(lock);
    hf_close(client);
}

/* Before the keeper has seen it. */
TEST(nobody_joins_what_is_over)
{
    hf_client *client = NULL;
    hf_lock *lock = NULL;

    lock = hold("memory:joins", &client);
    EXPECT_IS(hf__hold_standing(lock->handle), HF_OK);
    hf__mutex_lock(&lock->handle->mutex);
    lock->handle->grant.deadline = hf__now();
    hf__mutex_unlock(&lock->handle->mutex);
    EXPECT_IS(hf__hold_standing(lock->handle), HF_LOST);
    hf_free(lock);
    hf_close(client);
}

/* There is time for another try then. */
TEST(a_renewal_waits_a_sixth_of_its_lease_for_an_answer)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_client *client = NULL;
    hf_lock *lock = NULL;

    opts.lease_ms = 3000;
    opts.auto_renew = 0;
    EXPECT_IS(hf_open("fault+memory:sixth?io_timeout=10m&"
                      "fault=delay:renew:1:1h",
                      NULL, &client, NULL),
              HF_OK);
    EXPECT_IS(hf_acquire(client, "job", &opts, &lock, NULL), HF_OK);
    EXPECT_IS(hf_renew(lock, NULL), HF_EUNKNOWN);
    EXPECT_IS(hf_renew(lock, NULL), HF_OK);
    hf_free(lock);
    hf_close(client);
}
