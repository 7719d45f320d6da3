/* SPDX-License-Identifier: MIT */
/*
 * Every store, over the public API: a lock that its owner asks for again is
 * shared where that was asked for, and a mistake that is told at once where
 * it was not.
 */
#include "tests/contract/api.h"

#include <string.h>

static hf_acquire_opts by(uint64_t owner_id)
{
    hf_acquire_opts opts = wanting(patience(5000), HF_LEASE_DEFAULT_MS);

    opts.owner_id = owner_id;
    opts.reentrant = 1;
    return opts;
}

static hf_lock *acquire_by(hf_client *client, const char *name,
                           uint64_t owner_id)
{
    hf_acquire_opts opts = by(owner_id);

    return must_acquire(client, name, &opts);
}

TEST(a_thread_that_waits_for_itself_is_told_at_once)
{
    AUTO_CLIENT *alice = open_store();
    int64_t start = hf__test_now_ms();
    AUTO_LOCK *job = must_acquire(alice, "job", NULL);

    expect_no_grant(alice, "job", NULL, HF_DEADLOCK, "\"job\"");
    expect_no_grant(alice, "job", NULL, HF_DEADLOCK, "reentrant");
    EXPECT_SOON(since(start), patience(5000));
    expect_held(job);
}

static void try_as_this_thread(void *arg)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    opts.wait_ms = 0;
    EXPECT_IS(attempt_with(arg, "job", &opts), HF_BUSY);
}

TEST(another_thread_is_another_owner)
{
    AUTO_CLIENT *alice = open_store();

    AUTO_LOCK *job = must_acquire(alice, "job", NULL);
    hf__test_join(hf__test_start(try_as_this_thread, alice));
    expect_held(job);
}

TEST(another_name_is_no_deadlock)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_by(alice, "job", 7);
    AUTO_LOCK *other = acquire_by(alice, "other", 7);

    expect_held(job);
    expect_held(other);
    EXPECT_NOT(strcmp(hf_token(job), hf_token(other)), 0);
}

TEST(an_owner_shares_its_grant)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *outer = acquire_by(alice, "job", 7);
    AUTO_LOCK *inner = acquire_by(alice, "job", 7);

    expect_held(inner);
    EXPECT(inner != outer);
    EXPECT_IS(hf_fence(inner), hf_fence(outer));
    EXPECT_TEXT(hf_token(inner), hf_token(outer));
    EXPECT_TEXT(hf_name(inner), "job");
}

TEST(the_grant_ends_with_the_last_release)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *outer = acquire_by(alice, "job", 7);
    AUTO_LOCK *middle = acquire_by(alice, "job", 7);
    AUTO_LOCK *inner = acquire_by(alice, "job", 7);

    EXPECT_IS(hf_release(middle, NULL), HF_OK);
    EXPECT_IS(hf_state(middle), HF_STATE_RELEASED);
    EXPECT_IS(hf_held(middle), 0);
    EXPECT_IS(hf_remaining_ms(middle), 0);
    expect_held(outer);
    EXPECT_IS(try_once(bob, "job"), HF_BUSY);
    EXPECT_IS(hf_release(outer, NULL), HF_OK);
    expect_held(inner);
    EXPECT_IS(try_once(bob, "job"), HF_BUSY);
    EXPECT_IS(hf_release(inner, NULL), HF_OK);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
}

/* A second release of one hold must not count as that of another. */
TEST(a_release_counts_once)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *outer = acquire_by(alice, "job", 7);
    AUTO_LOCK *inner = acquire_by(alice, "job", 7);

    EXPECT_IS(hf_release(inner, NULL), HF_OK);
    EXPECT_IS(hf_release(inner, NULL), HF_OK);
    expect_held(outer);
    EXPECT_IS(try_once(bob, "job"), HF_BUSY);
    EXPECT_IS(hf_release(outer, NULL), HF_OK);
    EXPECT_IS(hf_release(inner, NULL), HF_OK);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
}

TEST(freeing_a_hold_lets_go_of_that_hold)
{
    CLIENTS(alice, bob);
    hf_lock *outer = acquire_by(alice, "job", 7);
    hf_lock *inner = acquire_by(alice, "job", 7);

    hf_free(outer);
    expect_held(inner);
    EXPECT_IS(try_once(bob, "job"), HF_BUSY);
    hf_free(inner);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
}

TEST(the_store_is_not_asked_again)
{
    AUTO_CLIENT *alice = open_faulty("fault=die:acquire:2-");
    AUTO_LOCK *outer = acquire_by(alice, "job", 7);

    for (int i = 0; i < 100; i++) {
        AUTO_LOCK *inner = acquire_by(alice, "job", 7);

        expect_held(inner);
    }
    expect_held(outer);
}

TEST(neither_another_owner_nor_another_client_shares)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *outer = acquire_by(alice, "job", 7);
    hf_acquire_opts opts = by(8);

    opts.wait_ms = 0;
    EXPECT_IS(attempt_with(alice, "job", &opts), HF_BUSY);
    opts.owner_id = 7;
    EXPECT_IS(attempt_with(bob, "job", &opts), HF_BUSY);
    expect_held(outer);
}

