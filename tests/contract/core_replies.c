/* SPDX-License-Identifier: MIT */
/*
 * Requests and replies that are lost, doubled or late. "Perhaps" is settled
 * by token: a claim is granted once or not at all, and never stays behind.
 * Alice sees the store through faults; Bob sees it as it is.
 */
#include "tests/contract/api_line.h"

#include <string.h>

static bool is_failure_of_the_store(int r)
{
    return r == HF_EUNAVAIL || r == HF_EUNKNOWN;
}

/* Alice's first claim meets the fault. Afterwards either she has the one
 * grant there is, or nobody has. */
static int one_grant_or_none(const char *options)
{
    AUTO_CLIENT *alice = open_faulty(options);
    AUTO_CLIENT *bob = open_store();
    hf_acquire_opts opts = wanting(0, 20000);
    hf_error err = HF_ERROR_INIT;
    AUTO_LOCK *job = NULL;
    int r = hf_acquire(alice, "job", &opts, &job, &err);

    printf("%s %s\n", hf_strstatus(r), err.text);
    if (r == HF_OK) {
        AUTO_INFO *info = look_at(bob, "job");

        EXPECT_IS(hf_info_fence(info), hf_fence(job));
        EXPECT_IS(try_once(bob, "job"), HF_BUSY);
        EXPECT_IS(hf_renew(job, NULL), HF_OK);
        EXPECT_IS(hf_release(job, NULL), HF_OK);
    } else {
        EXPECT(is_failure_of_the_store(r));
        EXPECT_IS(err.status, r);
        EXPECT_NOT(err.text[0], 0);
    }
    EXPECT_SOON(await_free(bob, "job", patience(5000)), patience(1000));
    await_free(alice, "job", patience(5000));
    return r;
}

/* One bad answer costs a caller nothing but time. */
static void expect_one_grant(const char *options)
{
    EXPECT_IS(one_grant_or_none(options), HF_OK);
}

CASE(a_claim_whose_reply_is_lost_is_granted_once,
     expect_one_grant("fault=lose_reply:acquire:1"));
CASE(a_claim_that_is_lost_is_granted_once,
     expect_one_grant("fault=lose_request:acquire:1"));
CASE(a_claim_over_a_dead_session_is_granted_once,
     expect_one_grant("fault=die:op:1"));
CASE(a_claim_that_arrives_twice_is_granted_once,
     expect_one_grant("fault=duplicate:acquire:*"));
CASE(a_release_that_arrives_twice_frees_once,
     expect_one_grant("fault=duplicate:release:*"));
CASE(a_renewal_that_arrives_twice_renews_once,
     expect_one_grant("fault=duplicate:renew:*"));

TEST(a_claim_of_which_nothing_is_heard_is_granted_once_or_not_at_all)
{
    one_grant_or_none("io_timeout=1s&fault=lose_reply:acquire:1-9");
    one_grant_or_none("io_timeout=1s&fault=lose_request:acquire:1-9");
    one_grant_or_none("io_timeout=1s&fault=die:op:1-9");
}

TEST(a_store_that_asks_to_try_again_is_asked_again)
{
    AUTO_CLIENT *alice =
        open_faulty("fault=again:acquire:1-2,again:release:1-2,again:renew:1");
    AUTO_CLIENT *bob = open_store();
    AUTO_LOCK *job = acquire(alice, "job");

    EXPECT_IS(hf_renew(job, NULL), HF_OK);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(try_once(bob, "job"), HF_OK);
}

TEST(that_a_store_always_asks_to_try_again_is_given_up_and_told_nobody)
{
    AUTO_CLIENT *alice =
        open_faulty("io_timeout=500ms&fault=again:inspect:*,again:acquire:*");
    hf_info *info = NULL;
    hf_lock *lock = NULL;
    hf_error err = HF_ERROR_INIT;
    int64_t start = hf__test_now_ms();

    EXPECT_IS(hf_inspect(alice, "job", &info, &err), HF_EUNAVAIL);
    EXPECT_IS(err.status, HF_EUNAVAIL);
    EXPECT_HAS(err.text, "asked to try again");
    err = (hf_error)HF_ERROR_INIT;
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    opts.wait_ms = 0;
    int r = hf_acquire(alice, "job", &opts, &lock, &err);
    EXPECT_LESS(r, 0);
    EXPECT_IS(err.status, r);
    EXPECT_SOON(since(start), 2 * 500 + patience(300));
}

