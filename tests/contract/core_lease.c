/* SPDX-License-Identifier: MIT */
/*
 * A grant lives as long as its lease: renewed, fixed, extended by hand,
 * expired. Nobody enters before the store's clock says so, and the holder
 * knows before that. Stores whose grants live with a session have no lease.
 */
#include "src/backend/record.h"
#include "tests/contract/api.h"

#include <stdatomic.h>

TEST(a_renewed_lock_outlives_its_lease_and_stays_exclusive)
{
    CLIENTS(alice, bob);
    int64_t lease_ms = lease_given(patience(600));
    int64_t start = hf__test_now_ms();
    AUTO_LOCK *job = acquire_leased(alice, "job", lease_ms);

    while (since(start) < 3 * lease_ms) {
        expect_held(job);
        EXPECT_LESS(hf_remaining_ms(job), lease_ms);
        EXPECT_IS(try_once(bob, "job"), HF_BUSY);
        hf__test_pause_ms(20);
    }
    EXPECT_IS(hf_release(job, NULL), HF_OK);
}

TEST(renewals_are_seen_in_the_store)
{
    CLIENTS(alice, bob);
    int64_t lease_ms = lease_given(patience(600));
    int64_t start = hf__test_now_ms();
    AUTO_LOCK *job = acquire_leased(alice, "job", lease_ms);

    while (since(start) < 2 * lease_ms) {
        AUTO_INFO *info = look_at(bob, "job");

        EXPECT_IS(hf_info_presence(info), HF_HELD_BY);
        if (store_leases()) {
            EXPECT_MORE(hf_info_remaining_ms(info), lease_ms / 10);
        } else {
            EXPECT_IS(hf_info_remaining_ms(info), -1);
        }
        hf__test_pause_ms(50);
    }
    expect_held(job);
}

TEST(a_fixed_lease_ends_on_time_and_a_waiter_enters_soon)
{
    CLIENTS(alice, bob);
    int64_t start = hf__test_now_ms();
    AUTO_LOCK *job = acquire_fixed(alice, "job", 400);
    AUTO_LOCK *next = acquire(bob, "job");
    int64_t took = since(start);

    /* Once the holder knows that it is over, it may be given back. */
    EXPECT_MORE(took, safe(400) - 2);
    EXPECT_SOON(took, 400 + patience(300));
    expect_lost(job, HF_REASON_EXPIRED);
    expect_held(next);
}

TEST_IF(store_leases(), an_expired_lock_is_free_to_try)
{
    CLIENTS(alice, bob);
    int64_t lease_ms = patience(200);
    int64_t start = hf__test_now_ms();
    AUTO_LOCK *job = acquire_fixed(alice, "job", lease_ms);
    int r = try_once(bob, "job");

    EXPECT_SOON(since(start), lease_ms);
    EXPECT_IS(r, HF_BUSY);
    hf__test_pause_ms(lease_ms + 10);
    EXPECT_IS(presence(bob, "job"), HF_FREE);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
    expect_lost(job, HF_REASON_EXPIRED);
}

TEST_IF(store_leases(), what_remains_is_less_than_the_lease_and_falls)
{
    AUTO_CLIENT *alice = open_store();
    int64_t before = hf__test_now_ms();
    AUTO_LOCK *job = acquire_fixed(alice, "job", 500);
    int64_t after = hf__test_now_ms();
    int64_t last = hf_remaining_ms(job);

    EXPECT_LESS(last, safe(500) + 1);
    EXPECT_MORE(last, safe(500) - since(before) - 2);
    for (int64_t at = since(after); hf_held(job); at = since(after)) {
        int64_t now = hf_remaining_ms(job);

        EXPECT_LESS(at, 500);
        EXPECT_LESS(now, last + 1);
        last = now;
        hf__test_pause_ms(10);
    }
    EXPECT_IS(hf_remaining_ms(job), 0);
}

TEST(waiting_for_the_loss_ends_with_the_lease)
{
    AUTO_CLIENT *alice = open_store();
    int64_t start = hf__test_now_ms();
    AUTO_LOCK *job = acquire_fixed(alice, "job", 400);

    EXPECT_IS(hf_wait_lost(job, HF_FOREVER), HF_LOST);
    EXPECT_MORE(since(start), safe(400) - 2);
    EXPECT_SOON(since(start), 400 + patience(200));
    expect_lost(job, HF_REASON_EXPIRED);
}

TEST(waiting_for_the_loss_has_a_limit)
{
    HELD(job, alice);
    int64_t start = hf__test_now_ms();

    EXPECT_IS(hf_wait_lost(job, 0), HF_TIMEDOUT);
    EXPECT_SOON(since(start), patience(50));
    start = hf__test_now_ms();
    EXPECT_IS(hf_wait_lost(job, 100), HF_TIMEDOUT);
    EXPECT_MORE(since(start), 98);
    EXPECT_SOON(since(start), 100 + patience(200));
}

struct watcher {
    hf_lock *lock;
    int status;
};

static void watch(void *arg)
{
    struct watcher *w = arg;

    w->status = hf_wait_lost(w->lock, HF_FOREVER);
}

TEST(waiting_for_the_loss_ends_with_the_release)
{
    HELD(job, alice);
    struct watcher w = {job, -1};
    struct hf__test_thread *thread = hf__test_start(watch, &w);

    hf__test_pause_ms(50);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    hf__test_join(thread);
    EXPECT_IS(w.status, HF_OK);
}