TEST(a_grant_that_was_lost_is_not_shared)
{
    CLIENTS(alice, bob);
    hf_acquire_opts opts = by(7);

    end_after(&opts, patience(200));
    AUTO_LOCK *outer = must_acquire(alice, "job", &opts);
    AUTO_LOCK *inner = must_acquire(alice, "job", &opts);
    EXPECT_IS(hf_wait_lost(inner, patience(5000)), HF_LOST);
    expect_lost(outer, HF_REASON_EXPIRED);
    expect_no_grant(alice, "job", &opts, HF_LOST, "\"job\"");
    EXPECT_IS(hf_release(inner, NULL), HF_LOST);
    expect_no_grant(alice, "job", &opts, HF_LOST, "\"job\"");
    EXPECT_IS(hf_release(outer, NULL), HF_LOST);
    AUTO_LOCK *next = acquire_by(alice, "job", 7);
    expect_held(next);
    EXPECT_IS(try_once(bob, "job"), HF_BUSY);
}

/* Who lost a lock and does not know it yet must not be kept from it. */
TEST(a_lost_lock_is_no_deadlock)
{
    AUTO_CLIENT *alice = open_store();
    hf_acquire_opts opts = by(7);

    opts.reentrant = 0;
    end_after(&opts, patience(200));
    AUTO_LOCK *old = must_acquire(alice, "job", &opts);
    EXPECT_IS(hf_wait_lost(old, patience(5000)), HF_LOST);
    AUTO_LOCK *new = must_acquire(alice, "job", &opts);
    EXPECT_SAFE_MORE(hf_fence(new), hf_fence(old));
}

TEST(a_hold_that_was_let_go_ends_its_wait_for_loss)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *outer = acquire_by(alice, "job", 7);
    AUTO_LOCK *inner = acquire_by(alice, "job", 7);

    EXPECT_IS(hf_wait_lost(inner, 10), HF_TIMEDOUT);
    EXPECT_IS(hf_release(inner, NULL), HF_OK);
    EXPECT_IS(hf_wait_lost(inner, patience(5000)), HF_OK);
    EXPECT_IS(hf_wait_lost(outer, 10), HF_TIMEDOUT);
}

/* Eight threads of one owner go in and out of one another's holds; the grant
 * stays one until all have left. */
struct crowd {
    hf_client *client;
    uint64_t fence;
};

static void go_in_and_out(void *arg)
{
    const struct crowd *crowd = arg;

    for (int i = 0; i < 200; i++) {
        AUTO_LOCK *hold = acquire_by(crowd->client, "job", 7);

        EXPECT_IS(hf_fence(hold), crowd->fence);
        EXPECT_IS(hf_release(hold, NULL), HF_OK);
    }
}

TEST(threads_of_one_owner_share_one_grant)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *outer = acquire_by(alice, "job", 7);
    struct crowd crowd = {alice, hf_fence(outer)};
    struct hf__test_thread *threads[8];

    hf__test_start_all(threads, 8, go_in_and_out, &crowd);
    hf__test_join_all(threads, 8);
    expect_held(outer);
    EXPECT_IS(hf_release(outer, NULL), HF_OK);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
}

/* The last release of one thread and the acquire of another meet. */
static void contend(void *arg)
{
    for (int i = 0; i < 300; i++) {
        AUTO_LOCK *hold = acquire_by(arg, "job", 7);

        expect_held(hold);
        EXPECT_IS(hf_release(hold, NULL), HF_OK);
    }
}

TEST(the_last_release_and_a_new_acquire_do_not_mix)
{
    CLIENTS(alice, bob);
    struct hf__test_thread *threads[4];

    hf__test_start_all(threads, 4, contend, alice);
    hf__test_join_all(threads, 4);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
}

/* Who has let go has no say any more in what the others hold. */
TEST(a_hold_that_was_let_go_does_nothing_to_the_others)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *outer = acquire_by(alice, "job", 7);
    AUTO_LOCK *inner = acquire_by(alice, "job", 7);

    EXPECT_IS(hf_release(inner, NULL), HF_OK);
    EXPECT_IS(hf_renew(inner, NULL), HF_LOST);
    EXPECT_IS(hf_detach(inner, NULL), HF_EINVAL);
    expect_held(outer);
    EXPECT_IS(hf_release(outer, NULL), HF_OK);
}

/* It would wait for itself, and is told so. */
TEST(another_client_of_the_same_thread_is_somebody_else)
{
    CLIENTS(alice, bob);
    hf_acquire_opts opts = wanting(0, 20000);
    hf_error err = HF_ERROR_INIT;
    hf_lock *none = NULL;

    opts.reentrant = 1;
    opts.owner_id = 7;
    AUTO_LOCK *job = must_acquire(alice, "job", &opts);
    EXPECT_IS(hf_acquire(bob, "job", &opts, &none, &err), HF_BUSY);
    EXPECT(!none);
    EXPECT_HAS(err.text, "this thread's own");
    EXPECT_IS(hf_held(job), 1);
}

static void expect_stranger(void *client)
{
    hf_acquire_opts opts = wanting(0, 20000);
    hf_error err = HF_ERROR_INIT;
    hf_lock *none = NULL;

    EXPECT_IS(hf_acquire(client, "job", &opts, &none, &err), HF_BUSY);
    EXPECT(!strstr(err.text, "this thread's own"));
}

TEST(another_thread_is_not_told_that_it_is_in_its_own_way)
{
    HELD(job, alice);

    hf__test_join(hf__test_start(expect_stranger, alice));
    EXPECT_IS(hf_held(job), 1);
}