/* The release meets the fault: the name is free soon, by the release or, if
 * it never arrived, by the end of the lease. */
static int released_by(const char *options, int64_t lease_ms)
{
    AUTO_CLIENT *alice = open_faulty(options);
    AUTO_CLIENT *bob = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", lease_ms);
    int64_t start = hf__test_now_ms();
    int r = hf_release(job, NULL);

    EXPECT(r == HF_OK || r == HF_EUNKNOWN);
    EXPECT_IS(hf_held(job), 0);
    EXPECT_IS(hf_release(job, NULL), r);
    /* As long as the session lives, nothing else ends what it has. */
    if (r == HF_EUNKNOWN && !store_leases()) {
        close_client(&alice);
        alice = NULL;
        EXPECT_SOON(await_free(bob, "job", patience(30000)),
                    2 * lease_given(lease_ms));
        return r;
    }
    await_free(bob, "job", patience(30000));
    EXPECT_SOON(since(start), patience(1500));
    return r;
}

CASE(a_release_whose_reply_is_lost_frees_the_name,
     EXPECT_IS(released_by("fault=lose_reply:release:1", 20000), HF_OK));
CASE(a_release_that_is_lost_frees_the_name,
     EXPECT_IS(released_by("fault=lose_request:release:1", 20000), HF_OK));
CASE(a_release_that_never_arrives_leaves_it_to_the_lease,
     EXPECT_IS(released_by("io_timeout=300ms&fault=lose_request:release:*",
                           800),
               HF_EUNKNOWN));

TEST(a_second_release_sends_nothing)
{
    AUTO_CLIENT *alice = open_faulty("fault=delay:release:2-:3s");
    AUTO_LOCK *job = acquire(alice, "job");
    int64_t start;

    EXPECT_IS(hf_release(job, NULL), HF_OK);
    start = hf__test_now_ms();
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_SOON(since(start), 1000);
}

/* A grant that is known only when it is already over is no grant. */
TEST(a_reply_later_than_the_lease_is_no_grant)
{
    AUTO_CLIENT *alice = open_faulty("fault=late_reply:acquire:1:600ms");
    AUTO_CLIENT *bob = open_store();
    hf_acquire_opts opts = wanting(0, 400);
    AUTO_LOCK *job = NULL;
    int64_t start = hf__test_now_ms();
    int r = hf_acquire(alice, "job", &opts, &job, NULL);

    EXPECT_IS(job != NULL, r == HF_OK);
    if (job) { /* by another attempt */
        expect_held(job);
        EXPECT_IS(hf_release(job, NULL), HF_OK);
    } else {
        EXPECT(is_failure_of_the_store(r));
    }
    await_free(bob, "job", patience(5000));
    EXPECT_SOON(since(start), 600 + patience(800));
}

TEST_IF(store_leases(), a_late_reply_within_the_lease_leaves_what_is_left_of_it)
{
    AUTO_CLIENT *alice = open_faulty("fault=late_reply:acquire:1:500ms");
    AUTO_LOCK *job = acquire_fixed(alice, "job", patience(1000));

    expect_held(job);
    EXPECT_LESS(hf_remaining_ms(job), patience(1000) - 499);
}

static void claim_late(struct waiter *w, hf_client *client, const char *name,
                       hf_cancel *cancel)
{
    *w = (struct waiter){.opts = wanting(HF_FOREVER, 20000)};
    w->opts.cancel = cancel;
    start_claim(w, client, name);
}