TEST(waiting_for_the_loss_ends_with_the_client)
{
    hf_client *alice = open_store();
    AUTO_LOCK *job = acquire(alice, "job");
    struct watcher w = {job, -1};
    struct hf__test_thread *thread = hf__test_start(watch, &w);

    hf__test_pause_ms(50);
    hf_close(alice);
    hf__test_join(thread);
    EXPECT_IS(w.status, HF_LOST);
}

TEST(many_may_wait_for_one_loss)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_fixed(alice, "job", 300);
    struct hf__test_thread *threads[8];
    struct watcher w[8];

    for (int i = 0; i < 8; i++) {
        w[i] = (struct watcher){job, -1};
        threads[i] = hf__test_start(watch, &w[i]);
    }
    for (int i = 0; i < 8; i++) {
        hf__test_join(threads[i]);
        EXPECT_IS(w[i].status, HF_LOST);
    }
}

TEST_IF(store_leases(), a_renewal_extends_the_lease)
{
    CLIENTS(alice, bob);
    int64_t lease_ms = patience(500);
    int64_t start = hf__test_now_ms();
    AUTO_LOCK *job = acquire_fixed(alice, "job", lease_ms);

    hf__test_pause_ms(lease_ms * 3 / 5);
    EXPECT_IS(hf_renew(job, NULL), HF_OK);
    EXPECT_MORE(hf_remaining_ms(job), lease_ms / 2);
    hf__test_pause_ms(lease_ms * 3 / 5);
    EXPECT_MORE(since(start), lease_ms);
    EXPECT_IS(try_once(bob, "job"), HF_BUSY);
    expect_held(job);
    EXPECT_IS(hf_wait_lost(job, HF_FOREVER), HF_LOST);
}

TEST(lost_is_final_though_the_name_is_free)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *job = acquire_fixed(alice, "job", 150);

    EXPECT_IS(hf_wait_lost(job, HF_FOREVER), HF_LOST);
    EXPECT_IS(hf_renew(job, NULL), HF_LOST);
    hf__test_pause_ms(160);
    EXPECT_IS(hf_renew(job, NULL), HF_LOST);
    EXPECT_IS(presence(bob, "job"), HF_FREE);
    EXPECT_IS(hf_release(job, NULL), HF_LOST);
    expect_lost(job, HF_REASON_EXPIRED);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
}

TEST(a_claim_that_failed_leaves_nothing_behind)
{
    HELD(job, alice, bob);
    int64_t start;

    EXPECT_IS(attempt(bob, "job", 100), HF_TIMEDOUT);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    if (store_ends_at_once()) {
        /* The server passes by who has hung up, when it comes to it. */
        UNTIL(presence(alice, "job") == HF_FREE);
    }
    start = hf__test_now_ms();
    while (since(start) < 300) {
        EXPECT_IS(presence(alice, "job"), HF_FREE);
        hf__test_pause_ms(20);
    }
}

struct renewer {
    hf_lock *lock;
    atomic_bool is_done;
};

static void renew_on(void *arg)
{
    struct renewer *r = arg;

    while (!atomic_load(&r->is_done)) {
        int status = hf_renew(r->lock, NULL);

        EXPECT(status == HF_OK || status == HF_LOST);
    }
}

TEST(a_renewal_on_its_way_does_not_undo_the_release)
{
    CLIENTS(alice, bob);

    for (int i = 0; i < 50; i++) {
        AUTO_LOCK *job = acquire(alice, "job");
        struct renewer r = {job, false};
        struct hf__test_thread *thread = hf__test_start(renew_on, &r);

        hf__test_pause_ms(i % 3);
        EXPECT_IS(hf_release(job, NULL), HF_OK);
        EXPECT_IS(try_once(bob, "job"), HF_OK);
        atomic_store(&r.is_done, true);
        hf__test_join(thread);
        EXPECT_IS(presence(bob, "job"), HF_FREE);
    }
}

enum { MANY = 300 };

TEST_IF(store_has_room(), hundreds_of_locks_are_renewed_together)
{
    AUTO_CLIENT *alice = open_store();
    int64_t lease_ms = patience(1000);
    static hf_lock *locks[MANY];
    int64_t start;

    for (int i = 0; i < MANY; i++) {
        char name[16];

        snprintf(name, sizeof name, "job %d", i);
        locks[i] = acquire_leased(alice, name, lease_ms);
    }
    start = hf__test_now_ms();
    while (since(start) < 2 * lease_ms) {
        for (int i = 0; i < MANY; i++) {
            EXPECT_IS(hf_held(locks[i]), 1);
        }
        hf__test_pause_ms(50);
    }
    for (int i = 0; i < MANY; i++) {
        hf_free(locks[i]);
    }
}

TEST_IF(store_breaks_one(),
        the_end_of_one_lease_does_not_stop_the_renewal_of_others)
{
    CLIENTS(alice, bob);
    int64_t lease_ms = patience(1500);
    AUTO_LOCK *kept = acquire_leased(alice, "kept", lease_ms);
    AUTO_LOCK *broken = acquire_leased(alice, "broken", lease_ms);
    AUTO_LOCK *fixed = acquire_fixed(alice, "fixed", 200);

    EXPECT_IS(hf_break(bob, "broken", 0, NULL), HF_OK);
    EXPECT_IS(hf_wait_lost(fixed, HF_FOREVER), HF_LOST);
    EXPECT_IS(hf_wait_lost(broken, HF_FOREVER), HF_LOST);
    EXPECT_IS(hf_wait_lost(kept, 2 * lease_ms), HF_TIMEDOUT);
    EXPECT_IS(try_once(bob, "kept"), HF_BUSY);
}
