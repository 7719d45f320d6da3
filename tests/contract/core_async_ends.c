/* SPDX-License-Identifier: MIT */
/*
 * Every store, over the asynchronous calls: a cancel at any moment, closing
 * with calls in flight, and what they leave behind: nothing.
 */
#include "tests/contract/loop.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static hf_acquire_opts with(hf_cancel *cancel)
{
    hf_acquire_opts opts = wanting(HF_FOREVER, HF_LEASE_DEFAULT_MS);

    opts.cancel = cancel;
    opts.owner_id = 0;
    return opts;
}

/* ---- cancelling */

TEST(a_cancelled_acquire_in_line_answers_at_once)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_CANCEL *cancel = new_cancel();
    AUTO_LOCK *job = acquire(alice, "job");
    hf_acquire_opts opts = with(cancel);
    struct outcome waits[3] = {{0}};

    for (int i = 0; i < 3; i++) {
        begin(alice, "job", &opts, &waits[i]);
    }
    loop_for(alice, 50);
    EXPECT_IS(waits[0].calls + waits[1].calls + waits[2].calls, 0);
    hf_cancel_fire(cancel);
    await_all(alice, waits, 3);
    for (int i = 0; i < 3; i++) {
        EXPECT_IS(waits[i].status, HF_CANCELLED);
    }
    expect_held(job);
}

static hf_cancel *fired_by_signal;

static void on_signal(int number)
{
    (void)number;
    hf_cancel_fire(fired_by_signal);
}

TEST(a_handler_cancels_an_acquire_that_waits_for_another_process)
{
    CLIENTS(alice, bob);
    AUTO_CANCEL *cancel = new_cancel();
    AUTO_LOCK *job = acquire(bob, "job");
    hf_acquire_opts opts = with(cancel);
    struct sigaction action = {.sa_handler = on_signal};
    AUTO_OUTCOME waits = {0};

    fired_by_signal = cancel;
    EXPECT_IS(sigaction(SIGUSR1, &action, NULL), 0);
    begin(alice, "job", &opts, &waits);
    loop_for(alice, 50);
    EXPECT_IS(raise(SIGUSR1), 0);
    EXPECT_IS(await(alice, &waits), HF_CANCELLED);
    expect_held(job);
}

/* Not from when the session that renews was connected, for which it waits. */
TEST(the_first_asynchronous_acquire_waits_from_its_call_on)
{
    AUTO_CLIENT *alice = open_faulty("fault=delay:open:2:3s");
    AUTO_CLIENT *bob = open_store();
    AUTO_LOCK *job = acquire(bob, "job");
    hf_acquire_opts opts = wanting(4000, HF_LEASE_DEFAULT_MS);
    AUTO_OUTCOME late = {0};
    int64_t start = hf__test_now_ms();

    begin(alice, "job", &opts, &late);
    EXPECT_IS(await(alice, &late), HF_TIMEDOUT);
    EXPECT_SOON(since(start), 6000);
    expect_held(job);
}

TEST(a_cancel_before_an_asynchronous_acquire_keeps_it_from_the_store)
{
    AUTO_CLIENT *alice = open_faulty("fault=delay:acquire:*:5s");
    AUTO_CANCEL *cancel = new_cancel();
    hf_acquire_opts opts = with(cancel);
    AUTO_OUTCOME job = {0};
    int64_t start = hf__test_now_ms();

    hf_cancel_fire(cancel);
    begin(alice, "job", &opts, &job);
    EXPECT_IS(await(alice, &job), HF_CANCELLED);
    EXPECT_SOON(since(start), 5000);
}

