/* SPDX-License-Identifier: MIT */
/*
 * What happens to a lock at moments that are held open here, which needs its
 * insides: its timer fires on the timer thread while its last owner lets go,
 * and the two must not both free it; it is over while a renewal is under way.
 */
#include "src/core/lock.h"
#include "tests/lib/test.h"

#include <stdatomic.h>

/* Alice holds the name, in each test anew. */
static hf_client *client;
static hf_lock *lock;
static struct hf__grant *h;

static void begin(const char *url, const hf_acquire_opts *opts)
{
    EXPECT_IS(hf_open(url, NULL, &client, NULL), HF_OK);
    EXPECT_IS(hf_acquire(client, "job", opts, &lock, NULL), HF_OK);
    h = lock->grant;
}

static void end(void)
{
    hf_free(lock);
    hf_close(client);
}

static void (*real_fire)(struct hf__timer_task *, hf__time now);
static atomic_bool is_firing;

static void fire_late(struct hf__timer_task *timer_task, hf__time now)
{
    atomic_store(&is_firing, true);
    hf__test_pause_ms(200);
    real_fire(timer_task, now);
}

TEST(a_timer_that_fires_into_the_last_free_finds_nobody)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    opts.lease_ms = 300;
    begin("memory:handle", &opts);
    hf__mutex_lock(&client->timer_thread.mutex);
    real_fire = h->timer_task.fire;
    h->timer_task.fire = fire_late;
    hf__mutex_unlock(&client->timer_thread.mutex);
    UNTIL(atomic_load(&is_firing));
    hf_free(lock);
    EXPECT_IS(atomic_load(&client->refs), 1);
    hf_close(client);
}

static void release(void *arg)
{
    (void)arg;
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
}

/* The release has been answered, or waits for what is under way. */
static bool has_settled(void)
{
    HF_SCOPED_LOCK(&h->mutex);

    return h->has_result || (h->fsm.phase == HF__PHASE_RELEASING &&
                             h->pending == HF__PENDING_RENEW);
}

/* The timer thread has found a renewal due, and its thread is stopped before it
 * can do more. */
TEST(a_renewal_that_was_due_before_a_release_is_not_sent_after_it)
{
    struct hf__test_thread *releaser = NULL;
    unsigned left = 0;

    begin("memory:handle", NULL);
    hf__mutex_lock(&h->mutex);
    left = hf__grant_feed(h, (struct hf__fsm_event){.kind = HF__FSM_TICK,
                                                    .now = h->fsm.renew_at});
    hf__mutex_unlock(&h->mutex);
    releaser = hf__test_start(release, NULL);
    UNTIL(has_settled());
    hf__grant_follow_up(h, left);
    hf__test_join(releaser);
    /* One that comes after the release is refused, and not counted. */
    EXPECT_IS(atomic_load(&client->counters.renewed), 1);
    end();
}

/* hf_held() has said so just before the answer, by the old deadline. */
TEST(a_renewal_that_was_answered_too_late_revives_nothing)
{
    struct hf__op op = {.kind = HF__OP_RENEW, .result = HF_OK};
    unsigned left = 0;

    begin("memory:handle", NULL);
    op.sent = hf__now();
    hf__mutex_lock(&h->mutex);
    atomic_store(&h->held_until, 0);
    left = hf__grant_end_renewal(h, &op);
    hf__mutex_unlock(&h->mutex);
    hf__grant_follow_up(h, left);
    EXPECT_IS(hf_held(lock), 0);
    EXPECT_IS(hf_lost_reason(lock), HF_REASON_EXPIRED);
    end();
}

/* The store has it till the end of its lease, if nobody says more. */
TEST(what_is_over_while_it_is_renewed_is_given_back)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_client *other = NULL;
    hf_lock *theirs = NULL;
    unsigned left = 0;

    begin("memory:handle", NULL);
    EXPECT_IS(hf_open("memory:handle", NULL, &other, NULL), HF_OK);
    hf__mutex_lock(&h->mutex);
    hf__grant_begin(h, HF__PENDING_RENEW);
    left = hf__grant_feed(h, (struct hf__fsm_event){.kind = HF__FSM_TICK,
                                                    .now = h->fsm.deadline});
    EXPECT_IS(hf__grant_ended(h, HF__ENDING_WITHDRAWN, NULL), HF_EUNAVAIL);
    left |= hf__grant_overdue(h);
    hf__mutex_unlock(&h->mutex);
    hf__grant_follow_up(h, left);
    opts.wait_ms = 15000;
    EXPECT_IS(hf_acquire(other, "job", &opts, &theirs, NULL), HF_OK);
    hf_free(theirs);
    hf_close(other);
    end();
}

/* It had to wait for its session so long. */
TEST(a_renewal_is_not_sent_after_the_deadline)
{
    begin("memory:handle", NULL);
    hf__mutex_lock(&h->mutex);
    hf__grant_begin(h, HF__PENDING_RENEW);
    EXPECT_IS(h->request.send_by.ns, h->fsm.deadline.ns);
    h->request.send_by = hf__now();
    hf__mutex_unlock(&h->mutex);
    hf__grant_follow_up(h, HF__DO_SUBMIT);
    UNTIL(atomic_load(&client->counters.renewed) +
              atomic_load(&client->counters.renew_failed) !=
          0);
    EXPECT_IS(atomic_load(&client->counters.renew_failed), 1);
    end();
}

TEST(a_renewal_that_fell_due_during_a_check_follows_it)
{
    begin("memory:handle", NULL);
    hf__mutex_lock(&h->mutex);
    hf__grant_begin(h, HF__PENDING_CHECK);
    EXPECT_IS(hf__grant_feed(h, (struct hf__fsm_event){.kind = HF__FSM_TICK,
                                                       .now = h->fsm.renew_at}),
              0);
    h->request.op.result = HF_OK;
    hf__mutex_unlock(&h->mutex);
    h->request.done(&h->request);
    UNTIL(atomic_load(&client->counters.renewed) != 0);
    end();
}

/* Before the timer thread has seen it. */
TEST(nobody_joins_what_is_over)
{
    begin("memory:handle", NULL);
    EXPECT_IS(hf__lock_can_join(h), HF_OK);
    hf__mutex_lock(&h->mutex);
    h->fsm.deadline = hf__now();
    hf__mutex_unlock(&h->mutex);
    EXPECT_IS(hf__lock_can_join(h), HF_LOST);
    end();
}

/* There is time for another try then. */
TEST(a_renewal_waits_a_sixth_of_its_lease_for_an_answer)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    opts.lease_ms = 3000;
    opts.auto_renew = 0;
    begin("fault+memory:sixth?io_timeout=10m&fault=delay:renew:1:1h", &opts);
    EXPECT_IS(hf_renew(lock, NULL), HF_EUNKNOWN);
    EXPECT_IS(hf_renew(lock, NULL), HF_OK);
    end();
}
