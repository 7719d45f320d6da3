/* SPDX-License-Identifier: MIT */
/*
 * A primary and its standby: one that is waited for and says nothing, a wait
 * that an administrator cancels, and who becomes the primary while locks are
 * held. What a standby that was waited for has, goes on there.
 */
#include "tests/servers/pgbouncer.h"
#include "tests/servers/postgres_pair.h"
#include "tests/store_postgres/world.h"
#include "tests/store_server/cell.h"
#include "tests/store_server/names.h"

#include <stdlib.h>
#include <string.h>

#define AUTO_PAIR __attribute__((cleanup(free_pair))) struct hf__postgres_pair

static char base[HF__POSTGRES_NAME];

static void free_pair(struct hf__postgres_pair **p)
{
    hf__postgres_pair_free(*p);
}

static struct hf__postgres *node(const struct hf__postgres_pair *p, int which)
{
    return hf__postgres_pair_node(p, which);
}

/* The store is on both; the tables are there. */
static struct hf__postgres_pair *start(bool is_synchronous)
{
    const struct hf__postgres_pair_opts opts = {.is_synchronous =
                                                    is_synchronous};
    struct hf__postgres_pair *p = hf__postgres_pair_start(&opts);
    char url[2 * HF__POSTGRES_URL];

    hf__postgres_database(node(p, 0), base);
    hf__postgres_pair_url(p, 0, base, url, sizeof url);
    reach_by_url(url);
    hf_close(open_store());
    hf__postgres_pair_await_caught_up(p, 1);
    return p;
}

static void lose_the_first(struct hf__postgres_pair *p)
{
    hf__postgres_pair_kill(p, 0);
    hf__postgres_pair_promote(p, 1);
}

static int waiting_for_the_standby(const struct hf__postgres_pair *p)
{
    return (int)strtol(
        hf__postgres_value(node(p, 0), NULL,
                           "SELECT count(*) FROM pg_stat_activity "
                           "WHERE wait_event='SyncRep'"),
        NULL, 10);
}

/* ---- one that is waited for */

TEST_WITHIN(60, a_standby_that_is_silent_costs_the_time_that_was_said)
{
    AUTO_PAIR *p = start(true);
    AUTO_CLIENT *alice = open_with(io_timeout(700, ""));
    AUTO_CLIENT *bob = open_with(io_timeout(700, ""));
    AUTO_LOCK *held = acquire_leased(alice, "held", 60000);
    hf_acquire_opts opts = wanting(0, 60000);
    hf_lock *none = NULL;
    int64_t start_ms;

    hf__postgres_pause(node(p, 1));
    start_ms = hf__test_now_ms();
    EXPECT_SAFE_IS(hf_acquire(alice, "job", &opts, &none, NULL), HF_EUNKNOWN);
    EXPECT_SOON(since(start_ms), 4500);
    EXPECT_SAFE(try_once(bob, "job") != HF_OK);
    EXPECT(hf_held(held));
    hf__postgres_resume(node(p, 1));
    /* It is found by its token, and given back. */
    (void)await_free(bob, "job", 30000);
    EXPECT_IS(hf_renew(held, NULL), HF_OK);
    EXPECT_SAFE_IS(try_once(bob, "held"), HF_BUSY);
}

struct asked {
    struct door *door;
    struct batch *batch;
    enum hf__op_kind kind;
    int status;
};

static void ask_for_all(void *arg)
{
    struct asked *a = arg;

    a->status = ask(a->door, a->batch, a->kind, 15000);
}

static void cancel_all_waits(struct hf__postgres_pair *p)
{
    (void)hf__postgres_value(node(p, 0), NULL,
                             "SELECT count(pg_cancel_backend(pid)) FROM "
                             "pg_stat_activity WHERE wait_event='SyncRep'");
}

