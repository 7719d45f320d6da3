/* SPDX-License-Identifier: MIT */
/*
 * How long a claim may take: patience with a holder is kept, neither cut
 * short nor overdrawn. Upper bounds are generous: the machine is shared.
 */
#include "tests/contract/api.h"

static void expect_timed_out(hf_client *holder, hf_client *waiter,
                             int64_t wait_ms)
{
    AUTO_LOCK *job = acquire(holder, "job");
    int64_t start = hf__test_now_ms();

    EXPECT_IS(attempt(waiter, "job", wait_ms), HF_TIMEDOUT);
    EXPECT_MORE(since(start), wait_ms - 2);
    EXPECT_SOON(since(start), wait_ms + patience(3000));
    expect_held(job);
}

TEST(a_wait_takes_as_long_as_it_says)
{
    CLIENTS(alice, bob);

    expect_timed_out(alice, bob, 200);
    expect_timed_out(alice, bob, 1000);
    expect_timed_out(alice, bob, 1);
    expect_timed_out(alice, alice, 200);
}

TEST(a_try_does_not_wait)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *job = acquire(alice, "job");
    int64_t start = hf__test_now_ms();

    EXPECT_IS(try_once(bob, "job"), HF_BUSY);
    EXPECT_SOON(since(start), patience(1000));
    EXPECT_IS(hf_release(job, NULL), HF_OK);
}

TEST(a_wait_without_a_holder_is_no_wait)
{
    AUTO_CLIENT *alice = open_store();

    EXPECT_SOON(await_free(alice, "job", 10000), patience(5000));
    EXPECT_SOON(await_free(alice, "job", HF_FOREVER), patience(5000));
    EXPECT_SOON(await_free(alice, "job", INT64_MAX), patience(5000));
}

static void release_later(void *lock)
{
    hf__test_pause_ms(150);
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
}

static void expect_woken(hf_client *holder, hf_client *waiter, int64_t wait_ms)
{
    AUTO_LOCK *job = acquire(holder, "job");
    struct hf__test_thread *thread = hf__test_start(release_later, job);
    int64_t took = await_free(waiter, "job", wait_ms);

    EXPECT_MORE(took, 100);
    EXPECT_SOON(took, 150 + patience(5000));
    hf__test_join(thread);
}

TEST(a_release_ends_the_wait_of_another_client)
{
    CLIENTS(alice, bob);

    expect_woken(alice, bob, patience(5000));
    expect_woken(bob, alice, HF_FOREVER);
}

TEST(a_release_ends_the_wait_of_the_same_client)
{
    AUTO_CLIENT *alice = open_store();

    expect_woken(alice, alice, patience(5000));
    expect_woken(alice, alice, HF_FOREVER);
}

TEST(timing_out_names_the_lock)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *job = acquire(alice, "the job");
    hf_acquire_opts opts = wanting(50, HF_LEASE_DEFAULT_MS);

    expect_no_grant(bob, "the job", &opts, HF_TIMEDOUT, "the job");
    opts.wait_ms = 0;
    expect_no_grant(bob, "the job", &opts, HF_BUSY, "the job");
    expect_held(job);
}
