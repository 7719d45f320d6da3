/* SPDX-License-Identifier: MIT */
/*
 * Acquire, be busy, release: what every store does when nothing goes wrong,
 * and whose a grant is. Alice and Bob are two clients of one store.
 */
#include "tests/contract/api.h"

TEST(a_lock_is_free_at_once_after_its_release_ten_times)
{
    CLIENTS(alice, bob);

    for (int i = 0; i < 10; i++) {
        AUTO_LOCK *job = acquire(i % 2 ? alice : bob, "job");

        EXPECT_IS(try_once(i % 2 ? bob : alice, "job"), HF_BUSY);
        EXPECT_IS(hf_release(job, NULL), HF_OK);
    }
    EXPECT_IS(presence(alice, "job"), HF_FREE);
}

TEST(a_released_handle_goes_on_answering)
{
    HELD(job, alice);
    uint64_t fence = hf_fence(job);

    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(hf_held(job), 0);
    EXPECT_IS(hf_state(job), HF_STATE_RELEASED);
    EXPECT_IS(hf_lost_reason(job), HF_REASON_NONE);
    EXPECT_IS(hf_remaining_ms(job), 0);
    EXPECT_IS(hf_wait_lost(job, 0), HF_OK);
    EXPECT_IS(hf_wait_lost(job, HF_FOREVER), HF_OK);
    EXPECT_TEXT(hf_name(job), "job");
    EXPECT_IS(hf_fence(job), fence);
}

TEST(a_released_lock_cannot_be_renewed)
{
    HELD(job, alice);
    hf_error err = HF_ERROR_INIT;

    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(hf_renew(job, &err), HF_LOST);
    EXPECT_HAS(err.text, "has been released");
    EXPECT_IS(presence(alice, "job"), HF_FREE);
}

TEST(a_second_release_says_the_same_and_frees_nobody)
{
    CLIENTS(alice, bob);
    AUTO_LOCK *old = acquire(alice, "job");

    EXPECT_IS(hf_release(old, NULL), HF_OK);
    AUTO_LOCK *new = acquire(bob, "job");
    EXPECT_IS(hf_release(old, NULL), HF_OK);
    EXPECT_IS(hf_renew(new, NULL), HF_OK);
    EXPECT_IS(try_once(alice, "job"), HF_BUSY);
}

/* What an expired grant does to whoever came after it: nothing. */
static void expect_stale_handle_is_harmless(hf_client *first, hf_client *next)
{
    AUTO_LOCK *old = acquire_fixed(first, "job", patience(100));
    AUTO_LOCK *new = acquire(next, "job");

    EXPECT_IS(hf_held(old), 0);
    EXPECT_IS(hf_release(old, NULL), HF_LOST);
    EXPECT_IS(hf_release(old, NULL), HF_LOST);
    EXPECT_IS(hf_renew(old, NULL), HF_LOST);
    EXPECT_IS(hf_renew(new, NULL), HF_OK);
    EXPECT_IS(try_once(first, "job"), HF_BUSY);
    expect_held(new);
    EXPECT_IS(hf_release(new, NULL), HF_OK);
}

TEST(a_stale_handle_cannot_free_the_next_holder)
{
    CLIENTS(alice, bob);

    expect_stale_handle_is_harmless(alice, bob);
    expect_stale_handle_is_harmless(alice, alice);
}

static void release_anyhow(void *lock)
{
    EXPECT_IS(hf_release(lock, NULL), HF_OK);
}

TEST(two_threads_may_release_at_once)
{
    AUTO_CLIENT *alice = open_store();

    for (int i = 0; i < 20; i++) {
        AUTO_LOCK *job = acquire(alice, "job");
        struct hf__test_thread *other = hf__test_start(release_anyhow, job);

        EXPECT_IS(hf_release(job, NULL), HF_OK);
        hf__test_join(other);
        EXPECT_IS(hf_state(job), HF_STATE_RELEASED);
    }
}

TEST(closing_a_client_releases_what_it_holds)
{
    hf_client *alice = open_store();
    AUTO_CLIENT *bob = open_store();
    AUTO_LOCK *job = acquire(alice, "job");
    AUTO_LOCK *other = acquire(alice, "other");

    hf_close(alice);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
    EXPECT_IS(try_once(bob, "other"), HF_OK);
    expect_lost(job, HF_REASON_SESSION);
    EXPECT_IS(hf_release(other, NULL), HF_LOST);
    EXPECT_IS(hf_renew(other, NULL), HF_LOST);
    EXPECT_TEXT(hf_name(job), "job");
}