/* It is applied here, and perhaps nowhere else. */
static void cancel_the_wait(struct hf__postgres_pair *p, struct door *d,
                            struct batch *b, enum hf__op_kind kind)
{
    struct asked a = {d, b, kind, 0};
    struct hf__test_thread *thread;

    hf__postgres_pause(node(p, 1));
    thread = hf__test_start(ask_for_all, &a);
    UNTIL(waiting_for_the_standby(p) == 1);
    cancel_all_waits(p);
    hf__test_join(thread);
    hf__postgres_resume(node(p, 1));
    EXPECT_SAFE_IS(b->op[0].result, HF_EUNKNOWN);
    EXPECT_IS(a.status, HF_EUNAVAIL);
    EXPECT_HAS(d->error.text, "cancelled");
}

static void grant_in_doubt(bool is_shared)
{
    AUTO_PAIR *p = start(true);
    static struct batch b;
    DOOR(d);

    EXPECT_IS(enter(&d, store_url(NULL)), HF_OK);
    prepare(&b, "job", 1, 60000000); /* there is a record of it */
    ask_all(&d, &b, HF__OP_ACQUIRE);
    ask_all(&d, &b, HF__OP_RELEASE);
    (is_shared ? prepare_shared : prepare)(&b, "job", 1, 60000000);
    cancel_the_wait(p, &d, &b, HF__OP_ACQUIRE);
    EXPECT_IS(enter(&d, store_url(NULL)), HF_OK);
    ask_all(&d, &b, HF__OP_RENEW); /* it is found by its token */
    cancel_the_wait(p, &d, &b, HF__OP_RELEASE);
    EXPECT_IS(enter(&d, store_url(NULL)), HF_OK);
    EXPECT_IS(ask(&d, &b, HF__OP_RENEW, 10000), HF_OK);
    EXPECT_IS(b.op[0].result, HF_LOST);
}

CASE_WITHIN(60, a_wait_that_is_cancelled_is_no_grant, grant_in_doubt(false));
CASE_WITHIN(60, nor_is_one_of_a_shared_grant, grant_in_doubt(true));

static void cancel_waits(void *arg)
{
    struct hf__postgres_pair *p = arg;

    UNTIL(waiting_for_the_standby(p) == 1);
    cancel_all_waits(p);
}

/* Of a change that is here already: done it is when the standby has it. */
TEST_WITHIN(60, a_change_of_a_cell_is_not_found_done_before_the_standby_has_it)
{
    AUTO_PAIR *p = start(true);
    struct hf__test_thread *thread;
    DOOR(d);
    int status;

    EXPECT_IS(enter(&d, store_url(NULL)), HF_OK);
    EXPECT_IS(put(&d, "c", 0, "before"), HF_OK);
    prepare_put("c", told(), "after");
    hf__postgres_pause(node(p, 1));
    thread = hf__test_start(cancel_waits, p);
    EXPECT_SAFE_IS(ask_again(&d, 15000, &status), HF_EUNKNOWN);
    EXPECT_IS(status, HF_EUNAVAIL);
    hf__test_join(thread);
    EXPECT_IS(enter(&d, store_url(NULL)), HF_OK);
    EXPECT_SAFE_IS(ask_again(&d, 500, &status), HF_EUNKNOWN);
    hf__postgres_resume(node(p, 1));
    EXPECT_IS(enter(&d, store_url(NULL)), HF_OK);
    EXPECT_SAFE_IS(ask_again(&d, 10000, NULL), HF_OK);
}

/* ---- who is the primary */

/* Renewed at whoever it is now. */
static void expect_it_goes_on(hf_lock *lock, hf_client *other)
{
    int r;

    while ((r = hf_renew(lock, NULL)) != HF_OK) {
        EXPECT(hf_held(lock));
        EXPECT(r == HF_EUNAVAIL || r == HF_EUNKNOWN);
        hf__test_pause_ms(10);
    }
    EXPECT_SAFE_IS(attempt(other, hf_name(lock), 0), HF_BUSY);
    expect_held(lock);
}

