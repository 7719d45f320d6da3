/* SPDX-License-Identifier: MIT */
/*
 * A wait whose time is over while the store has not yet answered what it was
 * asked last. A store that is not late has said who holds the lock, and the
 * wait has timed out; of one that has been silent for long, or has said nothing
 * at all, nothing is known. What it grants afterwards is given back.
 */
#include "tests/contract/api.h"

#include <stdatomic.h>
#include <string.h>

/* A wait, and how long before its end the lock is let go of: in time is less
 * than a quarter of io_timeout. */
#define IO_OPTION "io_timeout=4400ms&"
enum { WAIT_MS = 4500, IN_TIME_MS = 200, LATE_MS = 2500 };

struct wait {
    hf_client *client;
    const char *const *names;
    int n;
    int64_t wait_ms;
    int64_t limit_ms;        /* wait_ms, or io_timeout where that is more */
    atomic_llong started_at; /* 0: not yet */
    int status;
    hf_error err;
};

static void run_wait(void *arg)
{
    struct wait *w = arg;
    hf_acquire_opts opts = wanting(w->wait_ms, 60000);
    int64_t start = hf__test_now_ms();
    AUTO_LOCK *lock = NULL;

    atomic_store(&w->started_at, start);
    w->err = (hf_error)HF_ERROR_INIT;
    if (w->n == 1) {
        w->status = hf_acquire(w->client, *w->names, &opts, &lock, &w->err);
        EXPECT_SOON(since(start), w->limit_ms + patience(2000));
    } else {
        w->status =
            hf_acquire_many(w->client, w->names, w->n, &opts, &lock, &w->err);
    }
    EXPECT_IS(lock != NULL, w->status == HF_OK);
    EXPECT_MORE(since(start), w->limit_ms - 20);
}

/* Waits for the names, the first of which `busy` holds and lets go of that
 * long before the end. */
static void wait_past(struct wait *w, hf_lock *busy, int64_t before_ms)
{
    struct hf__test_thread *thread;
    int r;

    w->wait_ms = WAIT_MS;
    w->limit_ms = WAIT_MS;
    thread = hf__test_start(run_wait, w);
    UNTIL(atomic_load(&w->started_at) != 0);
    hf__test_pause_ms(WAIT_MS - before_ms - since(atomic_load(&w->started_at)));
    r = hf_release(busy, NULL);
    EXPECT(r == HF_OK || r == HF_EUNKNOWN); /* handed over, and not heard of */
    hf__test_join(thread);
}

/* All its connections are there, and one acquire has been counted. */
static hf_client *open_warm(const char *options)
{
    hf_client *client = open_faulty(options);

    EXPECT_IS(try_once(client, "warm"), HF_OK);
    return client;
}

static void expect_free(const char *name)
{
    AUTO_CLIENT *carol = open_store();

    EXPECT_SOON(await_free(carol, name, patience(9000)), patience(6000));
}

static const char *const job[] = {"job"};
static const char *const abc[] = {"a", "b", "c"};

static void expect_free_all(void)
{
    for (int i = 0; i < 3; i++) {
        expect_free(abc[i]);
    }
}

static void expect_end(const char *options, int64_t before_ms, int status)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_CLIENT *bob = open_warm(options);
    AUTO_LOCK *busy = acquire(alice, "job");
    struct wait w = {.client = bob, .names = job, .n = 1};

    wait_past(&w, busy, before_ms);
    EXPECT_IS(w.status, status);
    EXPECT_IS(strstr(w.err.text, "held by") != NULL, status == HF_TIMEDOUT);
    expect_free("job");
}

CASE(a_wait_that_ends_while_it_asks_has_timed_out,
     expect_end(IO_OPTION "fault=late_reply:acquire:2-:700ms", IN_TIME_MS,
                HF_TIMEDOUT));

/* Where nobody can wait it asks all the time, and is answered late. */
CASE_IF(store_can(HF_CAP_WAIT),
        a_wait_that_ends_while_the_store_is_silent_has_no_answer,
        expect_end(IO_OPTION "fault=late_reply:acquire:3-:9s", LATE_MS,
                   HF_EUNKNOWN));

