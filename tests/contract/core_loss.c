/* SPDX-License-Identifier: MIT */
/*
 * The holder knows: when renewals fail or hang, the lock is at risk, then
 * lost by the local clock, before the store gives it to anybody else.
 */
#include "tests/contract/api.h"

#include <stdatomic.h>

/* Watches until the lock has been at risk and is well again. */
static void expect_risk_and_recovery(const char *options)
{
    AUTO_CLIENT *alice = open_faulty(options);
    AUTO_CLIENT *bob = open_store();
    int64_t lease_ms = patience(1500);
    AUTO_LOCK *job = acquire_leased(alice, "job", lease_ms);

    UNTIL_WITHIN(1500, hf_state(job) != HF_STATE_HELD);
    EXPECT_IS(hf_state(job), HF_STATE_AT_RISK);
    while (hf_state(job) == HF_STATE_AT_RISK) {
        EXPECT_IS(hf_held(job), 1);
        EXPECT_IS(hf_lost_reason(job), HF_REASON_NONE);
        hf__test_pause_ms(2);
    }
    EXPECT_IS(hf_wait_lost(job, lease_ms), HF_TIMEDOUT);
    expect_held(job);
    EXPECT_IS(try_once(bob, "job"), HF_BUSY);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
}

CASE(a_renewal_whose_reply_is_lost_is_a_risk_that_passes,
     expect_risk_and_recovery("fault=lose_reply:renew:1"));
CASE(a_renewal_that_is_lost_is_a_risk_that_passes,
     expect_risk_and_recovery("fault=lose_request:renew:1"));
CASE(a_renewal_over_a_dead_session_is_a_risk_that_passes,
     expect_risk_and_recovery("fault=die:renew:1"));

/* Each new connection takes longer than a renewal may. */
TEST(a_renewal_that_has_to_connect_has_the_time)
{
    char options[64];

    snprintf(options, sizeof options, "fault=die:renew:1,delay:open:3-:%dms",
             (int)patience(360));
    expect_risk_and_recovery(options);
}

/* Renewals never arrive: told in time, and only then may another enter. */
static void expect_loss(const char *options)
{
    AUTO_CLIENT *alice = open_faulty(options);
    AUTO_CLIENT *bob = open_store();
    int64_t lease_ms = lease_given(1000);
    int64_t start = hf__test_now_ms();
    AUTO_LOCK *job = acquire_leased(alice, "job", lease_ms);

    EXPECT_IS(hf_wait_lost(job, HF_FOREVER), HF_LOST);
    EXPECT_MORE(since(start), safe(lease_ms) - 2);
    EXPECT_SOON(since(start), lease_ms + patience(300));
    expect_lost(job, HF_REASON_EXPIRED);
    /* A session may live on that nothing more can be asked of. Closing it may
     * take an io_timeout, for it is asked to give back. */
    if (!store_leases()) {
        close_client(&alice);
        alice = NULL;
        lease_ms += 5000 + 2 * lease_ms;
    }
    AUTO_LOCK *next = acquire(bob, "job");
    EXPECT_MORE(since(start), safe(lease_given(1000)) - 2);
    EXPECT_SOON(since(start), lease_ms + patience(500));
    EXPECT_IS(hf_release(job, NULL), HF_LOST);
    EXPECT_IS(hf_renew(next, NULL), HF_OK);
}

CASE(a_lock_that_cannot_be_renewed_is_lost_in_time,
     expect_loss("fault=lose_request:renew:*"));
CASE(a_lock_whose_sessions_all_die_is_lost_in_time,
     expect_loss("fault=die:renew:*,die:open:4-"));
CASE(a_lock_whose_renewal_hangs_is_lost_in_time,
     expect_loss("io_timeout=2s&fault=delay:renew:*:30s"));
CASE(a_lock_whose_store_hangs_briefly_each_time_is_lost_in_time,
     expect_loss("io_timeout=200ms&fault=delay:renew:*:30s"));

