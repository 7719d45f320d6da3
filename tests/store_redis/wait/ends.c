/* SPDX-License-Identifier: MIT */
/*
 * Waiting on Redis through the public API, between processes: a waiter that is
 * stopped, killed or gives up holds nobody up, nothing of it is left, and how
 * soon the next one enters.
 */
#include "tests/contract/api_line.h"
#include "tests/contract/peer.h"
#include "tests/contract/urls.h"
#include "tests/store_redis/wait/sleeper.h"

#include <stdlib.h>
#include <time.h>

enum { CYCLES = 200, ROUNDS = 200 };

int hf__store_url(const char *which, char *url, size_t size)
{
    snprintf(url, size, "%s://127.0.0.1:%d/0", which, hf__redis_port(server()));
    return 0;
}

static hf_acquire_opts patient(bool is_fair)
{
    hf_acquire_opts opts = wanting(patience(20000), 30000);

    opts.fair = is_fair;
    return opts;
}

/* Two peers that wait, the first one first, for longer than a moment. */
struct pair {
    struct peer *first;
    struct peer *second;
};

static hf_lock *hold_before(struct pair *p, hf_client **client, bool is_fair)
{
    hf_acquire_opts opts = patient(is_fair);
    hf_lock *job;

    *client = open_store();
    job = acquire(*client, "job");
    peer_begin_acquire_as(p->first, "job", &opts);
    hf__test_pause_ms(150);
    peer_begin_acquire_as(p->second, "job", &opts);
    hf__test_pause_ms(1200);
    return job;
}

static void start_pair(struct pair *p)
{
    p->first = start_peer();
    p->second = start_peer();
}

static void expect_passed_over(bool is_fair, bool is_killed, int64_t bound)
{
    SERVER(NULL);
    struct pair p;
    hf_client *client;
    hf_lock *job;
    int64_t start;

    start_pair(&p);
    job = hold_before(&p, &client, is_fair);
    if (is_killed) {
        kill_peer(p.first);
    } else {
        stop_peer(p.first);
    }
    hf__test_pause_ms(100);
    start = hf__test_now_ms();
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(peer_finish(p.second), HF_OK);
    printf("the second entered after %lld ms\n", (long long)since(start));
    EXPECT_SOON(since(start), bound);
    if (!is_killed) {
        continue_peer(p.first);
        EXPECT_IS(peer_release(p.second), HF_OK);
        EXPECT_IS(peer_finish(p.first), HF_OK);
        end_peer(p.first);
    }
    end_peer(p.second);
    hf_free(job);
    hf_close(client);
}

CASE(a_stopped_waiter_costs_the_next_a_moment,
     expect_passed_over(false, false, patience(OFFER_MS + LOOK_MS)));
CASE(a_stopped_first_in_line_costs_the_next_a_moment,
     expect_passed_over(true, false, patience(OFFER_MS + LOOK_MS)));
CASE(a_killed_waiter_costs_nothing,
     expect_passed_over(false, true, patience(600)));
CASE(a_killed_first_in_line_costs_the_next_a_moment,
     expect_passed_over(true, true, patience(700)));

/* The holder dies: its lease is what is waited for. */
TEST(a_crashed_holders_lease_is_the_bound)
{
    SERVER(NULL);
    struct peer *holder = start_peer();
    struct peer *waiter = start_peer();
    int64_t lease_ms = patience(1000);
    int64_t start;

    EXPECT_IS(peer_acquire(holder, "job", 0, lease_ms), HF_OK);
    start = hf__test_now_ms();
    peer_begin_acquire(waiter, "job", patience(20000), 30000);
    hf__test_pause_ms(50);
    kill_peer(holder);
    EXPECT_IS(peer_finish(waiter), HF_OK);
    /* It may have renewed once. */
    EXPECT_SOON(since(start), 2 * lease_ms + patience(3000));
    end_peer(waiter);
}

/* ---- who gives up */

static int64_t helpers(void)
{
    return strtoll(hf__redis_command(server(), "EXISTS holdfast:{job}:w "
                                               "holdfast:{job}:q"),
                   NULL, 10);
}

/* Tickets are given back in the background. */
static void expect_no_trace(void)
{
    await_count(channels, 0);
    await_count(helpers, 0);
}

TEST(who_gives_up_holds_nobody_up)
{
    SERVER(NULL);
    struct peer *waiter = start_peer();
    CLIENTS(alice, bob);
    AUTO_LOCK *job = acquire(alice, "job");
    int64_t start;

    EXPECT_IS(attempt(bob, "job", 100), HF_TIMEDOUT);
    expect_no_trace();
    peer_begin_acquire(waiter, "job", patience(20000), 30000);
    await_count(channels, 1);
    EXPECT_IS(attempt(bob, "job", 100), HF_TIMEDOUT);
    await_count(channels, 1);
    EXPECT_IS(registered("job"), 1);
    start = hf__test_now_ms();
    EXPECT_IS(hf_release(job, NULL), HF_OK);
    EXPECT_IS(peer_finish(waiter), HF_OK);
    EXPECT_SOON(since(start), patience(100));
    end_peer(waiter);
    expect_no_trace();
}