TEST(a_cancel_during_the_request_answers_at_once_and_leaves_nothing)
{
    AUTO_CLIENT *alice = open_faulty("fault=delay:acquire:1:3s");
    AUTO_CLIENT *bob = open_store();
    AUTO_CANCEL *cancel = new_cancel();
    hf_acquire_opts opts = with(cancel);
    AUTO_OUTCOME job = {0};
    int64_t start = hf__test_now_ms();

    begin(alice, "job", &opts, &job);
    loop_for(alice, 100);
    hf_cancel_fire(cancel);
    EXPECT_IS(await(alice, &job), HF_CANCELLED);
    EXPECT_SOON(since(start), 3000);
    hf__test_pause_ms(3200 - since(start));
    EXPECT_LESS(await_free(bob, "job", patience(5000)), patience(2000));
}

TEST(a_grant_that_was_cancelled_before_it_was_told_is_given_back)
{
    CLIENTS(alice, bob);
    AUTO_CANCEL *cancel = new_cancel();
    hf_acquire_opts opts = with(cancel);
    AUTO_OUTCOME job = {0};

    begin(alice, "job", &opts, &job);
    EXPECT(is_ready(alice, patience(5000)));
    EXPECT_IS(try_once(bob, "job"), HF_BUSY); /* it has been granted */
    hf_cancel_fire(cancel);
    EXPECT_IS(await(alice, &job), HF_CANCELLED);
    EXPECT_LESS(await_free(bob, "job", patience(5000)), patience(1500));
    EXPECT(!is_ready(alice, 20));
}

TEST(a_cancel_after_the_callback_takes_nothing)
{
    AUTO_CLIENT *alice = open_store();
    hf_cancel *cancel = new_cancel();
    hf_acquire_opts opts = with(cancel);
    AUTO_OUTCOME job = {0};

    begin(alice, "job", &opts, &job);
    EXPECT_IS(await(alice, &job), HF_OK);
    hf_cancel_fire(cancel);
    hf_cancel_free(cancel); /* nobody uses it any more */
    loop_for(alice, 20);
    expect_held(job.lock);
}

static void fire_after(void *arg)
{
    hf_cancel **cancel = arg;
    static _Atomic unsigned n;

    /* Some hundred microseconds, a little more each time. */
    for (unsigned i = 0; i < atomic_load(&n); i++) {
        (void)getppid();
    }
    n += 40;
    hf_cancel_fire(*cancel);
}

/* Two acquires, and a cancel at some moment. How many were granted. */
static int race(hf_client *client)
{
    AUTO_CANCEL *cancel = new_cancel();
    hf_acquire_opts opts = with(cancel);
    struct outcome jobs[2] = {{0}};
    struct hf__test_thread *t;
    int granted = 0;

    begin(client, "job", &opts, &jobs[0]);
    begin(client, "job", &opts, &jobs[1]); /* may be handed it */
    t = hf__test_start(fire_after, &cancel);
    await_all(client, &jobs[0], 1);
    granted = jobs[0].status == HF_OK;
    EXPECT(granted || jobs[0].status == HF_CANCELLED);
    free_outcome(&jobs[0]);
    EXPECT(await(client, &jobs[1]) == HF_OK || jobs[1].status == HF_CANCELLED);
    granted += jobs[1].status == HF_OK;
    free_outcome(&jobs[1]);
    hf__test_join(t);
    return granted;
}

TEST_WITHIN(120, a_cancel_racing_with_the_asynchronous_grant_answers_once)
{
    CLIENTS(alice, bob);
    int granted = 0;

    for (int i = 0; i < 100; i++) {
        granted += race(alice);
    }
    printf("%d of 200 were granted\n", granted);
    EXPECT(!is_ready(alice, 20));
    EXPECT_LESS(await_free(bob, "job", patience(5000)), patience(2000));
}

/* ---- closing */

