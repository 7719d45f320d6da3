/* SPDX-License-Identifier: MIT */
/*
 * Somebody looks at our table with a transaction of their own and keeps a row
 * locked, or the whole table: what becomes of that name, and of the others.
 */
#include "tests/store_mysql/world.h"

#include <string.h>

enum { MANY = 500, LEASE_MS = 2000 };

static hf_lock *locks[MANY];

static void acquire_all(hf_client *client, int64_t lease_ms)
{
    for (int i = 0; i < MANY; i++) {
        char name[16];

        snprintf(name, sizeof name, "n%03d", i);
        locks[i] = acquire_leased(client, name, lease_ms);
    }
}

static void free_all(void)
{
    for (int i = 0; i < MANY; i++) {
        hf_free(locks[i]);
    }
}

static bool was_at_risk(const hf_lock *lock, int64_t ms)
{
    int64_t start = hf__test_now_ms();

    while (since(start) < ms) {
        if (hf_state(lock) == HF_STATE_AT_RISK) {
            return true;
        }
        hf__test_pause_ms(5);
    }
    return false;
}

static int count_held(void)
{
    int n = 0;

    for (int i = 0; i < MANY; i++) {
        n += hf_held(locks[i]);
    }
    return n;
}

TEST_WITHIN(60, one_locked_row_of_500_costs_the_others_nothing)
{
    AUTO_STRANGER *db = stranger();
    AUTO_CLIENT *alice = open_store();
    int64_t lease_ms = patience(LEASE_MS);
    int64_t start;

    acquire_all(alice, lease_ms);
    lock_row(db, "n250");
    start = hf__test_now_ms();
    EXPECT(was_at_risk(locks[250], lease_ms));
    while (since(start) < 2 * lease_ms) {
        EXPECT_MORE(count_held(), MANY - 2);
        hf__test_pause_ms(20);
    }
    for (int i = 0; i < MANY; i++) {
        EXPECT_IS(hf_state(locks[i]), i == 250 ? HF_STATE_LOST : HF_STATE_HELD);
    }
    tell(db, "COMMIT");
    free_all();
}

TEST_WITHIN(60, a_row_that_is_free_again_is_renewed)
{
    AUTO_STRANGER *db = stranger();
    AUTO_CLIENT *alice = open_store();
    int64_t lease_ms = patience(LEASE_MS);
    AUTO_LOCK *job = acquire_leased(alice, "job", lease_ms);
    AUTO_LOCK *other = acquire_leased(alice, "other", lease_ms);
    int64_t start = hf__test_now_ms();

    lock_row(db, "job");
    EXPECT(was_at_risk(job, lease_ms));
    EXPECT_IS(hf_state(other), HF_STATE_HELD);
    tell(db, "COMMIT");
    while (hf_state(job) != HF_STATE_HELD) {
        EXPECT_SOON(since(start), lease_ms);
        hf__test_pause_ms(5);
    }
    hf__test_pause_ms(lease_ms);
    expect_held(job);
}

/* Each call says what is in its way. */
TEST_WITHIN(60, who_meets_a_locked_row_is_told_so)
{
    AUTO_STRANGER *db = stranger();
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", 30000);
    hf_acquire_opts opts = wanting(0, 30000);
    hf_error err = HF_ERROR_INIT;
    hf_lock *none = NULL;
    int64_t start;

    EXPECT_IS(try_once(alice, "free"), HF_OK);
    lock_row(db, "job");
    tell(db, "SELECT * FROM holdfast_lock WHERE name_key='holdfast:free' "
             "FOR UPDATE");
    start = hf__test_now_ms();
    EXPECT_IS(hf_renew(job, &err), HF_EUNAVAIL);
    EXPECT_HAS(err.text, "held until the old deadline");
    EXPECT_SOON(since(start), patience(2500));
    err = (hf_error)HF_ERROR_INIT;
    start = hf__test_now_ms();
    EXPECT_IS(hf_acquire(alice, "free", &opts, &none, &err), HF_EUNAVAIL);
    printf("%lld ms: %s\n", (long long)since(start), err.text);
    EXPECT_HAS(err.text, "somebody keeps this lock's row");
    EXPECT_IS(err.native, 1205);
    EXPECT_SOON(since(start), patience(5500));
    EXPECT_IS(hf_held(job), 1);
    tell(db, "COMMIT");
    EXPECT_IS(try_once(alice, "free"), HF_OK);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
}

TEST_WITHIN(60, a_release_is_done_when_the_row_is_free_again)
{
    AUTO_STRANGER *db = stranger();
    AUTO_CLIENT *alice = open_with("io_timeout=1s");
    AUTO_CLIENT *bob = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(10000));
    int r;

    lock_row(db, "job");
    r = hf_release(job, NULL);
    printf("%s\n", hf_strstatus(r));
    EXPECT(r == HF_EUNKNOWN || r == HF_EUNAVAIL);
    EXPECT(!hf_held(job));
    tell(db, "COMMIT");
    EXPECT_SOON(await_free(bob, "job", 30000), patience(3000));
}

/* A backup, or ALTER TABLE. */
TEST_WITHIN(60, a_table_that_is_locked_for_a_while_is_survived)
{
    AUTO_STRANGER *db = stranger();
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", 3000);
    hf_acquire_opts opts = wanting(0, 30000);
    hf_error err = HF_ERROR_INIT;
    hf_lock *none = NULL;
    int64_t start = hf__test_now_ms();
    int r;

    tell(db, "LOCK TABLES holdfast_lock WRITE");
    r = hf_acquire(alice, "other", &opts, &none, &err);
    printf("%lld ms: %s: %s\n", (long long)since(start), hf_strstatus(r),
           err.text);
    EXPECT(r == HF_EUNAVAIL || r == HF_EUNKNOWN);
    EXPECT_SOON(since(start), patience(5500));
    EXPECT_IS(hf_wait_lost(job, 10000), HF_LOST);
    tell(db, "UNLOCK TABLES");
    hf_free(none);
    expect_lost(job, HF_REASON_EXPIRED);
    EXPECT_IS(attempt(alice, "job", 3000), HF_OK);
    EXPECT_IS(attempt(alice, "other", 3000), HF_OK);
}