TEST(whether_it_is_held_needs_no_answer_of_the_store)
{
    AUTO_CLIENT *alice = open_faulty("io_timeout=1s&fault=delay:renew:*:30s");
    int64_t lease_ms = lease_given(600);
    int64_t before = hf__test_now_ms();
    AUTO_LOCK *job = acquire_leased(alice, "job", lease_ms);
    int64_t after = hf__test_now_ms();

    for (int64_t at = since(after); hf_held(job); at = since(after)) {
        EXPECT_LESS(at, lease_ms);
        hf__test_pause_ms(1);
    }
    EXPECT_MORE(since(before), safe(lease_ms) - 2);
    /* Lost by the clock, though no thread may have noticed yet. */
    EXPECT_IS(hf_state(job), HF_STATE_LOST);
    EXPECT_IS(hf_remaining_ms(job), 0);
}

TEST(a_hanging_renewal_is_a_risk_before_it_is_a_loss)
{
    AUTO_CLIENT *alice =
        open_faulty("io_timeout=200ms&fault=delay:renew:*:30s");
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(1200));
    bool was_at_risk = false;

    while (hf_held(job)) {
        was_at_risk |= hf_state(job) == HF_STATE_AT_RISK;
        hf__test_pause_ms(2);
    }
    EXPECT(was_at_risk);
    EXPECT_IS(hf_state(job), HF_STATE_LOST);
}

TEST(a_late_renewal_does_not_bring_a_lost_lock_back)
{
    int64_t late_ms = lease_given(500) + 200;
    char fault[64];

    snprintf(fault, sizeof fault, "fault=late_reply:renew:*:%dms",
             (int)late_ms);
    AUTO_CLIENT *alice = open_faulty(fault);
    AUTO_CLIENT *bob = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", 500);

    EXPECT_IS(hf_wait_lost(job, HF_FOREVER), HF_LOST);
    AUTO_LOCK *next = acquire(bob, "job");
    hf__test_pause_ms(late_ms);
    expect_lost(job, HF_REASON_EXPIRED);
    expect_held(next);
    EXPECT_IS(hf_renew(next, NULL), HF_OK);
}

TEST(a_renewal_by_hand_that_fails_leaves_the_lock_held)
{
    AUTO_CLIENT *alice = open_faulty("io_timeout=300ms&fault=die:renew:*");
    AUTO_LOCK *job = acquire_fixed(alice, "job", 20000);
    int64_t start = hf__test_now_ms();
    int r = hf_renew(job, NULL);

    EXPECT(r == HF_EUNAVAIL || r == HF_EUNKNOWN);
    EXPECT_SOON(since(start), 300 + patience(300));
    EXPECT_IS(hf_held(job), 1);
    EXPECT_IS(hf_state(job), HF_STATE_AT_RISK);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
}

TEST(a_renewal_by_hand_does_not_wait_past_the_lease)
{
    AUTO_CLIENT *alice = open_faulty("io_timeout=1s&fault=delay:renew:*:30s");
    AUTO_LOCK *job = acquire_fixed(alice, "job", 500);
    int64_t start = hf__test_now_ms();
    int r = hf_renew(job, NULL);

    EXPECT(r == HF_LOST || r == HF_EUNKNOWN || r == HF_EUNAVAIL);
    EXPECT_SOON(since(start), 500 + patience(300));
}

static void claim_slowly(void *client)
{
    int r = attempt(client, "slow", 0);

    EXPECT(r == HF_OK || r == HF_EUNKNOWN || r == HF_EUNAVAIL);
}

TEST(a_slow_claim_costs_no_other_lock_its_renewal)
{
    AUTO_CLIENT *alice = open_faulty("fault=delay:acquire:2:2s");
    int64_t lease_ms = patience(900);
    AUTO_LOCK *job = acquire_leased(alice, "job", lease_ms);
    struct hf__test_thread *thread = hf__test_start(claim_slowly, alice);
    int64_t start = hf__test_now_ms();

    while (since(start) < 2 * lease_ms) {
        EXPECT_IS(hf_held(job), 1);
        hf__test_pause_ms(10);
    }
    expect_held(job);
    hf__test_join(thread);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
}

