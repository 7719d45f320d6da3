/* SPDX-License-Identifier: MIT */
/*
 * Two things at once, one of them late: timers that meet, a lock that is
 * handed to a waiter who has just gone, a wait that begins while another is
 * being set up. Nothing may hang, and nothing may stay locked for nobody.
 */
#include "tests/contract/api_line.h"

/* ---- timers */

TEST(a_lock_that_ends_by_itself_costs_no_other_its_renewals)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *brief = acquire_fixed(alice, "brief", 4800);
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(1000));

    /* Sparks end every 100 ms, so also in the last 200 ms of the brief one,
     * when the keeper would fire that one early. */
    while (hf_held(brief)) {
        AUTO_LOCK *spark = acquire_fixed(alice, "spark", 100);

        EXPECT_IS(hf_wait_lost(spark, HF_FOREVER), HF_LOST);
    }
    EXPECT_IS(hf_wait_lost(brief, HF_FOREVER), HF_LOST);
    EXPECT_IS(hf_wait_lost(job, patience(1500)), HF_TIMEDOUT);
    EXPECT_IS(hf_held(job), 1);
}

/* ---- handing over */

TEST_IF(store_can(HF_CAP_HANDOVER),
        a_lock_handed_over_too_late_is_asked_for_again)
{
    AUTO_CLIENT *alice = open_faulty("fault=late_reply:handover:1:700ms");
    AUTO_LOCK *job = acquire(alice, "job");
    struct waiter heir = {.opts = wanting(HF_FOREVER, 500)};

    start_sleeper(&heir, alice, "job");
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(end_waiter(&heir), HF_OK);
}

static void release_job(void *lock)
{
    int r = hf_release(lock, NULL);

    EXPECT(r == HF_OK || r == HF_EUNKNOWN);
}

/* The next waiter is cancelled while the hand-over is under way, whose reply is
 * lost; when it wakes, the session is busy with another claim. */
TEST_IF(store_can(HF_CAP_HANDOVER),
        a_lock_perhaps_handed_to_a_cancelled_waiter_is_given_back)
{
    AUTO_CLIENT *alice =
        open_faulty("io_timeout=400ms&fault=late_reply:handover:1:2s,"
                    "delay:acquire:2:300ms");
    AUTO_CLIENT *bob = open_store();
    AUTO_CANCEL *cancel = new_cancel();
    AUTO_LOCK *job = acquire(alice, "job");
    struct waiter heir = {.opts = wanting(HF_FOREVER, 60000)};
    struct waiter other = {.opts = wanting(5000, 60000)};

    heir.opts.cancel = cancel;
    start_sleeper(&heir, alice, "job");
    struct hf__test_thread *releaser = hf__test_start(release_job, job);
    hf__test_pause_ms(100);
    start_sleeper(&other, alice, "other");
    hf_cancel_fire(cancel);
    EXPECT(end_waiter(&heir) == HF_OK || heir.status == HF_CANCELLED);
    hf__test_join(releaser);
    (void)end_waiter(&other);
    EXPECT_SOON(await_free(bob, "job", patience(8000)), patience(1000));
}

TEST_IF(store_can(HF_CAP_HANDOVER),
        a_waiter_waits_for_a_handover_no_longer_than_it_may)
{
    AUTO_CLIENT *alice =
        open_faulty("io_timeout=2s&fault=late_reply:handover:1:9s");
    AUTO_CLIENT *bob = open_store();
    AUTO_LOCK *job = acquire(alice, "job");
    struct waiter heir = {.opts = wanting(2500, 60000)};
    int64_t start = hf__test_now_ms();

    start_sleeper(&heir, alice, "job");
    hf__test_pause_ms(1500);
    struct hf__test_thread *releaser = hf__test_start(release_job, job);
    EXPECT_IS(end_waiter(&heir), HF_EUNKNOWN);
    EXPECT_MORE(since(start), 2490);
    EXPECT_SOON(since(start), 2500 + patience(400));
    hf__test_join(releaser);
    EXPECT_SOON(await_free(bob, "job", patience(8000)), patience(2000));
}

TEST_IF(store_can(HF_CAP_HANDOVER),
        a_cancelled_waiter_does_not_wait_for_a_handover)
{
    AUTO_CLIENT *alice =
        open_faulty("io_timeout=3s&fault=late_reply:handover:1:9s");
    AUTO_CLIENT *bob = open_store();
    AUTO_CANCEL *cancel = new_cancel();
    AUTO_LOCK *job = acquire(alice, "job");
    struct waiter heir = {.opts = wanting(HF_FOREVER, 60000)};
    int64_t start = 0;

    heir.opts.cancel = cancel;
    start_sleeper(&heir, alice, "job");
    hf__test_pause_ms(200);
    struct hf__test_thread *releaser = hf__test_start(release_job, job);
    hf__test_pause_ms(200);
    start = hf__test_now_ms();
    hf_cancel_fire(cancel);
    EXPECT_IS(end_waiter(&heir), HF_CANCELLED);
    EXPECT_SOON(since(start), patience(300));
    hf__test_join(releaser);
    EXPECT_SOON(await_free(bob, "job", patience(8000)), patience(2000));
}

/* The holder renews by hand just after the deadline, before the keeper has
 * looked: the loss must be told all the same. */
