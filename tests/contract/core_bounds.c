/* SPDX-License-Identifier: MIT */
/*
 * Nothing blocks past its limit: a store that hangs or is gone costs
 * io_timeout, however patient the caller is with a holder; what a call left
 * undone is settled afterwards. And waiting that survives bad connections.
 */
#include "tests/contract/api.h"

#include <sched.h>
#include <stdatomic.h>

static void expect_given_up(const char *options, int64_t wait_ms,
                            int64_t bound_ms)
{
    AUTO_CLIENT *alice = open_faulty(options);
    AUTO_CLIENT *bob = open_store();
    hf_error err = HF_ERROR_INIT;
    hf_acquire_opts opts = wanting(wait_ms, 20000);
    AUTO_LOCK *job = NULL;
    int64_t start = hf__test_now_ms();
    int r = hf_acquire(alice, "job", &opts, &job, &err);

    EXPECT_SOON(since(start), bound_ms + patience(300));
    EXPECT(r == HF_EUNAVAIL || r == HF_EUNKNOWN);
    EXPECT(!job);
    EXPECT_NOT(err.text[0], 0);
    /* What may have been granted was given back, long before its lease. */
    EXPECT_SOON(await_free(bob, "job", patience(10000)), patience(3000));
}

CASE(a_claim_that_hangs_is_given_up,
     expect_given_up("io_timeout=500ms&fault=delay:acquire:1-9:5s", 0, 500));
CASE(a_claim_whose_reply_hangs_is_given_up_and_given_back,
     expect_given_up("io_timeout=500ms&fault=late_reply:acquire:1:5s", 0, 500));
CASE(a_patient_claim_that_hangs_is_not_said_to_have_timed_out,
     expect_given_up("io_timeout=500ms&fault=delay:acquire:*:5s", 800, 800));

TEST(a_client_settles_its_own_debt_before_it_claims_again)
{
    AUTO_CLIENT *alice =
        open_faulty("io_timeout=500ms&fault=late_reply:acquire:1:5s");
    int r = try_once(alice, "job");

    EXPECT(r == HF_EUNKNOWN || r == HF_EUNAVAIL || r == HF_OK);
    EXPECT_SOON(await_free(alice, "job", patience(5000)), patience(2000));
}

TEST(a_hanging_inspection_is_given_up)
{
    AUTO_CLIENT *alice =
        open_faulty("io_timeout=300ms&fault=delay:inspect:*:5s");
    hf_info *info = NULL;
    int64_t start = hf__test_now_ms();
    int r = hf_inspect(alice, "job", &info, NULL);

    EXPECT(r == HF_EUNKNOWN || r == HF_EUNAVAIL);
    EXPECT(!info);
    EXPECT_SOON(since(start), 300 + patience(300));
}

static int never_called(void *arg, const hf_info *info)
{
    (void)arg;
    EXPECT(!info);
    return 0;
}

TEST_IF(store_can(HF_CAP_LIST), a_hanging_list_is_given_up)
{
    AUTO_CLIENT *alice = open_faulty("io_timeout=300ms&fault=delay:list:*:5s");
    int64_t start = hf__test_now_ms();
    int r = hf_list(alice, "", never_called, NULL, NULL);

    EXPECT(r == HF_EUNKNOWN || r == HF_EUNAVAIL);
    EXPECT_SOON(since(start), 300 + patience(300));
}

TEST(a_hanging_release_is_given_up)
{
    AUTO_CLIENT *alice =
        open_faulty("io_timeout=300ms&fault=delay:release:*:5s");
    AUTO_LOCK *job = acquire(alice, "job");
    int64_t start = hf__test_now_ms();

    EXPECT_IS(hf_release(job, NULL), HF_EUNKNOWN);
    EXPECT_SOON(since(start), 300 + patience(300));
    EXPECT_IS(hf_held(job), 0);
    EXPECT_IS(hf_release(job, NULL), HF_EUNKNOWN);
}

TEST_IF(store_leases(), a_hanging_adoption_is_given_up)
{
    AUTO_CLIENT *alice = open_faulty("io_timeout=500ms&fault=delay:inspect:*:"
                                     "400ms,delay:renew:*:5s");
    HELD(job, bob);
    AUTO_LOCK *none = NULL;
    int64_t start = hf__test_now_ms();
    int r = hf_adopt(alice, "job", hf_token(job), NULL, &none, NULL);

    EXPECT(r == HF_EUNKNOWN || r == HF_EUNAVAIL);
    EXPECT(!none);
    EXPECT_SOON(since(start), 500 + patience(300));
}

/* It fails for a while, is asked for again, and hangs when time is short. */
TEST_IF(store_can(HF_CAP_KEEP), taking_back_a_start_that_hangs_is_given_up)
{
    AUTO_CLIENT *alice = open_faulty("io_timeout=1s&fault=die:release:1-20,"
                                     "delay:release:21-22:5s");
    hf_acquire_opts opts = wanting(0, HF_LEASE_DEFAULT_MS);
    int64_t start;
    int r;

    opts.once_ms = 60000;
    AUTO_LOCK *job = must_acquire(alice, "job", &opts);
    start = hf__test_now_ms();
    r = hf_once_undo(job, NULL);
    EXPECT(r == HF_EUNKNOWN || r == HF_EUNAVAIL);
    EXPECT_SOON(since(start), 1000 + patience(300));
}