TEST(closing_answers_all_that_is_in_flight_and_leaves_nothing)
{
    hf_client *alice = open_store();
    AUTO_CLIENT *bob = open_store();
    hf_lock *busy = acquire(bob, "busy");
    AUTO_LOCK *mine = acquire(alice, "mine");
    AUTO_LOCK *gone = acquire(alice, "gone");
    AUTO_OUTCOME elsewhere = {0};
    struct outcome line[3] = {{0}};
    AUTO_OUTCOME granted = {0};
    struct outcome done = {0};

    begin(alice, "busy", NULL, &elsewhere);
    for (int i = 0; i < 3; i++) {
        begin(alice, "mine", NULL, &line[i]);
    }
    begin(alice, "free", NULL, &granted);
    EXPECT(is_ready(alice, patience(5000)));
    EXPECT_IS(hf_release_async(gone, note_done, &done, NULL), HF_OK);
    close_loop(alice);
    EXPECT_IS(elsewhere.status, HF_CANCELLED);
    EXPECT_IS(line[0].status, HF_CANCELLED);
    EXPECT_IS(line[1].status, HF_CANCELLED);
    EXPECT_IS(line[2].status, HF_CANCELLED);
    EXPECT_IS(granted.status, HF_CANCELLED);
    EXPECT_IS(granted.calls + elsewhere.calls + done.calls, 3);
    EXPECT_IS(done.status, HF_OK);
    EXPECT_IS(hf_held(mine), 0);
    EXPECT_IS(try_once(bob, "free"), HF_OK);
    EXPECT_IS(try_once(bob, "mine"), HF_OK);
    EXPECT_IS(try_once(bob, "gone"), HF_OK);
    hf_free(busy);
}

static int refusals;

static void try_more(struct outcome *o)
{
    refusals += hf_acquire_async(o->client, "more", NULL, note_acquire, NULL,
                                 NULL) == HF_EUNAVAIL;
}

TEST(a_callback_in_closing_begins_nothing_new)
{
    hf_client *alice = open_store();
    AUTO_LOCK *job = acquire(alice, "job");
    AUTO_OUTCOME waits = {.then = try_more};
    struct outcome done = {0};

    begin(alice, "job", NULL, &waits);
    close_loop(alice);
    EXPECT_IS(waits.status, HF_CANCELLED);
    EXPECT_IS(refusals, 1);
    EXPECT_IS(hf_release_async(job, note_done, &done, NULL), HF_EUNAVAIL);
    EXPECT_IS(hf_on_lost(job, note_loss, &done), HF_EUNAVAIL);
}

TEST(closing_with_calls_in_flight_does_not_wait_past_io_timeout)
{
    hf_client *alice = open_faulty("io_timeout=500ms&fault=delay:op:4-:30s");
    struct outcome jobs[4] = {{0}};
    hf_acquire_opts opts = with(NULL);
    AUTO_LOCK *job = acquire(alice, "job");
    struct outcome done = {0};
    int64_t start;

    begin(alice, "a", &opts, &jobs[0]);
    begin(alice, "b", &opts, &jobs[1]);
    begin(alice, "a", &opts, &jobs[2]);
    begin(alice, "c", &opts, &jobs[3]);
    EXPECT_IS(hf_release_async(job, note_done, &done, NULL), HF_OK);
    start = hf__test_now_ms();
    close_loop(alice);
    EXPECT_SOON(since(start), patience(10000));
    EXPECT_IS(jobs[0].calls + jobs[1].calls + jobs[2].calls + jobs[3].calls, 4);
    EXPECT_IS(done.calls, 1);
}

/* ---- options */

TEST_IF(store_can(HF_CAP_KEEP), an_asynchronous_start_counts_once)
{
    AUTO_CLIENT *alice = open_store();
    hf_acquire_opts opts = wanting(HF_FOREVER, HF_LEASE_DEFAULT_MS);
    AUTO_OUTCOME first = {0};
    AUTO_OUTCOME second = {0};
    AUTO_OUTCOME third = {0};

    opts.once_ms = 60000;
    opts.owner_id = 0;
    begin(alice, "job", &opts, &first);
    EXPECT_IS(await(alice, &first), HF_OK);
    begin(alice, "job", &opts, &second);
    EXPECT_IS(await(alice, &second), HF_CONFLICT); /* told while it is held */
    EXPECT_IS(hf_once_undo(first.lock, NULL), HF_OK);
    free_outcome(&first);
    begin(alice, "job", &opts, &third);
    EXPECT_IS(await(alice, &third), HF_OK);
}

