/* SPDX-License-Identifier: MIT */
/*
 * Locks that live with their session: whose lease that is, what is refused for
 * it, and that its end is seen by the holder first. What leases that callers
 * choose do instead is in core_lease.c.
 */
#include "tests/contract/api_line.h"

#include <string.h>

static int64_t lease_of(hf_client *client)
{
    hf_caps_info caps = HF_CAPS_INFO_INIT;

    EXPECT_IS(hf_caps(client, &caps), HF_OK);
    return caps.lease_ms;
}

TEST(a_lease_is_told_where_it_is_the_sessions)
{
    HELD(job, alice);
    int64_t left = hf_remaining_ms(job);

    if (!store_can(HF_CAP_SESSION)) {
        EXPECT_IS(lease_of(alice), 0);
        return;
    }
    EXPECT_MORE(lease_of(alice), 0);
    EXPECT_LESS(left, safe(lease_of(alice)) + 1);
    EXPECT_MORE(left, safe(lease_of(alice)) * 2 / 3 - 100);
}

/* All ways to acquire: the same answer. */
static void expect_unable(hf_client *client, const hf_acquire_opts *opts,
                          const char *option)
{
    const char *const names[] = {"a", "b"};
    hf_error err = HF_ERROR_INIT;
    hf_lock *none = NULL;

    EXPECT_IS(hf_acquire(client, "job", opts, &none, &err), HF_ENOTSUP);
    EXPECT_HAS(err.text, option);
    EXPECT_IS(hf_acquire_many(client, names, 2, opts, &none, NULL), HF_ENOTSUP);
    EXPECT_IS(hf_acquire_async(client, "job", opts, NULL, NULL, NULL),
              HF_ENOTSUP);
    EXPECT(!none);
    EXPECT_IS(presence(client, "job"), HF_FREE);
}

TEST_IF(store_can(HF_CAP_SESSION),
        another_lease_than_the_sessions_is_not_supported)
{
    AUTO_CLIENT *alice = open_store();
    hf_acquire_opts opts = wanting(0, HF_LEASE_DEFAULT_MS);

    opts.lease_ms = lease_of(alice) + 1;
    expect_unable(alice, &opts, "lease_ms");
    opts.lease_ms = HF_LEASE_MIN_MS;
    expect_unable(alice, &opts, "session_timeout");
    opts.lease_ms = HF_LEASE_DEFAULT_MS;
    opts.auto_renew = 0;
    expect_unable(alice, &opts, "auto_renew");
    opts.auto_renew = 1;
    EXPECT_IS(attempt_with(alice, "job", &opts), HF_OK);
    opts.lease_ms = lease_of(alice);
    EXPECT_IS(attempt_with(alice, "job", &opts), HF_OK);
}

TEST_IF(store_can(HF_CAP_SESSION), what_lives_with_its_session_cannot_leave_it)
{
    HELD(job, alice, bob);
    AUTO_LOCK *none = NULL;
    hf_acquire_opts opts = wanting(0, HF_LEASE_DEFAULT_MS);
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(hf_detach(job, NULL), HF_ENOTSUP);
    EXPECT_IS(hf_adopt(bob, "job", hf_token(job), NULL, &none, &err),
              HF_ENOTSUP);
    EXPECT_HAS(err.text, "session");
    EXPECT(!none);
    opts.detached = 1;
    expect_held(job);
    EXPECT_IS(hf_acquire(bob, "other", &opts, &none, &err), HF_ENOTSUP);
    EXPECT_HAS(err.text, "detached");
}

/* The busy line claims to know nothing that nobody knows. */
TEST_IF(store_can(HF_CAP_SESSION), who_is_busy_hears_of_no_time_that_is_left)
{
    HELD(job, alice, bob);
    AUTO_LOCK *none = NULL;
    AUTO_INFO *info = look_at(bob, "job");
    hf_acquire_opts opts = wanting(0, HF_LEASE_DEFAULT_MS);
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(hf_acquire(bob, "job", &opts, &none, &err), HF_BUSY);
    EXPECT_HAS(err.text, "fence");
    EXPECT(!strstr(err.text, "left"));
    EXPECT_IS(hf_info_remaining_ms(info), -1);
    expect_held(job);
}

/* Nothing that is sent arrives any more, and then the client is gone: nobody
 * enters before the holder knew, and somebody does in the end. */
TEST_IF(store_can(HF_CAP_SESSION),
        a_session_that_is_cut_is_lost_to_its_holder_first)
{
    hf_client *alice = open_faulty(
        "io_timeout=300ms&fault=lose_request:renew:*,lose_request:release:*");
    AUTO_CLIENT *bob = open_store();
    int64_t lease_ms = lease_of(alice);
    int64_t start = hf__test_now_ms();
    AUTO_LOCK *job = acquire(alice, "job");

    hf_close(alice);
    EXPECT_IS(hf_held(job), 0);
    AUTO_LOCK *next = acquire(bob, "job");
    EXPECT(since(start) > lease_ms || !store_keeps_what_is_cut());
    if (store_can(HF_CAP_FENCE)) {
        EXPECT_SAFE_MORE(hf_fence(next), hf_fence(job));
    }
}

/* Where it costs nothing to stand in line, all who wait do. */
TEST_IF(store_queues(), who_waits_at_a_store_of_lines_is_seen_there)
{
    HELD(job, alice, bob);

    EXPECT_IS(attempt(bob, "job", 300), HF_TIMEDOUT);
    await_waiters(alice, "job", 0);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(try_once(alice, "job"), HF_OK);
}