TEST(a_release_does_not_wait_past_the_lease)
{
    AUTO_CLIENT *alice = open_faulty("io_timeout=1s&fault=delay:release:*:30s");
    AUTO_LOCK *job = acquire_fixed(alice, "job", 400);
    int64_t start = hf__test_now_ms();
    int r = hf_release(job, NULL);

    EXPECT(r == HF_EUNKNOWN || r == HF_LOST);
    EXPECT_SOON(since(start), 400 + patience(300));
}

TEST(closing_does_not_wait_past_io_timeout)
{
    hf_client *alice = open_faulty("io_timeout=500ms&fault=delay:release:*:9s");
    AUTO_LOCK *a = acquire(alice, "a");
    AUTO_LOCK *b = acquire(alice, "b");
    int64_t start = hf__test_now_ms();

    hf_close(alice);
    EXPECT_SOON(since(start), 500 + patience(500));
    EXPECT_IS(hf_held(a), 0);
    EXPECT_IS(hf_held(b), 0);
}

static int open_fault(const char *options)
{
    char url[2200];

    snprintf(url, sizeof url, "fault+%s", store_url(options));
    return open_status(url, NULL);
}

TEST(a_store_that_cannot_be_reached_is_said_so)
{
    int64_t start = hf__test_now_ms();

    EXPECT_IS(open_fault("fault=die:open:*"), HF_EUNAVAIL);
    EXPECT_IS(open_fault("connect_timeout=300ms&fault=delay:open:*:30s"),
              HF_EUNAVAIL);
    EXPECT_SOON(since(start), 300 + patience(500));
}

TEST(a_store_that_dies_is_opened_again)
{
    AUTO_CLIENT *alice =
        open_faulty("fault=die:acquire:1,die:acquire:3,die:acquire:6");
    int failures = 0;

    for (int i = 0; i < 6; i++) {
        failures += try_once(alice, "job") != HF_OK;
    }
    EXPECT_LESS(failures, 4);
    EXPECT_IS(try_once(alice, "job"), HF_OK);
}

/* Bob's waiting session is bad; he enters all the same. */
static int64_t time_to_enter(const char *options, int64_t lease_ms)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_CLIENT *bob = open_faulty(options);
    AUTO_LOCK *job = acquire_fixed(alice, "job", lease_ms);
    int64_t start = hf__test_now_ms();

    await_free(bob, "job", patience(10000));
    expect_lost(job, HF_REASON_EXPIRED);
    return since(start);
}

CASE(a_waiter_enters_though_its_waiting_session_dies,
     EXPECT_LESS(time_to_enter("fault=die:wait:*", 800), 800 + patience(1500)));

TEST(a_waiter_enters_though_no_message_wakes_it)
{
    /* Where nobody can tell when it ends, it is looked at all the same. */
    EXPECT_LESS(time_to_enter("fault=delay:wait:*:30s", 800),
                lease_given(800) + patience(1500));
}

/* Four threads of two clients over connections that lose one answer in ten. */
static atomic_int inside;
static atomic_ullong last_fence;
static atomic_bool is_over;
static atomic_int n_entered;

static void stay_inside(hf_lock *lock)
{
    int me = thread_number();

    EXPECT_SAFE(atomic_exchange(&last_fence, hf_fence(lock)) < hf_fence(lock) ||
                !hf_fence(lock));
    atomic_store(&inside, me);
    sched_yield();
    if (hf_held(lock)) {
        EXPECT_SAFE_IS(atomic_load(&inside), me);
        atomic_fetch_add(&n_entered, 1);
    }
}

static void enter_and_leave(void *client)
{
    while (!atomic_load(&is_over)) {
        hf_acquire_opts opts = wanting(200, patience(500));
        AUTO_LOCK *lock = NULL;
        int r = hf_acquire(client, "job", &opts, &lock, NULL);

        EXPECT_IS(lock != NULL, r == HF_OK);
        if (hf_remaining_ms(lock) > patience(100)) {
            stay_inside(lock);
        }
    }
}

#define BAD_LINE                                                               \
    "io_timeout=300ms&fault=lose_reply:op:p0.05,lose_request:op:p0.05,"        \
    "die:op:p0.02,duplicate:renew:p0.1,late_reply:acquire:p0.05:40ms"

TEST(over_a_bad_line_one_is_inside_and_all_go_on)
{
    AUTO_CLIENT *alice = open_faulty(BAD_LINE "&seed=1");
    AUTO_CLIENT *bob = open_faulty(BAD_LINE "&seed=2");
    AUTO_CLIENT *carol = open_store();
    struct hf__test_thread *threads[4];

    for (int i = 0; i < 4; i++) {
        threads[i] = hf__test_start(enter_and_leave, i % 2 ? alice : bob);
    }
    hf__test_pause_ms(patience(2000));
    atomic_store(&is_over, true);
    hf__test_join_all(threads, 4);
    EXPECT_MORE(atomic_load(&n_entered), 10);
    EXPECT_SOON(await_free(carol, "job", patience(5000)), patience(2000));
}
