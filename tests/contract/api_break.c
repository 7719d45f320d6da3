/* SPDX-License-Identifier: MIT */
/*
 * Ending somebody else's grant: only the one that was meant, never in
 * silence; the old holder is told, and a waiter enters.
 */
#include "tests/contract/api.h"

#include <errno.h>

TEST(a_broken_lock_is_free_and_its_holder_is_told)
{
    CLIENTS(alice, bob);
    int64_t lease_ms = patience(1500);
    AUTO_LOCK *job = acquire_leased(alice, "job", lease_ms);
    int64_t start = hf__test_now_ms();

    EXPECT_IS(hf_break(bob, "job", 0, NULL), HF_OK);
    EXPECT_IS(presence(bob, "job"), HF_FREE);
    EXPECT_IS(hf_wait_lost(job, HF_FOREVER), HF_LOST);
    /* At the next renewal, a third of the lease away, at the latest. */
    EXPECT_SOON(since(start), lease_ms * 2 / 3);
    expect_lost(job, HF_REASON_BROKEN);
    EXPECT_IS(hf_release(job, NULL), HF_LOST);
}

TEST(a_lock_broken_and_taken_again_was_broken)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *old = acquire(alice, "job");

    EXPECT_IS(hf_break(bob, "job", hf_fence(old), NULL), HF_OK);
    AUTO_LOCK *new = acquire(bob, "job");
    EXPECT_IS(hf_renew(old, NULL), HF_LOST);
    expect_lost(old, HF_REASON_BROKEN);
    EXPECT_IS(hf_release(old, NULL), HF_LOST);
    expect_held(new);
    EXPECT_IS(hf_renew(new, NULL), HF_OK);
}

static void release_broken(const char *options)
{
    AUTO_CLIENT *alice = open_faulty(options);
    AUTO_CLIENT *bob = open_store();
    AUTO_LOCK *job = acquire(alice, "job");
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(hf_break(bob, "job", 0, NULL), HF_OK);
    EXPECT_IS(hf_release(job, &err), HF_LOST);
    EXPECT_IS(err.status, HF_LOST);
    EXPECT_HAS(err.text, "job");
    expect_lost(job, HF_REASON_BROKEN);
}

CASE(the_release_of_a_broken_lock_says_so, release_broken(NULL));
/* That it finds nothing is not its own doing. */
CASE(so_does_one_that_is_asked_for_twice,
     release_broken("fault=lose_request:release:1"));

TEST_IF(store_can(HF_CAP_FENCE), a_break_with_another_fence_is_refused)
{
    HELD(job, alice, bob);
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(hf_break(bob, "job", hf_fence(job) - 1, &err), HF_CONFLICT);
    EXPECT_IS(hf_break(bob, "job", hf_fence(job) + 1, &err), HF_CONFLICT);
    EXPECT_HAS(err.text, "job");
    EXPECT_IS(hf_renew(job, NULL), HF_OK);
    expect_held(job);
}

TEST(a_free_name_cannot_be_broken)
{
    AUTO_CLIENT *alice = open_store();

    EXPECT_IS(hf_break(alice, "job", 0, NULL), HF_CONFLICT);
    hf_free(acquire(alice, "job"));
    EXPECT_IS(hf_break(alice, "job", 0, NULL), HF_CONFLICT);
}

static void break_later(void *client)
{
    hf__test_pause_ms(100);
    EXPECT_IS(hf_break(client, "job", 0, NULL), HF_OK);
}

TEST(a_break_lets_a_waiter_of_either_client_enter)
{
    CLIENTS(alice, bob);
    hf_client *const waiters[] = {bob, alice};

    for (int i = 0; i < 2; i++) {
        AUTO_LOCK *job = acquire_leased(alice, "job", patience(3000));
        struct hf__test_thread *breaker = hf__test_start(break_later, bob);

        (void)await_free(waiters[i], "job", patience(5000));
        hf__test_join(breaker);
        EXPECT_IS(hf_release(job, NULL), HF_LOST);
    }
}

TEST(a_break_is_logged_with_both_owners)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_CLIENT *bob = open_logged(HF_LOG_WARN);
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    opts.owner = "the-old-owner";
    AUTO_LOCK *job = must_acquire(alice, "the-job", &opts);
    EXPECT_IS(hf_break(bob, "the-job", 0, NULL), HF_OK);
    EXPECT(logged("event=broken", "the-job", "the-old-owner",
                  program_invocation_short_name, NULL));
}

TEST(a_loss_is_logged)
{
    AUTO_CLIENT *alice = open_logged(HF_LOG_WARN);
    AUTO_CLIENT *bob = open_store();
    AUTO_LOCK *job = acquire(alice, "the-job");

    EXPECT_IS(hf_break(bob, "the-job", 0, NULL), HF_OK);
    EXPECT_IS(hf_renew(job, NULL), HF_LOST);
    /* Who tells the loss may be another thread than who sees it first. */
    UNTIL(logged("event=lost", "the-job", "broken", NULL));
}