TEST(a_slow_claim_holds_up_a_release_no_longer_than_io_timeout)
{
    AUTO_CLIENT *alice =
        open_faulty("io_timeout=500ms&fault=delay:acquire:2:2s");
    AUTO_CLIENT *bob = open_store();
    AUTO_LOCK *job = acquire(alice, "job");
    struct hf__test_thread *thread = hf__test_start(claim_slowly, alice);
    int64_t start;
    int r;

    hf__test_pause_ms(100);
    start = hf__test_now_ms();
    r = hf_release(job, NULL);
    EXPECT(r == HF_OK || r == HF_EUNKNOWN);
    EXPECT_SOON(since(start), 500 + patience(300));
    EXPECT_SOON(await_free(bob, "job", patience(5000)), patience(1000));
    hf__test_join(thread);
}

TEST(a_failed_renewal_of_one_leaves_the_others)
{
    AUTO_CLIENT *alice = open_faulty("fault=lose_request:renew:1-3");
    AUTO_CLIENT *bob = open_store();
    int64_t lease_ms = patience(1000);
    AUTO_LOCK *a = acquire_leased(alice, "a", lease_ms);
    AUTO_LOCK *b = acquire_leased(alice, "b", lease_ms);
    AUTO_LOCK *c = acquire_leased(alice, "c", lease_ms);

    EXPECT_IS(hf_wait_lost(a, 2 * lease_ms), HF_TIMEDOUT);
    expect_held(a);
    expect_held(b);
    expect_held(c);
    EXPECT_IS(try_once(bob, "b"), HF_BUSY);
}

static void renew_in_vain(void *lock)
{
    EXPECT_NOT(hf_renew(lock, NULL), HF_OK);
}

/* What is given back while a renewal is under way is given back after it,
 * also if the renewal fails. */
TEST(a_renewal_that_fails_holds_up_no_giving_back)
{
    AUTO_CLIENT *bob = open_store();
    hf_client *alice = open_faulty("io_timeout=20s&fault=delay:renew:1:60s");
    AUTO_LOCK *job = acquire_fixed(alice, "job", 6000);
    struct hf__test_thread *thread = hf__test_start(renew_in_vain, job);
    int64_t start = 0;

    hf__test_pause_ms(200);
    start = hf__test_now_ms();
    hf_close(alice);
    EXPECT_SOON(since(start), 4000);
    EXPECT_SOON(await_free(bob, "job", patience(5000)), patience(1000));
    hf__test_join(thread);
    expect_lost(job, HF_REASON_SESSION);
}

/* The third to open is where another server answers, which may never have heard
 * of what the first has granted: nobody waits until a renewal is due. */
#define MOVES "fault=move:open:3-,die:inspect:1"

static void go_over(hf_client *client)
{
    hf_info *info = NULL;

    UNTIL(hf_inspect(client, "another", &info, NULL) == HF_OK);
    hf_info_free(info);
}

TEST(who_went_over_to_another_server_renews_at_once)
{
    AUTO_CLIENT *alice = open_faulty(MOVES);
    int64_t lease_ms = lease_given(300000);
    AUTO_LOCK *job = acquire_leased(alice, "job", lease_ms);
    AUTO_LOCK *other = acquire_leased(alice, "other", lease_ms);

    EXPECT_IS(stats_of(alice).connects, 2);
    go_over(alice);
    UNTIL(stats_of(alice).renewed >= 2);
    expect_held(job);
    expect_held(other);
}

TEST(what_is_not_renewed_is_asked_for_by_who_went_over)
{
    AUTO_CLIENT *alice = open_faulty(MOVES);
    AUTO_CLIENT *bob = open_store();
    AUTO_LOCK *job = acquire_fixed(alice, "job", lease_given(300000));
    AUTO_LOCK *other = acquire_fixed(alice, "other", lease_given(300000));

    EXPECT_IS(hf_break(bob, "job", 0, NULL), HF_OK);
    go_over(alice);
    EXPECT_IS(hf_wait_lost(job, 60000), HF_LOST);
    expect_lost(job, HF_REASON_BROKEN);
    expect_held(other);
}
