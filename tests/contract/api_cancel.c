/* SPDX-License-Identifier: MIT */
/*
 * A wait can be ended by anybody who has the cancel object, also a signal
 * handler; whatever else happens at that moment, no lock is left behind.
 */
#include "tests/contract/api_line.h"

#include <signal.h>
#include <unistd.h>

static void begin_wait(struct waiter *w, hf_client *client, hf_cancel *cancel)
{
    *w = (struct waiter){.opts = wanting(HF_FOREVER, HF_LEASE_DEFAULT_MS)};
    w->opts.cancel = cancel;
    start_sleeper(w, client, "job");
}

static void expect_cancelled(struct waiter *w, int64_t fired_ms)
{
    EXPECT_IS(end_waiter(w), HF_CANCELLED);
    EXPECT_SOON(w->ended_ms - fired_ms, patience(5000));
}

TEST(a_fired_cancel_stays_fired_and_keeps_claims_from_the_store)
{
    AUTO_CLIENT *slow = open_faulty("fault=delay:acquire:*:9s");
    AUTO_CANCEL *cancel = new_cancel();
    int64_t start = hf__test_now_ms();
    hf_acquire_opts opts = wanting(0, HF_LEASE_DEFAULT_MS);
    hf_error err = HF_ERROR_INIT;
    AUTO_LOCK *job = NULL;

    opts.cancel = cancel;
    hf_cancel_fire(cancel);
    hf_cancel_fire(cancel);
    for (int i = 0; i < 3; i++) {
        opts.wait_ms = i > 0 ? HF_FOREVER : 0;
        EXPECT_IS(hf_acquire(slow, "job", &opts, &job, &err), HF_CANCELLED);
        EXPECT(!job);
    }
    EXPECT_SOON(since(start), 9000);
    EXPECT_IS(err.status, HF_CANCELLED);
}

TEST(a_cancel_that_is_not_fired_changes_nothing)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_CANCEL *cancel = new_cancel();
    hf_acquire_opts opts = wanting(50, HF_LEASE_DEFAULT_MS);
    AUTO_LOCK *none = NULL;

    opts.cancel = cancel;
    AUTO_LOCK *job = must_acquire(alice, "job", &opts);
    opts.owner_id++;
    EXPECT_IS(hf_acquire(alice, "job", &opts, &none, NULL), HF_TIMEDOUT);
    hf_cancel_fire(cancel);
    expect_held(job);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
}

static hf_cancel *handled;

static void fire_handled(int signal_number)
{
    (void)signal_number;
    /* NOLINTNEXTLINE(bugprone-signal-handler,cert-sig30-c): its promise */
    hf_cancel_fire(handled);
}

TEST(a_signal_handler_may_cancel)
{
    CLIENTS(alice, bob);
    AUTO_CANCEL *cancel = new_cancel();
    AUTO_LOCK *job = acquire(alice, "job");
    struct waiter w;
    int64_t fired;

    handled = cancel;
    EXPECT(signal(SIGUSR1, fire_handled) != SIG_ERR);
    begin_wait(&w, bob, cancel);
    fired = hf__test_now_ms();
    EXPECT_IS(kill(getpid(), SIGUSR1), 0);
    expect_cancelled(&w, fired);
    expect_held(job);
}

TEST(one_cancel_ends_ten_waits)
{
    CLIENTS(alice, bob);
    AUTO_CANCEL *cancel = new_cancel();
    AUTO_LOCK *job = acquire(alice, "job");
    struct waiter w[10];
    int64_t fired;

    for (int i = 0; i < 10; i++) {
        begin_wait(&w[i], i % 2 ? alice : bob, cancel);
    }
    fired = hf__test_now_ms();
    hf_cancel_fire(cancel);
    for (int i = 0; i < 10; i++) {
        expect_cancelled(&w[i], fired);
    }
    expect_held(job);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    hf__test_pause_ms(50);
    EXPECT_IS(presence(alice, "job"), HF_FREE);
}

TEST(a_cancel_of_one_wait_leaves_the_others)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_CANCEL *cancel = new_cancel();
    AUTO_LOCK *job = acquire(alice, "job");
    struct waiter w[3];

    for (int i = 0; i < 3; i++) {
        begin_wait(&w[i], alice, i == 0 ? cancel : NULL);
    }
    hf_cancel_fire(cancel);
    expect_cancelled(&w[0], hf__test_now_ms());
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(end_waiter(&w[1]), HF_OK);
    EXPECT_IS(end_waiter(&w[2]), HF_OK);
}

/* The release and the cancel come as one: either wins, nothing is left. */
static void race(hf_client *holder, hf_client *waiter, int64_t gap_ms)
{
    AUTO_CANCEL *cancel = new_cancel();
    AUTO_LOCK *job = acquire(holder, "job");
    struct waiter w = {.opts = wanting(HF_FOREVER, HF_LEASE_DEFAULT_MS)};

    w.opts.cancel = cancel;
    start_claim(&w, waiter, "job");
    hf__test_pause_ms(gap_ms);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    hf_cancel_fire(cancel);
    EXPECT(end_waiter(&w) == HF_OK || w.status == HF_CANCELLED);
    (void)await_free(holder, "job", patience(5000));
}

TEST_WITHIN(40, a_cancel_racing_with_the_grant_leaks_no_lock)
{
    CLIENTS(alice, bob);

    for (int i = 0; i < 100; i++) {
        race(alice, bob, i % 3);
        race(alice, alice, i % 2);
    }
    EXPECT_IS(presence(alice, "job"), HF_FREE);
}