TEST_WITHIN(90, what_a_standby_that_was_waited_for_has_goes_on_there)
{
    AUTO_PAIR *p = start(true);
    CLIENTS(alice, bob);
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(20000));
    AUTO_LOCK *next = NULL;

    lose_the_first(p);
    hf__postgres_pair_set_synchronous(p, 1, false);
    expect_it_goes_on(job, bob);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    next = acquire(bob, "job");
    EXPECT_SAFE_MORE(hf_fence(next), hf_fence(job));
    hf__postgres_pair_restart(p, 0); /* a primary too, which has it not */
    expect_it_goes_on(next, alice);
}

TEST_WITHIN(90, who_holds_as_they_are_switched_over_holds_on)
{
    AUTO_PAIR *p = start(false);
    CLIENTS(alice, bob);
    AUTO_LOCK *job = acquire_leased(alice, "job", patience(20000));
    hf_acquire_opts opts = wanting(20000, 30000);
    AUTO_LOCK *next = NULL;

    hf__postgres_pair_switch_over(p, 1);
    expect_it_goes_on(job, bob);
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    hf__postgres_pair_switch_over(p, 0);
    next = must_acquire(bob, "job", &opts);
    EXPECT_SAFE_MORE(hf_fence(next), hf_fence(job));
}

/* What is not there is told as soon as anybody asks, not at the end of the
 * lease. */
TEST_WITHIN(90, what_a_standby_has_not_got_is_lost_and_the_fence_is_above)
{
    AUTO_PAIR *p = start(false);
    CLIENTS(alice, bob);
    AUTO_LOCK *old = acquire_leased(alice, "old", 60000);
    AUTO_LOCK *job = NULL;
    AUTO_LOCK *next = NULL;
    hf_acquire_opts opts = wanting(20000, 60000);

    hf__postgres_pair_await_caught_up(p, 1);
    hf__postgres_pair_cut_link(p);
    job = acquire_leased(alice, "job", 60000);
    lose_the_first(p);
    EXPECT_IS(attempt(alice, "other", 20000), HF_OK);
    EXPECT_IS(hf_wait_lost(job, 10000), HF_LOST);
    expect_lost(job, HF_REASON_STORE_GONE);
    UNTIL(hf_renew(old, NULL) == HF_OK);
    next = must_acquire(bob, "job", &opts);
    EXPECT_SAFE_MORE(hf_fence(next), hf_fence(job));
}

/* It stood still meanwhile and goes on, and the session that alice has there is
 * as it was; but bob of the same process has been to the new one. */
TEST_WITHIN(90, a_session_at_the_old_primary_ends_when_the_process_knows_better)
{
    AUTO_PAIR *p = start(false);
    AUTO_CLIENT *alice = open_store();
    AUTO_LOCK *job = NULL;

    EXPECT_IS(try_once(alice, "job"), HF_OK);
    hf__postgres_pair_await_caught_up(p, 1);
    hf__postgres_pause(node(p, 0));
    hf__postgres_pair_promote(p, 1);
    AUTO_CLIENT *bob = open_store();
    job = acquire_leased(bob, "job", patience(20000));
    hf__postgres_resume(node(p, 0));
    EXPECT_SAFE(attempt(alice, "job", 5000) != HF_OK);
    EXPECT_SAFE_IS(try_once(alice, "job"), HF_BUSY);
    EXPECT_IS(hf_renew(job, NULL), HF_OK);
}

static void hear(void *arg, uint64_t tag)
{
    (void)arg;
    (void)tag;
}

/* Sessions that ask for nothing else: who waits would be told by the one what
 * the other knows better, and who listens would hear of no break. */
