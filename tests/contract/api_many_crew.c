/* SPDX-License-Identifier: MIT */
/*
 * Crews that want overlapping sets of names, in any order, from threads of one
 * client and from eight processes, some of them killed at work: nobody waits
 * for ever, everybody gets on, and never are two inside of one name.
 * HOLDFAST_TEST_MANY_S makes the crew of processes work for so many seconds.
 */
#include "tests/contract/peer.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { NAMES = 6, CREW = 8, HANDS = 6, WORK_S = 1, LEAST = 4 };

static const char *const all[NAMES] = {"n1", "n2", "n3", "n4", "n5", "n6"};

static struct board {
    atomic_int inside[NAMES]; /* who is; 0: nobody */
    atomic_ullong fence[NAMES];
    atomic_int done[CREW];
    atomic_int longest_ms[CREW]; /* of its waits */
    atomic_bool is_over;
} * board;

/* Some of the names, at least two, in an order of its own. */
static int draw(unsigned *seed, const char **names, int *at)
{
    int n = 2 + rand_r(seed) % (NAMES - 2);

    for (int i = 0; i < NAMES; i++) {
        at[i] = i;
    }
    for (int i = 0; i < n; i++) {
        int k = i + rand_r(seed) % (NAMES - i);
        int moved = at[i];

        at[i] = at[k];
        at[k] = moved;
        names[i] = all[at[i]];
    }
    return n;
}

/* One stay inside of all of them, seen by oracles that only the lock
 * protects. A killed one leaves its mark, which the next overwrites. */
static void work(hf_lock *lock, const int *at, int number)
{
    for (int i = 0; i < hf_count(lock); i++) {
        uint64_t fence = hf_fence_at(lock, i);

        EXPECT_SAFE(atomic_load(&board->fence[at[i]]) < fence || !fence);
        atomic_store(&board->fence[at[i]], fence);
        atomic_store(&board->inside[at[i]], number + 1);
    }
    sched_yield();
    for (int i = 0; i < hf_count(lock) && hf_held(lock); i++) {
        int who = atomic_load(&board->inside[at[i]]);

        if (hf_held(lock)) {
            EXPECT_SAFE_IS(who, number + 1);
        }
    }
}

static void work_once(hf_client *client, unsigned *seed, int number)
{
    hf_acquire_opts opts = wanting(patience(15000), patience(1000));
    const char *names[NAMES];
    int at[NAMES];
    int n = draw(seed, names, at);
    int64_t start = hf__test_now_ms();
    hf_error err = HF_ERROR_INIT;
    AUTO_LOCK *lock = NULL;
    int r = hf_acquire_many(client, names, n, &opts, &lock, &err);
    int took = (int)since(start);

    if (r) {
        printf("%d names: %s: %s\n", n, hf_strstatus(r), err.text);
    }
    EXPECT_IS(r, HF_OK);
    if (took > atomic_load(&board->longest_ms[number])) {
        atomic_store(&board->longest_ms[number], took);
    }
    work(lock, at, number);
    atomic_fetch_add(&board->done[number], 1);
}

static bool have_got_on(int crew, int least)
{
    for (int i = 0; i < crew; i++) {
        if (atomic_load(&board->done[i]) < least) {
            return false;
        }
    }
    return true;
}

/* Everybody got on, and nobody waited much longer than the others. */
static void expect_progress(int crew, int least)
{
    for (int i = 0; i < crew; i++) {
        printf("%d: %d times, longest wait %d ms\n", i,
               atomic_load(&board->done[i]),
               atomic_load(&board->longest_ms[i]));
    }
    for (int i = 0; i < crew; i++) {
        EXPECT_MORE(atomic_load(&board->done[i]), least - 1);
        EXPECT_LESS(atomic_load(&board->longest_ms[i]), patience(10000));
    }
}

static void work_on(int number)
{
    unsigned seed = (unsigned)hf__test_seed() * CREW + (unsigned)number;
    AUTO_CLIENT *client = open_store();

    while (!atomic_load(&board->is_over)) {
        work_once(client, &seed, number);
    }
}

static int64_t work_ms(void)
{
    const char *text = getenv("HOLDFAST_TEST_MANY_S");

    return (text ? strtol(text, NULL, 10) : WORK_S) * 1000;
}

static void let_crew_work(pid_t *crew, bool is_killing)
{
    unsigned seed = (unsigned)hf__test_seed();
    int64_t start = hf__test_now_ms();

    while (since(start) < work_ms()) {
        hf__test_pause_ms(work_ms() / 8);
        if (is_killing) {
            int i = (int)((unsigned)rand_r(&seed) % CREW);

            kill_crew(crew[i]);
            crew[i] = start_crew(work_on, i);
        }
    }
    /* Who was killed leaves its names to their leases: on a slow machine that
     * is most of the time. */
    while (!have_got_on(CREW, LEAST) && since(start) < patience(30000)) {
        hf__test_pause_ms(20);
    }
    atomic_store(&board->is_over, true);
    for (int i = 0; i < CREW; i++) {
        end_crew(crew[i]);
    }
}

static void run_crew(bool is_killing)
{
    pid_t crew[CREW];

    board = shared_page(sizeof *board);
    for (int i = 0; i < CREW; i++) {
        crew[i] = start_crew(work_on, i);
    }
    let_crew_work(crew, is_killing);
    expect_progress(CREW, LEAST);
}

TEST_WITHIN_IF(180, store_is_shared(),
               eight_processes_with_overlapping_names_all_get_on)
{
    run_crew(false);
}

TEST_WITHIN_IF(180, store_is_shared(),
               eight_processes_with_overlapping_names_survive_kills)
{
    run_crew(true);
}

struct hand {
    hf_client *client;
    int number;
    struct hf__test_thread *thread;
};

static void take_turns(void *arg)
{
    struct hand *h = arg;
    unsigned seed = (unsigned)hf__test_seed() * HANDS + (unsigned)h->number;

    for (int i = 0; i < 40; i++) {
        work_once(h->client, &seed, h->number);
    }
}

/* They meet in the process, where locks are handed from one to the next. */
TEST_WITHIN(60, threads_with_overlapping_names_all_get_on)
{
    CLIENTS(alice, bob);
    struct hand hands[HANDS];

    board = shared_page(sizeof *board);
    for (int i = 0; i < HANDS; i++) {
        hands[i] = (struct hand){i % 4 == 3 ? bob : alice, i, NULL};
        hands[i].thread = hf__test_start(take_turns, &hands[i]);
    }
    for (int i = 0; i < HANDS; i++) {
        hf__test_join(hands[i].thread);
    }
    expect_progress(HANDS, 40);
    for (int i = 0; i < NAMES; i++) {
        EXPECT_IS(presence(alice, all[i]), HF_FREE);
    }
}
