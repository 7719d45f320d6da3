/* SPDX-License-Identifier: MIT */
/*
 * Members that restart and have forgotten: until what they forgot is over,
 * they do not count, and a holder's renewals tell them.
 */
#include "tests/store_redlock/world.h"

#include <string.h>

static void forget(int i)
{
    hf__redis_kill(member(i));
    hf__redis_restart(member(i), NULL);
}

/* Three of which two have forgotten what the third knows. */
static int try_as_second(const char *options, int forgotten, hf_error *err)
{
    AUTO_GROUP *g = forgetful_group(3);
    say_options("longest_lease=3s");
    AUTO_CLIENT *alice = open_counted();
    AUTO_LOCK *job = acquire_fixed(alice, "job", 3000);
    hf_acquire_opts opts = wanting(0, 3000);
    hf_client *bob = NULL;
    hf_lock *same = NULL;
    int r;

    EXPECT_IS(hf__redis_group_size(g), 3);
    for (int i = 0; i < forgotten; i++) {
        forget(i);
    }
    r = hf_open(url_of(~0U, options), NULL, &bob, err);
    r = r == HF_OK ? hf_acquire(bob, "job", &opts, &same, err) : r;
    if (hf_held(job) != 1) {
        r = HF_TIMEDOUT; /* the machine was too slow to tell */
    }
    hf_free(same);
    hf_close(bob);
    return r;
}

TEST_WITHIN(60, one_that_forgot_makes_no_second_holder)
{
    hf_error err = HF_ERROR_INIT;

    EXPECT_SAFE(try_as_second("longest_lease=3s&connect_timeout=1s", 1, &err) !=
                HF_OK);
}

TEST_WITHIN(60, two_that_forgot_make_no_second_holder)
{
    hf_error err = HF_ERROR_INIT;
    int r = try_as_second("longest_lease=3s&connect_timeout=1s", 2, &err);

    EXPECT_SAFE(r != HF_OK);
    if (r != HF_TIMEDOUT) {
        EXPECT_IS(r, HF_EUNAVAIL);
        EXPECT(strstr(err.text, "1 of 3 members count, 2 must") ||
               strstr(err.text, "0 of 3 members count, 2 must"));
        EXPECT_HAS(err.text, "s ago, counted again in");
    }
}

/* Whoever says so gives that up. */
TEST_WITHIN(60, with_allow_volatile_two_that_forgot_make_a_second_holder)
{
    int r = try_as_second("longest_lease=3s&allow=volatile", 2, NULL);

    EXPECT(r == HF_OK || r == HF_TIMEDOUT);
}

TEST_WITHIN(60, who_forgot_counts_again_once_all_that_is_over)
{
    AUTO_GROUP *g = forgetful_group(3);
    say_options("longest_lease=1s");
    AUTO_CLIENT *alice = open_counted();
    AUTO_LOCK *job = acquire_fixed(alice, "job", 1000);
    AUTO_LOCK *next = NULL;
    hf_acquire_opts opts = wanting(15000, 1000);

    EXPECT_IS(hf__redis_group_size(g), 3);
    forget(0);
    forget(1);
    EXPECT_IS(hf_acquire(alice, "job", &opts, &next, NULL), HF_OK);
    EXPECT_SAFE_IS(hf_held(job), 0);
    EXPECT_SAFE_MORE(hf_fence(next), hf_fence(job));
}

/* Whoever waits meanwhile. */
TEST_WITHIN(60, renewals_tell_a_member_that_forgot)
{
    AUTO_GROUP *g = forgetful_group(3);
    struct waiter others[4];
    int64_t lease_ms = patience(2000);
    char options[40];
    snprintf(options, sizeof options, "longest_lease=%dms", (int)lease_ms);
    say_options(options);
    AUTO_CLIENT *alice = open_counted();
    AUTO_LOCK *job = acquire_leased(alice, "job", lease_ms);
    char token[33];

    EXPECT_IS(hf__redis_group_size(g), 3);
    begin_to_wait(others, 4, options, lease_ms);
    snprintf(token, sizeof token, "%s", token_at(1, "job"));
    forget(0);
    UNTIL(strcmp(token_at(0, "job"), token) == 0);
    hf__test_pause_ms(lease_ms + 1000); /* it counts again */
    expect_held(job);
    hf__redis_kill(member(1));
    hf__test_pause_ms(2 * lease_ms); /* without that one */
    expect_held(job);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    expect_served(others, 4);
    expect_nothing_left(5, "job");
}

TEST_WITHIN(60, members_that_keep_their_data_count_at_once)
{
    AUTO_GROUP *g = durable_group(3);
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(10000));

    for (int i = 0; i < hf__redis_group_size(g); i++) {
        forget(i);
    }
    expect_held(job);
    AUTO_CLIENT *bob = open_store();
    EXPECT_SAFE_IS(try_once(bob, "job"), HF_BUSY);
    EXPECT_IS(hf_renew(job, NULL), HF_OK);
}

TEST_WITHIN(60, a_lease_longer_than_is_waited_for_is_refused)
{
    AUTO_GROUP *g = forgetful_group(3);
    say_options("longest_lease=1s");
    AUTO_CLIENT *alice = open_counted();
    hf_acquire_opts opts = wanting(0, 1001);
    hf_error err = HF_ERROR_INIT;
    hf_lock *job = NULL;

    EXPECT_IS(hf__redis_group_size(g), 3);
    EXPECT_IS(hf_acquire(alice, "job", &opts, &job, &err), HF_EINVAL);
    EXPECT_HAS(err.text, "longer than longest_lease, 1000 ms");
    opts.lease_ms = 1000;
    opts.min_hold_ms = 5000;
    EXPECT_IS(hf_acquire(alice, "job", &opts, &job, &err), HF_EINVAL);
    EXPECT_HAS(err.text, "appendfsync always");
}