TEST_WITHIN(90, nobody_waits_or_listens_at_a_primary_that_was_replaced)
{
    AUTO_PAIR *p = start(false);
    const struct hf__key prefix = {"holdfast:", 9, 9};
    struct hf__watch watch = {.key = {"holdfast:job", 12, 9}, .fence = 1};
    struct hf__watch *w[1] = {&watch};
    char url[2 * HF__POSTGRES_URL];
    DOOR(waiter);
    DOOR(listener);
    DOOR(reader);

    hf__postgres_pair_url(p, 0, base, url, sizeof url);
    EXPECT_IS(enter(&waiter, url), HF_OK);
    EXPECT_IS(enter(&listener, url), HF_OK);
    UNTIL(hf__conn_listen(&listener.conn, hear, NULL,
                          hf__after_ms(hf__now(), 50),
                          &listener.error) == HF_OK);
    EXPECT_IS(enter(&reader, url), HF_OK);
    hf__postgres_pair_await_caught_up(p, 1);
    hf__postgres_pause(node(p, 0));
    hf__postgres_pair_promote(p, 1);
    AUTO_CLIENT *bob = open_store();
    EXPECT_IS(try_once(bob, "job"), HF_OK);
    hf__postgres_resume(node(p, 0));
    EXPECT_SAFE_IS(hf__conn_wait(&waiter.conn, w, 1,
                                 hf__after_ms(hf__now(), patience(5000)),
                                 &waiter.error),
                   HF_EUNAVAIL);
    EXPECT_SAFE_IS(hf__conn_listen(&listener.conn, hear, NULL,
                                   hf__after_ms(hf__now(), 1000),
                                   &listener.error),
                   HF_EUNAVAIL);
    EXPECT_SAFE_IS(hf__conn_gc(&reader.conn, &prefix, &(struct hf__gc){0},
                               hf__after_ms(hf__now(), patience(5000)),
                               &reader.error),
                   HF_EUNAVAIL);
}

TEST_WITHIN(60, a_standby_is_entered_when_it_is_promoted)
{
    AUTO_PAIR *p = start(false);
    char url[HF__POSTGRES_URL];
    AUTO_CLIENT *alice = NULL;
    hf_error err = HF_ERROR_INIT;

    hf__postgres_url(node(p, 1), base, url, sizeof url);
    EXPECT_IS(open_status(url, &err), HF_EUNAVAIL);
    EXPECT_HAS(err.text, "standby");
    EXPECT_TEXT(hf__postgres_value(node(p, 1), NULL,
                                   "SELECT count(*) FROM pg_locks WHERE "
                                   "locktype='advisory'"),
                "0");
    lose_the_first(p);
    reach_by_url(url);
    alice = open_store();
    EXPECT_IS(try_once(alice, "job"), HF_OK);
}

/* ---- a pooler before one of them */

TEST_WITHIN(90, one_of_two_may_be_behind_a_pooler)
{
    AUTO_PAIR *p = start(true);
    struct hf__pgbouncer *b =
        hf__pgbouncer_start(node(p, 0), "transaction", NULL);
    char url[2 * HF__POSTGRES_URL];
    AUTO_CLIENT *alice = NULL;
    AUTO_CLIENT *bob = open_store();
    AUTO_LOCK *job = NULL;

    snprintf(url, sizeof url, "postgres://%s@127.0.0.1:%d,127.0.0.1:%d/%s",
             HF__POSTGRES_USER, hf__pgbouncer_port(b),
             hf__postgres_port(node(p, 1)), base);
    reach_by_url(url);
    alice = open_store();
    job = acquire_leased(alice, "job", patience(20000));
    EXPECT_SAFE_IS(try_once(bob, "job"), HF_BUSY);
    EXPECT_IS(hf_renew(job, NULL), HF_OK);
    EXPECT_TEXT(hf__postgres_value(node(p, 0), NULL,
                                   "SELECT count(*) FROM pg_locks WHERE "
                                   "locktype='advisory'"),
                "0");
    lose_the_first(p);
    hf__postgres_pair_set_synchronous(p, 1, false);
    expect_it_goes_on(job, bob);
    hf__pgbouncer_free(b);
}