/* The first came when there was no time left for the others. */
TEST(a_wait_for_many_that_ends_while_it_asks_has_timed_out)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_CLIENT *bob = open_warm(IO_OPTION "fault=late_reply:acquire:7-:700ms");
    AUTO_LOCK *busy = acquire(alice, "a");
    struct wait w = {.client = bob, .names = abc, .n = 3};

    wait_past(&w, busy, IN_TIME_MS);
    EXPECT_IS(w.status, HF_TIMEDOUT);
    EXPECT(strstr(w.err.text, "\"a\"") || strstr(w.err.text, "\"b\""));
    expect_free_all();
}

/* The first came, and the second is held: what a round has heard, the wait for
 * the second knows. */
/* Where nobody can wait it asks so often that all answers are late. */
TEST_IF(store_can(HF_CAP_WAIT),
        a_wait_for_many_that_ends_behind_the_second_has_timed_out)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_CLIENT *bob = open_warm(IO_OPTION "fault=late_reply:acquire:9-:700ms");
    AUTO_LOCK *first = acquire(alice, "a");
    AUTO_LOCK *second = acquire(alice, "b");
    struct wait w = {.client = bob, .names = abc, .n = 3};

    wait_past(&w, first, IN_TIME_MS);
    EXPECT_IS(w.status, HF_TIMEDOUT);
    EXPECT_IS(hf_release(second, NULL), HF_OK);
    expect_free_all();
}

TEST_IF(store_can(HF_CAP_HANDOVER),
        a_wait_that_ends_while_it_is_handed_the_lock_has_timed_out)
{
    AUTO_CLIENT *alice =
        open_warm(IO_OPTION "fault=late_reply:handover:1:700ms");
    AUTO_LOCK *busy = acquire(alice, "job");
    struct wait w = {.client = alice, .names = job, .n = 1};

    wait_past(&w, busy, IN_TIME_MS);
    EXPECT_IS(w.status, HF_TIMEDOUT);
    expect_free("job");
}

/* ---- nothing was heard, so nobody is said to hold it */

/* Faults are counted for each text of a URL: the same options in another order
 * begin anew. */
static void expect_silence(const char *options, int n)
{
    static const char *const names[] = {"a", "b"};
    AUTO_CLIENT *bob = open_faulty(options);
    struct wait w = {
        .client = bob, .names = names, .n = n, .wait_ms = 100, .limit_ms = 500};
    int r = try_once(bob, "lost");

    EXPECT(r == HF_EUNAVAIL || r == HF_EUNKNOWN);
    run_wait(&w);
    EXPECT(w.status == HF_EUNAVAIL || w.status == HF_EUNKNOWN);
    EXPECT(!strstr(w.err.text, "held by"));
}

TEST(a_wait_for_a_store_that_is_gone_has_no_answer)
{
    expect_silence("io_timeout=500ms&fault=die:acquire:*", 1);
    expect_silence("fault=die:acquire:*&io_timeout=500ms", 2);
}

TEST(a_wait_for_a_store_that_hangs_has_no_answer)
{
    expect_silence("io_timeout=500ms&fault=die:acquire:1,delay:open:3-:5s", 1);
    expect_silence("fault=die:acquire:1,delay:open:3-:5s&io_timeout=500ms", 2);
}

/* The first goes on without an answer, and what it may have been granted can't
 * be given back; so who comes after it never gets to ask. */
TEST_IF(store_can(HF_CAP_WAIT),
        a_wait_behind_a_question_without_an_answer_has_none)
{
    AUTO_CLIENT *alice = open_store();
    AUTO_CLIENT *bob = open_warm("io_timeout=1s&fault=late_reply:acquire:3-:9s,"
                                 "delay:release:2-:9s");
    AUTO_LOCK *busy = acquire(alice, "job");
    struct wait w = {.client = bob, .names = job, .n = 1};
    int r;

    wait_past(&w, busy, 700);
    EXPECT_IS(w.status, HF_EUNKNOWN);
    r = attempt(bob, "job", 500);
    EXPECT(r == HF_EUNAVAIL || r == HF_EUNKNOWN);
}