TEST(a_renewal_that_finds_the_lock_expired_lets_the_next_in)
{
    AUTO_CLIENT *alice = open_store();

    for (int i = 0; i < 10; i++) {
        AUTO_LOCK *job = acquire_fixed(alice, "job", 120);
        struct waiter next = {.opts = wanting(HF_FOREVER, 60000)};

        start_sleeper(&next, alice, "job");
        while (hf_held(job)) {
            /* As close to the deadline as can be. */
        }
        EXPECT_IS(hf_renew(job, NULL), HF_LOST);
        EXPECT_IS(end_waiter(&next), HF_OK);
    }
}

/* ---- claims whose caller has gone */

TEST(an_attempt_that_is_left_remembers_the_lost_one_before)
{
    /* The first is applied and its reply lost; the second is left while it
     * hangs in connecting, and is not sent at all. */
    AUTO_CLIENT *alice =
        open_faulty("io_timeout=300ms&fault=late_reply:acquire:1:200ms,"
                    "lose_reply:acquire:2,delay:open:3:2s");
    AUTO_CLIENT *bob = open_store();
    struct waiter first = {.opts = wanting(5000, 60000)};
    struct waiter left = {.opts = wanting(150, 12000)};

    start_sleeper(&first, alice, "other");
    hf__test_pause_ms(50); /* it is on its way, once the client is ready */
    start_sleeper(&left, alice, "job");
    EXPECT_IS(end_waiter(&left), HF_EUNKNOWN);
    (void)end_waiter(&first);
    EXPECT_SOON(await_free(bob, "job", patience(5000)), patience(2000));
}

/* ---- waiting */

TEST_IF(store_can(HF_CAP_WAIT),
        a_wait_that_begins_while_another_connects_is_woken)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_CLIENT *bob = open_faulty("fault=delay:open:3:600ms");
    AUTO_LOCK *a = acquire(alice, "a");
    AUTO_LOCK *b = acquire(alice, "b");
    struct waiter first = {.opts = wanting(20000, HF_LEASE_DEFAULT_MS)};
    struct waiter second = {.opts = wanting(20000, HF_LEASE_DEFAULT_MS)};

    start_sleeper(&first, bob, "a");
    hf__test_pause_ms(100);
    start_sleeper(&second, bob, "b");
    hf__test_pause_ms(1000);
    int64_t start = hf__test_now_ms();
    EXPECT_IS(hf_release(b, NULL), HF_OK);
    EXPECT_IS(end_waiter(&second), HF_OK);
    EXPECT_SOON(since(start), patience(500));
    EXPECT_IS(hf_release(a, NULL), HF_OK);
    (void)end_waiter(&first);
}

/* ---- closing */

static void release_late(void *lock)
{
    int r = hf_release(lock, NULL);

    EXPECT(r == HF_OK || r == HF_EUNKNOWN || r == HF_LOST);
    hf_free(lock);
}

TEST(a_release_under_way_at_close_leaves_nothing_behind)
{
    hf_client *alice = open_faulty("io_timeout=300ms&fault=delay:release:*:2s");
    hf_lock *job = acquire(alice, "job");
    int fds = count_fds();
    struct hf__test_thread *thread = hf__test_start(release_late, job);

    hf__test_pause_ms(100);
    hf_close(alice);
    hf__test_join(thread);
    /* The keeper's two go with the last reference to the client. */
    EXPECT_LESS(count_fds(), fds - 1);
}

/* ---- arguments */

TEST(a_fence_that_no_grant_can_have_breaks_nothing)
{
    HELD(job, alice);
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(hf_break(alice, "job", UINT64_MAX, &err), HF_EINVAL);
    EXPECT_NOT(err.text[0], '\0');
    EXPECT_IS(hf_break(alice, "job", UINT64_C(1) << 53, NULL), HF_EINVAL);
    expect_held(job);
}

TEST(a_reach_of_no_kind_is_refused)
{
    hf_open_opts opts = HF_OPEN_OPTS_INIT;
    hf_client *client = NULL;
    hf_error err = HF_ERROR_INIT;

    opts.reach = (hf_reach)99;
    EXPECT_IS(hf_open(store_url(NULL), &opts, &client, &err), HF_EINVAL);
    EXPECT(!client);
    EXPECT_HAS(err.text, "reach");
}

/* ---- statuses */

TEST(a_wait_longer_than_io_timeout_ends_as_timed_out)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_CLIENT *bob = open_with("io_timeout=200ms");
    AUTO_LOCK *job = acquire(alice, "job");

    EXPECT_IS(attempt(bob, "job", 600), HF_TIMEDOUT);
    EXPECT_IS(attempt(bob, "job", 50), HF_TIMEDOUT);
    expect_held(job);
}

/* The first give-back dies with its session; the second try, a twelfth of the
 * lease later, hangs in connecting. */
TEST(closing_does_not_wait_for_a_connection_that_hangs)
{
    hf_client *alice =
        open_faulty("io_timeout=2s&fault=die:release:*,delay:open:3-:30s");
    AUTO_LOCK *job = acquire_leased(alice, "job", 12000);
    int64_t start = hf__test_now_ms();

    hf_close(alice);
    EXPECT_SOON(since(start), 2000 + patience(500));
    EXPECT_IS(hf_state(job), HF_STATE_LOST);
}
