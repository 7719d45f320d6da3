/* SPDX-License-Identifier: MIT */
/*
 * Somebody looks at our table with a transaction of their own and keeps a row
 * locked, or the whole table, or rewrites it: what becomes of that name, and of
 * the others.
 */
#include "tests/store_postgres/world.h"

#include <stdatomic.h>

enum { MANY = 200, LEASE_MS = 2000 };

static hf_lock *locks[MANY];

static void acquire_all(hf_client *client, int64_t lease_ms)
{
    for (int i = 0; i < MANY; i++) {
        char name[16];

        snprintf(name, sizeof name, "n%03d", i);
        locks[i] = acquire_leased(client, name, lease_ms);
    }
}

static int count_held(void)
{
    int n = 0;

    for (int i = 0; i < MANY; i++) {
        n += hf_held(locks[i]);
    }
    return n;
}

TEST_WITHIN(60, one_locked_row_of_200_costs_the_others_nothing)
{
    AUTO_STRANGER *db = stranger();
    AUTO_CLIENT *alice = open_store();
    int64_t lease_ms = patience(LEASE_MS);

    acquire_all(alice, lease_ms);
    lock_row(db, "n100");
    while (hf_state(locks[100]) != HF_STATE_LOST) {
        EXPECT_MORE(count_held(), MANY - 2);
        hf__test_pause_ms(20);
    }
    for (int i = 0; i < MANY; i++) {
        EXPECT_IS(hf_state(locks[i]), i == 100 ? HF_STATE_LOST : HF_STATE_HELD);
        hf_free(locks[i]);
    }
    tell(db, "COMMIT");
}

TEST_WITHIN(60, a_row_that_is_free_again_is_renewed)
{
    AUTO_STRANGER *db = stranger();
    AUTO_CLIENT *alice = open_store();
    AUTO_CLIENT *bob = open_store();
    int64_t lease_ms = patience(LEASE_MS);
    AUTO_LOCK *job = acquire_leased(alice, "job", lease_ms);
    int64_t start = hf__test_now_ms();

    lock_row(db, "job");
    UNTIL(hf_state(job) == HF_STATE_AT_RISK);
    tell(db, "COMMIT");
    UNTIL(hf_state(job) == HF_STATE_HELD);
    hf__test_pause_ms(lease_ms - since(start));
    expect_held(job);
    EXPECT_SAFE_IS(try_once(bob, "job"), HF_BUSY);
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

    EXPECT_IS(try_once(alice, "free"), HF_OK);
    lock_row(db, "job");
    tell(db, "SELECT FROM holdfast_lock WHERE name_key='holdfast:free' "
             "FOR UPDATE");
    EXPECT_IS(hf_renew(job, &err), HF_EUNAVAIL);
    EXPECT_HAS(err.text, "held until the old deadline");
    err = (hf_error)HF_ERROR_INIT;
    EXPECT_IS(hf_acquire(alice, "free", &opts, &none, &err), HF_EUNAVAIL);
    EXPECT_HAS(err.text, "somebody keeps this lock's row");
    EXPECT_TEXT(err.sqlstate, "55P03");
    EXPECT_IS(hf_held(job), 1);
    EXPECT_IS(try_once(alice, "other"), HF_OK);
    tell(db, "COMMIT");
    EXPECT_IS(try_once(alice, "free"), HF_OK);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
}

TEST_WITHIN(60, a_release_is_done_when_the_row_is_free_again)
{
    AUTO_STRANGER *db = stranger();
    AUTO_CLIENT *alice = open_with("io_timeout=1s");
    AUTO_CLIENT *bob = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", 60000);
    int r;

    lock_row(db, "job");
    r = hf_release(job, NULL);
    EXPECT(r == HF_EUNKNOWN || r == HF_EUNAVAIL);
    EXPECT(!hf_held(job));
    tell(db, "COMMIT");
    EXPECT_SOON(await_free(bob, "job", 60000), patience(5000));
}

/* ---- a statement that waits for a row past the end of the lease */

struct race {
    hf_client *client;
    hf_lock *job;
    int status;
};

static void renew(void *arg)
{
    struct race *r = arg;

    r->status = hf_renew(r->job, NULL);
}

static void attempt_fixed(void *arg)
{
    struct race *r = arg;
    hf_acquire_opts opts = wanting(0, 30000);

    opts.auto_renew = 0;
    r->status = hf_acquire(r->client, "job", &opts, &r->job, NULL);
}

