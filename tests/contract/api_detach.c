/* SPDX-License-Identifier: MIT */
/*
 * Every store, over the public API: grants that outlive their process, and
 * what becomes of the grant that left one behind.
 */
#include "tests/contract/detached.h"
#include "tests/contract/peer.h"

#include <string.h>

TEST_IF(store_can(HF_CAP_DETACH),
        a_detached_grant_outlives_its_handle_and_client)
{
    AUTO_CLIENT *bob = open_store();
    hf_client *alice = open_store();
    hf_acquire_opts opts = detached(20000);
    hf_lock *job = NULL;

    EXPECT_IS(hf_acquire(alice, "job", &opts, &job, NULL), HF_OK);
    EXPECT_IS(hf_detach(job, NULL), HF_OK);
    EXPECT_IS(hf_state(job), HF_STATE_DETACHED);
    EXPECT_IS(hf_held(job), 0);
    EXPECT_IS(hf_remaining_ms(job), 0);
    EXPECT_IS(hf_wait_lost(job, 1000), HF_OK);
    EXPECT_IS(hf_detach(job, NULL), HF_OK);
    hf_free(job);
    EXPECT_IS(try_once(bob, "job"), HF_BUSY);
    hf_close(alice);
    EXPECT_IS(try_once(bob, "job"), HF_BUSY);
}

TEST_IF(store_can(HF_CAP_DETACH), a_detached_grant_ends_with_its_lease)
{
    CLIENTS(alice, bob);
    hf_client *const waiters[] = {bob, alice};
    int64_t lease_ms = patience(500);

    for (int i = 0; i < 2; i++) {
        int64_t start = hf__test_now_ms();
        char token[33];

        leave_behind(alice, "job", lease_ms, token);
        await_free(waiters[i], "job", patience(5000));
        EXPECT_MORE(since(start), safe(lease_ms));
        EXPECT_SOON(since(start), lease_ms + patience(4000));
    }
}

TEST_IF(store_is_shared() && store_can(HF_CAP_DETACH),
        a_detached_grant_outlives_its_process)
{
    struct peer *carol = start_peer();
    struct peer *bob = start_peer();
    AUTO_CLIENT *alice = open_store();
    hf_acquire_opts opts = detached(20000);

    EXPECT_IS(peer_acquire_as(bob, "detached", &opts), HF_OK);
    kill_peer(bob);
    EXPECT_IS(peer_acquire(carol, "bound", 0, 20000), HF_OK);
    EXPECT_IS(peer_detach(carol), HF_OK);
    kill_peer(carol);
    hf__test_pause_ms(300);
    EXPECT_IS(try_once(alice, "detached"), HF_BUSY);
    EXPECT_IS(try_once(alice, "bound"), HF_BUSY);
}

/* The other side of it: one that was only acquired does not. */
TEST_IF(store_is_shared() && store_can(HF_CAP_DEATH),
        a_bound_grant_ends_with_its_process)
{
    struct peer *bob = start_peer();
    AUTO_CLIENT *alice = open_store();

    EXPECT_IS(peer_acquire(bob, "job", 0, 20000), HF_OK);
    kill_peer(bob);
    EXPECT_SOON(await_free(alice, "job", patience(5000)), patience(2000));
}

TEST_IF(store_can(HF_CAP_DETACH), a_detached_handle_releases_nothing)
{
    CLIENTS(alice, bob);
    hf_error err = HF_ERROR_INIT;

    AUTO_LOCK *job = acquire(alice, "job");
    EXPECT_IS(hf_detach(job, NULL), HF_OK);
    EXPECT_IS(hf_release(job, &err), HF_EINVAL);
    EXPECT(strstr(err.text, "adopt"));
    EXPECT_IS(try_once(bob, "job"), HF_BUSY);
}

TEST_IF(store_can(HF_CAP_DETACH), what_is_not_held_is_not_detached)
{
    HELD(released, alice);
    AUTO_LOCK *lost = acquire(alice, "lost");

    EXPECT_IS(hf_release(released, NULL), HF_OK);
    EXPECT_IS(hf_detach(released, NULL), HF_EINVAL);
    EXPECT_IS(hf_break(alice, "lost", 0, NULL), HF_OK);
    EXPECT_IS(hf_detach(lost, NULL), HF_LOST);
}

TEST_IF(store_can(HF_CAP_DETACH), a_shared_grant_is_not_detached)
{
    AUTO_CLIENT *alice = open_store();
    hf_acquire_opts opts = wanting(0, HF_LEASE_DEFAULT_MS);

    opts.reentrant = 1;
    AUTO_LOCK *outer = must_acquire(alice, "job", &opts);
    AUTO_LOCK *inner = must_acquire(alice, "job", &opts);
    EXPECT_IS(hf_detach(inner, NULL), HF_EINVAL);
    EXPECT_IS(hf_release(inner, NULL), HF_OK);
    EXPECT_IS(hf_detach(outer, NULL), HF_OK);
}

struct detaching {
    hf_lock *lock;
    int result;
};

static void detach_slowly(void *arg)
{
    struct detaching *d = arg;

    d->result = hf_detach(d->lock, NULL);
}

TEST_IF(store_can(HF_CAP_DETACH),
        a_grant_that_is_shared_meanwhile_is_not_detached)
{
    AUTO_CLIENT *alice = open_faulty("fault=delay:renew:1:500ms");
    hf_acquire_opts opts = wanting(0, HF_LEASE_DEFAULT_MS);
    struct detaching d = {NULL, -99};
    struct hf__test_thread *thread = NULL;

    opts.reentrant = 1;
    AUTO_LOCK *outer = must_acquire(alice, "job", &opts);
    d.lock = outer;
    thread = hf__test_start(detach_slowly, &d);
    hf__test_pause_ms(150);
    AUTO_LOCK *inner = must_acquire(alice, "job", &opts);
    hf__test_join(thread);
    EXPECT_IS(d.result, HF_EINVAL);
    expect_held(inner);
    EXPECT_IS(hf_release(inner, NULL), HF_OK);
    expect_held(outer);
}

/* A detaching without an answer: it is held as before, or not at all. */
TEST_IF(store_can(HF_CAP_DETACH), a_detaching_that_fails_changes_nothing)
{
    AUTO_CLIENT *alice = open_faulty("fault=die:renew:1");
    AUTO_LOCK *job = acquire(alice, "job");

    EXPECT_IS(hf_detach(job, NULL), HF_EUNAVAIL);
    EXPECT_IS(hf_held(job), 1);
    EXPECT_IS(hf_detach(job, NULL), HF_OK);
}