TEST_IF(store_can(HF_CAP_KEEP),
        a_start_that_was_cancelled_before_it_was_told_does_not_count)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_CANCEL *cancel = new_cancel();
    hf_acquire_opts opts = with(cancel);
    AUTO_OUTCOME first = {0};
    AUTO_OUTCOME second = {0};

    opts.once_ms = 60000;
    opts.min_hold_ms = 60000;
    opts.owner_id = 0;
    begin(alice, "job", &opts, &first);
    EXPECT(is_ready(alice, patience(5000)));
    hf_cancel_fire(cancel);
    EXPECT_IS(await(alice, &first), HF_CANCELLED);
    opts.cancel = NULL;
    hf__test_pause_ms(patience(200));
    begin(alice, "job", &opts, &second);
    EXPECT_IS(await(alice, &second), HF_OK);
}

TEST_IF(store_can(HF_CAP_KEEP), a_start_whose_mark_gets_no_answer_is_settled)
{
    AUTO_CLIENT *alice = open_faulty("fault=lose_reply:acquire:2");
    hf_acquire_opts opts = wanting(HF_FOREVER, HF_LEASE_DEFAULT_MS);
    AUTO_OUTCOME job = {0};

    opts.once_ms = 60000;
    begin(alice, "job", &opts, &job);
    EXPECT_IS(await(alice, &job), HF_OK);
    expect_held(job.lock);
}

TEST_IF(store_can(HF_CAP_KEEP), a_start_that_is_closed_meanwhile_does_not_count)
{
    hf_client *alice = open_faulty("fault=delay:acquire:2:300ms");
    AUTO_CLIENT *bob = open_store();
    hf_acquire_opts opts = wanting(HF_FOREVER, HF_LEASE_DEFAULT_MS);
    AUTO_OUTCOME job = {0};
    AUTO_OUTCOME next = {0};

    opts.once_ms = 60000;
    begin(alice, "job", &opts, &job);
    hf__test_pause_ms(patience(100));
    close_loop(alice);
    EXPECT_IS(job.status, HF_CANCELLED);
    begin(bob, "job", &opts, &next);
    EXPECT_IS(await(bob, &next), HF_OK);
}

TEST(an_owner_acquires_again_without_waiting)
{
    CLIENTS(alice, bob);
    hf_acquire_opts opts = wanting(HF_FOREVER, HF_LEASE_DEFAULT_MS);
    AUTO_OUTCOME first = {0};
    AUTO_OUTCOME second = {0};
    AUTO_OUTCOME third = {0};
    struct outcome done = {0};

    begin(alice, "job", &opts, &first);
    EXPECT_IS(await(alice, &first), HF_OK);
    begin(alice, "job", &opts, &third);
    EXPECT_IS(await(alice, &third), HF_DEADLOCK);
    opts.reentrant = 1;
    begin(alice, "job", &opts, &second);
    EXPECT_IS(await(alice, &second), HF_OK);
    EXPECT_IS(hf_fence(second.lock), hf_fence(first.lock));
    begin_release(&first, &done);
    EXPECT_IS(await(alice, &done), HF_OK);
    expect_held(second.lock);
    EXPECT_IS(try_once(bob, "job"), HF_BUSY);
}

TEST_IF(store_can(HF_CAP_DETACH),
        a_detached_grant_can_be_acquired_asynchronously)
{
    hf_client *alice = open_store();
    AUTO_CLIENT *bob = open_store();
    hf_acquire_opts opts = wanting(0, patience(1000));
    AUTO_OUTCOME job = {0};

    opts.detached = 1;
    begin(alice, "job", &opts, &job);
    EXPECT_IS(await(alice, &job), HF_OK);
    EXPECT_IS(hf_detach(job.lock, NULL), HF_OK);
    close_loop(alice);
    EXPECT_IS(try_once(bob, "job"), HF_BUSY);
}