static int waiting_for_rows(void)
{
    return answer("SELECT count(*) FROM pg_stat_activity WHERE wait_event IN "
                  "('transactionid','tuple') AND datname='%s'",
                  database())[0] -
           '0';
}

/* The renewal's clock is that of its beginning, when the lease was good. */
static void meet_at_the_end(PGconn *db, hf_client *alice, hf_client *bob,
                            uint64_t *fence)
{
    struct race first = {alice, acquire_fixed(alice, "job", 150), 0};
    struct race second = {bob, NULL, 0};
    struct hf__test_thread *threads[2];

    EXPECT_SAFE_MORE(hf_fence(first.job), *fence);
    lock_row(db, "job");
    threads[0] = hf__test_start(renew, &first);
    UNTIL(waiting_for_rows() == 1 || !hf_held(first.job));
    while (hf_held(first.job)) {
        hf__test_pause_ms(1);
    }
    threads[1] = hf__test_start(attempt_fixed, &second);
    hf__test_pause_ms(20);
    tell(db, "COMMIT");
    hf__test_join_all(threads, 2);
    EXPECT_SAFE(!(hf_held(first.job) && second.status == HF_OK));
    EXPECT_SAFE(!hf_held(first.job) || first.status == HF_OK);
    if (second.status == HF_OK) {
        EXPECT_SAFE_MORE(hf_fence(second.job), hf_fence(first.job));
        expect_held(second.job);
        EXPECT_IS(hf_release(second.job, NULL), HF_OK);
    }
    *fence = hf_fence(first.job);
    if (hf_held(first.job)) {
        EXPECT_IS(hf_release(first.job, NULL), HF_OK);
    }
    hf_free(first.job);
    hf_free(second.job);
}

TEST_WITHIN(60, who_waits_for_a_row_past_the_end_of_the_lease_holds_alone)
{
    AUTO_STRANGER *db = stranger();
    CLIENTS(alice, bob);
    uint64_t fence = 0;

    for (int i = 0; i < 15; i++) {
        meet_at_the_end(db, alice, bob, &fence);
        (void)await_free(bob, "job", 10000);
    }
}

/* ---- the table */

static _Atomic bool is_over;

static void rewrite(void *arg)
{
    PGconn *db = stranger();
    int *times = arg;

    while (!atomic_load(&is_over)) {
        tell(db, "VACUUM FULL holdfast_lock");
        ++*times;
        hf__test_pause_ms(5);
    }
    PQfinish(db);
}

TEST_WITHIN(60, a_table_that_is_rewritten_meanwhile_costs_no_lock)
{
    AUTO_CLIENT *alice = open_store();
    int64_t lease_ms = patience(1500);
    AUTO_LOCK *job = acquire_leased(alice, "job", lease_ms);
    struct hf__test_thread *thread;
    int64_t start = hf__test_now_ms();
    int rewritten = 0;
    int done = 0;

    thread = hf__test_start(rewrite, &rewritten);
    for (; since(start) < lease_ms * 3 / 2; done++) {
        EXPECT_IS(attempt(alice, "other", 10000), HF_OK);
        EXPECT_SAFE_IS(try_once(alice, "job"), HF_BUSY);
    }
    atomic_store(&is_over, true);
    hf__test_join(thread);
    printf("rewritten %d times, %d grants\n", rewritten, done);
    EXPECT_MORE(rewritten, 1);
    expect_held(job);
}

/* A backup, or ALTER TABLE. */
TEST_WITHIN(60, a_table_that_is_locked_for_a_while_is_survived)
{
    AUTO_STRANGER *db = stranger();
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(1500));
    hf_acquire_opts opts = wanting(0, 30000);
    hf_error err = HF_ERROR_INIT;
    hf_lock *none = NULL;

    tell(db, "BEGIN");
    tell(db, "LOCK TABLE holdfast_lock IN ACCESS EXCLUSIVE MODE");
    EXPECT_IS(hf_acquire(alice, "other", &opts, &none, &err), HF_EUNAVAIL);
    EXPECT_HAS(err.text, "the table, locked");
    EXPECT_IS(hf_wait_lost(job, 30000), HF_LOST);
    tell(db, "COMMIT");
    expect_lost(job, HF_REASON_EXPIRED);
    EXPECT_IS(attempt(alice, "job", 10000), HF_OK);
    EXPECT_IS(attempt(alice, "other", 10000), HF_OK);
}
