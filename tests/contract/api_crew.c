/* SPDX-License-Identifier: MIT */
/*
 * Crews of processes on one lock, some of them killed at work: never two
 * inside, no update lost but at most one for each killed, nobody left out.
 */
#include "tests/contract/peer.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { CREW = 4, KILLS = 6, PAIR = 2, HANDS = 4, TURNS = 1000 };

static struct board {
    atomic_int counter;    /* incremented inside, unprotected */
    atomic_int done[CREW]; /* each one's part of it */
    atomic_int inside;     /* who is; 0: nobody */
    atomic_ullong fence;   /* of the last who was */
    atomic_bool is_over;
} * board;

/* One stay inside, seen by oracles that only the lock protects. */
static void work(hf_lock *job, int number)
{
    int seen = atomic_load(&board->counter);

    EXPECT_SAFE(atomic_load(&board->fence) < hf_fence(job) || !hf_fence(job));
    atomic_store(&board->fence, hf_fence(job));
    atomic_store(&board->inside, number + 1);
    sched_yield();
    atomic_store(&board->counter, seen + 1);
    atomic_fetch_add(&board->done[number], 1);
    if (hf_held(job)) {
        EXPECT_SAFE_IS(atomic_load(&board->inside), number + 1);
    }
}

static void work_on(int number)
{
    AUTO_CLIENT *client = open_store();

    while (!atomic_load(&board->is_over)) {
        AUTO_LOCK *job = acquire_leased(client, "job", patience(1000));

        if (hf_held(job)) {
            work(job, number);
        }
    }
}

static int sum_done(void)
{
    int sum = 0;

    for (int i = 0; i < CREW; i++) {
        sum += atomic_load(&board->done[i]);
    }
    return sum;
}

static void await_progress(int steps)
{
    int from = sum_done();

    UNTIL(sum_done() >= from + steps);
}

TEST_WITHIN_IF(40, store_is_shared(),
               processes_killed_at_work_neither_block_nor_overlap)
{
    unsigned seed = (unsigned)hf__test_seed();
    pid_t crew[CREW];
    int missing;

    board = shared_page(sizeof *board);
    for (int i = 0; i < CREW; i++) {
        crew[i] = start_crew(work_on, i);
    }
    for (int k = 0; k < KILLS; k++) {
        int i = (int)((unsigned)rand_r(&seed) % CREW);

        await_progress(5);
        hf__test_pause_ms(rand_r(&seed) % 20);
        kill_crew(crew[i]);
        crew[i] = start_crew(work_on, i);
    }
    await_progress(5);
    atomic_store(&board->is_over, true);
    for (int i = 0; i < CREW; i++) {
        end_crew(crew[i]);
    }
    missing = atomic_load(&board->counter) - sum_done();
    EXPECT(missing >= 0 && missing <= KILLS);
}

static void work_a_hundred(int number)
{
    AUTO_CLIENT *client = open_store();

    for (int i = 0; i < 100; i++) {
        AUTO_LOCK *job = acquire(client, "job");

        work(job, number);
        EXPECT_IS(hf_release(job, NULL), HF_OK);
    }
}

TEST_WITHIN_IF(40, store_is_shared(), no_update_of_four_processes_is_lost)
{
    pid_t crew[CREW];

    board = shared_page(sizeof *board);
    for (int i = 0; i < CREW; i++) {
        crew[i] = start_crew(work_a_hundred, i);
    }
    for (int i = 0; i < CREW; i++) {
        end_crew(crew[i]);
    }
    EXPECT_IS(atomic_load(&board->counter), CREW * 100);
}

struct hand {
    hf_client *client;
    int number;
};

static void take_turns(void *arg)
{
    struct hand *h = arg;

    while (!atomic_load(&board->is_over)) {
        AUTO_LOCK *job = acquire(h->client, "job");

        EXPECT_IS(hf_held(job), 1);
        atomic_fetch_add(&board->done[h->number], 1);
        hf__test_pause_ms(1);
    }
}

static void work_in_threads(int number)
{
    AUTO_CLIENT *client = open_store();
    struct hand h = {client, number};
    struct hf__test_thread *threads[HANDS];

    hf__test_start_all(threads, HANDS, take_turns, &h);
    hf__test_join_all(threads, HANDS);
}

/* All count from when both are there. */
static void await_both(void)
{
    UNTIL(atomic_load(&board->done[0]) && atomic_load(&board->done[1]));
    atomic_store(&board->done[0], 0);
    atomic_store(&board->done[1], 0);
}

TEST_IF(store_is_shared() && store_wakes(),
        a_process_that_hands_over_within_does_not_starve_another)
{
    int64_t start;
    pid_t crew[PAIR];
    int total;

    board = shared_page(sizeof *board);
    for (int i = 0; i < PAIR; i++) {
        crew[i] = start_crew(work_in_threads, i);
    }
    await_both();
    start = hf__test_now_ms();
    while (sum_done() < TURNS && since(start) < patience(2000)) {
        hf__test_pause_ms(5);
    }
    atomic_store(&board->is_over, true);
    for (int i = 0; i < PAIR; i++) {
        end_crew(crew[i]);
    }
    total = sum_done();
    printf("%d and %d\n", board->done[0], board->done[1]);
    /* Where waiters poll, who meets the lock free is chance. */
    for (int i = 0; i < PAIR; i++) {
        EXPECT_MORE(atomic_load(&board->done[i]) * 50, total);
    }
}