static void wait_and_be_cancelled(void *arg)
{
    hf_cancel *cancel = arg;

    hf__test_pause_ms(100);
    hf_cancel_fire(cancel);
}

TEST(who_is_cancelled_leaves_no_trace)
{
    SERVER(NULL);
    CLIENTS(alice, bob);
    AUTO_LOCK *job = acquire(alice, "job");

    for (int is_fair = 0; is_fair < 2; is_fair++) {
        AUTO_CANCEL *cancel = new_cancel();
        hf_acquire_opts opts = patient(is_fair);
        struct hf__test_thread *t =
            hf__test_start(wait_and_be_cancelled, cancel);

        opts.cancel = cancel;
        EXPECT_IS(attempt_as(bob, "job", &opts), HF_CANCELLED);
        hf__test_join(t);
        expect_no_trace();
    }
    expect_held(job);
}

/* ---- what is left */

static void take_turns(int is_fair)
{
    AUTO_CLIENT *client = open_store();
    hf_acquire_opts opts = patient(is_fair);

    for (int i = 0; i < CYCLES; i++) {
        AUTO_LOCK *job = acquire_as(client, "job", &opts);

        EXPECT_IS(hf_release(job, NULL), HF_OK);
    }
}

static void expect_nothing_left(int is_fair)
{
    SERVER(NULL);
    pid_t crew[2];

    for (int i = 0; i < 2; i++) {
        crew[i] = start_crew(take_turns, is_fair);
    }
    for (int i = 0; i < 2; i++) {
        end_crew(crew[i]);
    }
    expect_no_trace();
    EXPECT_TEXT(hf__redis_command(server(), "KEYS *"), "holdfast:{job}");
    await_count(channels, 0);
    EXPECT_TEXT(hf__redis_command(server(), "CLIENT LIST TYPE pubsub"), "");
}

CASE_WITHIN(60, two_hundred_turns_leave_only_the_record,
            expect_nothing_left(0));
CASE_WITHIN(60, so_do_those_in_line, expect_nothing_left(1));

/* ---- how soon */

static struct {
    atomic_int round; /* the holder holds the lock this time */
    atomic_llong released_at;
    atomic_int waiter_done;
} * stage;

static int64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

static void until(atomic_int *value, int least)
{
    UNTIL_WITHIN(60000, atomic_load(value) >= least);
}

/* Each time it lets go when the other has surely fallen asleep. */
static void hold_again_and_again(int is_fair)
{
    AUTO_CLIENT *client = open_store();
    hf_acquire_opts opts = patient(is_fair);

    for (int i = 1; i <= ROUNDS; i++) {
        AUTO_LOCK *lock = acquire_as(client, "job", &opts);

        atomic_store(&stage->round, i);
        hf__test_pause_ms(10);
        atomic_store(&stage->released_at, now_us());
        EXPECT_IS(hf_release(lock, NULL), HF_OK);
        until(&stage->waiter_done, i);
    }
}

static int by_size(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;

    return (*x > *y) - (*x < *y);
}

static void expect_soon(int is_fair)
{
    SERVER(NULL);
    int64_t took[ROUNDS];
    hf_acquire_opts opts = patient(is_fair);
    pid_t holder;

    stage = shared_page(sizeof *stage);
    holder = start_crew(hold_again_and_again, is_fair);
    AUTO_CLIENT *client = open_store();
    for (int i = 1; i <= ROUNDS; i++) {
        AUTO_LOCK *lock = NULL;

        until(&stage->round, i);
        lock = acquire_as(client, "job", &opts);
        took[i - 1] = now_us() - atomic_load(&stage->released_at);
        EXPECT_IS(hf_release(lock, NULL), HF_OK);
        atomic_store(&stage->waiter_done, i);
    }
    end_crew(holder);
    qsort(took, ROUNDS, sizeof *took, by_size);
    printf("p50 %lld us, p99 %lld us, longest %lld us\n",
           (long long)took[ROUNDS / 2], (long long)took[ROUNDS * 99 / 100],
           (long long)took[ROUNDS - 1]);
    EXPECT_SOON(took[ROUNDS / 2], patience(2000));
}

CASE_WITHIN(60, a_waiter_of_another_process_is_woken_within_2_ms,
            expect_soon(0));
CASE_WITHIN(60, so_is_who_is_in_line, expect_soon(1));