TEST(a_grant_that_comes_after_the_cancel_is_given_back)
{
    AUTO_CLIENT *alice = open_faulty("fault=late_reply:acquire:1:500ms");
    AUTO_CLIENT *bob = open_store();
    AUTO_CANCEL *cancel = new_cancel();
    struct waiter w;

    claim_late(&w, alice, "job", cancel);
    hf__test_pause_ms(100);
    hf_cancel_fire(cancel);
    EXPECT(end_waiter(&w) == HF_CANCELLED || w.status == HF_OK);
    EXPECT_SOON(await_free(bob, "job", patience(5000)), patience(1500));
    EXPECT_SOON(await_free(alice, "job", patience(5000)), patience(1500));
}

TEST(a_grant_in_the_batch_of_another_thread_is_given_back_too)
{
    AUTO_CLIENT *alice = open_faulty("fault=delay:acquire:1:200ms,"
                                     "late_reply:acquire:2-3:400ms");
    AUTO_CLIENT *bob = open_store();
    AUTO_CANCEL *cancel = new_cancel();
    static const char *const names[] = {"first", "a", "b"};
    struct waiter w[3];

    /* While the first is under way the others queue; one leads both. */
    for (int i = 0; i < 3; i++) {
        claim_late(&w[i], alice, names[i], i == 0 ? NULL : cancel);
        hf__test_pause_ms(50);
    }
    hf__test_pause_ms(250);
    hf_cancel_fire(cancel);
    for (int i = 0; i < 3; i++) {
        EXPECT(end_waiter(&w[i]) == HF_OK || w[i].status == HF_CANCELLED);
    }
    EXPECT_SOON(await_free(bob, "a", patience(5000)), patience(1500));
    EXPECT_SOON(await_free(bob, "b", patience(5000)), patience(1500));
}

TEST(an_inspection_whose_reply_is_lost_is_repeated_or_fails)
{
    AUTO_CLIENT *alice = open_faulty("fault=lose_reply:inspect:1");
    AUTO_INFO *info = NULL;
    int r = hf_inspect(alice, "job", &info, NULL);

    EXPECT(r == HF_OK || is_failure_of_the_store(r));
    EXPECT_IS(info != NULL, r == HF_OK);
    EXPECT_IS(presence(alice, "job"), HF_FREE);
}

TEST(a_break_whose_reply_is_lost_broke_the_lock)
{
    AUTO_CLIENT *alice = open_faulty("fault=lose_reply:break:1");
    HELD(job, bob);
    int r = hf_break(alice, "job", hf_fence(job), NULL);

    /* A second attempt finds nothing to break. */
    EXPECT(r == HF_OK || r == HF_EUNKNOWN);
    EXPECT_IS(hf_renew(job, NULL), HF_LOST);
    expect_lost(job, HF_REASON_BROKEN);
}

/* ---- doubt */

static void count_give_backs(void *arg, hf_level level, const char *line)
{
    atomic_int *n = arg;

    (void)level;
    atomic_fetch_add(n, strstr(line, "event=give_back") ? 1 : 0);
}

/* What is on its way may arrive after an answer to what was sent later. */
static void expect_give_backs(const char *fault, int expected)
{
    atomic_int n = 0;
    AUTO_CLIENT *alice = open_heard(fault, HF_LOG_INFO, count_give_backs, &n);
    HELD(job, bob);

    EXPECT_IS(attempt(alice, "job", patience(500)), HF_TIMEDOUT);
    hf_close(alice); /* by then it is settled */
    alice = NULL;
    EXPECT_IS(atomic_load(&n), expected);
    expect_held(job);
}

TEST(who_was_answered_after_a_lost_request_gives_back_all_the_same)
{
    expect_give_backs("fault=lose_request:acquire:1", 1);
    expect_give_backs("fault=lose_reply:acquire:1", 1);
}

TEST(who_never_was_in_doubt_gives_nothing_back)
{
    /* But a place in line. */
    expect_give_backs("fault=die:acquire:1", store_queues() ? 1 : 0);
}