TEST(a_lock_released_before_stays_released_when_its_client_closes)
{
    hf_client *alice = open_store();
    AUTO_LOCK *job = acquire(alice, "job");

    EXPECT_IS(hf_release(job, NULL), HF_OK);
    hf_close(alice);
    EXPECT_IS(hf_state(job), HF_STATE_RELEASED);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
}

TEST(nothing_is_a_harmless_handle)
{
    hf_free(NULL);
    hf_close(NULL);
    hf_info_free(NULL);
    hf_cancel_fire(NULL);
    hf_cancel_free(NULL);
    EXPECT_IS(hf_held(NULL), 0);
}

static int count_calls(void *arg, const hf_info *info)
{
    (void)info;
    ++*(int *)arg;
    return 0;
}

TEST(nothing_is_no_handle_to_work_with)
{
    hf_caps_info caps = HF_CAPS_INFO_INIT;
    AUTO_LOCK *lock = NULL;
    AUTO_INFO *info = NULL;
    int fds[1];
    int calls = 0;

    EXPECT_IS(hf_ping(NULL, NULL), HF_EINVAL);
    EXPECT_IS(hf_caps(NULL, &caps), HF_EINVAL);
    EXPECT_IS(hf_acquire(NULL, "job", NULL, &lock, NULL), HF_EINVAL);
    EXPECT_IS(hf_inspect(NULL, "job", &info, NULL), HF_EINVAL);
    EXPECT_IS(hf_list(NULL, "", count_calls, &calls, NULL), HF_EINVAL);
    EXPECT_IS(hf_break(NULL, "job", 0, NULL), HF_EINVAL);
    EXPECT_IS(hf_release(NULL, NULL), HF_EINVAL);
    EXPECT_IS(hf_renew(NULL, NULL), HF_EINVAL);
    EXPECT_IS(hf_detach(NULL, NULL), HF_EINVAL);
    EXPECT_IS(hf_wait_lost(NULL, 0), HF_EINVAL);
    EXPECT_IS(hf_lock_fds(NULL, fds, 1), HF_EINVAL);
    EXPECT_IS(calls, 0);
}

TEST(a_result_needs_a_place)
{
    AUTO_CLIENT *alice = open_store();

    EXPECT_IS(hf_open(store_url(NULL), NULL, NULL, NULL), HF_EINVAL);
    EXPECT_IS(hf_cancel_new(NULL), HF_EINVAL);
    EXPECT_IS(hf_caps(alice, NULL), HF_EINVAL);
    EXPECT_IS(hf_acquire(alice, "job", NULL, NULL, NULL), HF_EINVAL);
    EXPECT_IS(hf_inspect(alice, "job", NULL, NULL), HF_EINVAL);
    EXPECT_IS(hf_list(alice, "", NULL, NULL, NULL), HF_EINVAL);
    EXPECT_IS(hf_check(alice, NULL, NULL, NULL), HF_EINVAL);
    EXPECT_IS(presence(alice, "job"), HF_FREE);
}

TEST(the_default_waits_for_ever_with_a_lease_of_thirty_seconds)
{
    AUTO_CLIENT *alice = open_store();

    AUTO_LOCK *job = must_acquire(alice, "job", NULL);
    int64_t lease_ms = lease_given(HF_LEASE_DEFAULT_MS);

    EXPECT_IS(HF_LEASE_DEFAULT_MS, 30000);
    EXPECT_MORE(hf_remaining_ms(job), lease_ms * 2 / 3 - 100);
    EXPECT_LESS(hf_remaining_ms(job), lease_ms);
}

TEST(a_store_answers_and_says_what_it_can_do)
{
    AUTO_CLIENT *alice = open_store();
    hf_caps_info caps = HF_CAPS_INFO_INIT;

    EXPECT_IS(hf_ping(alice, NULL), HF_OK);
    EXPECT_IS(hf_caps(alice, &caps), HF_OK);
    EXPECT_HAS("ABCSD", ((char[]){caps.grade, 0}));
    EXPECT(caps.rests_on != NULL && caps.rests_on[0] != '\0');
    EXPECT_HAS(caps.store, scheme());
    EXPECT(caps.reach >= HF_REACH_PROCESS && caps.reach <= HF_REACH_HOSTS);
    EXPECT_IS(caps.reach >= HF_REACH_USER, store_is_shared());
    EXPECT(store_can(caps.flags));
}
