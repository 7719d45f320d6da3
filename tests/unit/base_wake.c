/* SPDX-License-Identifier: MIT */
/*
 * Sleeping and waking: no wake is lost, a handler may wake, a limit is kept.
 */
#include "src/base/base.h"
#include "src/base/wake.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

static struct hf__parker parker;
static struct hf__parker answer;
static atomic_int turn;

static hf__time in_ms(int64_t ms)
{
    return hf__after_ms(hf__now(), ms);
}

TEST(a_park_ends_at_its_limit)
{
    hf__time start = hf__now();

    hf__park(&parker, hf__parker_seen(&parker), hf__after_ms(start, 30));
    EXPECT(hf__between_ns(start, hf__now()) >= 30 * HF__MS);
    start = hf__now();
    hf__park(&parker, hf__parker_seen(&parker), start);
    hf__park(&parker, hf__parker_seen(&parker), (hf__time){0});
    hf__park(&parker, hf__parker_seen(&parker), (hf__time){INT64_MIN});
    EXPECT_LESS(hf__between_ns(start, hf__now()), 5 * HF__SECOND);
}

static void ignore(int number)
{
    (void)number;
}

TEST(a_pause_lasts_as_long_as_was_said)
{
    const struct itimerval often = {{0, 2000}, {0, 2000}};
    struct sigaction action = {.sa_handler = ignore};
    hf__time start = hf__now();

    EXPECT_IS(sigaction(SIGALRM, &action, NULL), 0);
    EXPECT_IS(setitimer(ITIMER_REAL, &often, NULL), 0);
    hf__sleep_until(in_ms(50));
    EXPECT(hf__between_ns(start, hf__now()) >= 50 * HF__MS);
    start = hf__now();
    hf__sleep_until(start);
    hf__sleep_until((hf__time){INT64_MIN});
    EXPECT_LESS(hf__between_ns(start, hf__now()), 5 * HF__SECOND);
}

TEST(an_unpark_before_the_park_is_not_lost)
{
    unsigned seen = hf__parker_seen(&parker);

    hf__unpark(&parker);
    hf__park(&parker, seen, HF__NEVER);
    seen = hf__parker_seen(&parker);
    /* A park that timed out leaves its mark in the word: it is no wake. */
    hf__park(&parker, seen, in_ms(1));
    EXPECT_IS(hf__parker_seen(&parker), seen);
    hf__unpark(&parker);
    EXPECT_NOT(hf__parker_seen(&parker), seen);
    hf__park(&parker, seen, HF__NEVER);
}

/* Sleeps without any limit until the turn is `wanted`: a lost wake hangs. */
static void await_turn(struct hf__parker *p, int wanted)
{
    for (;;) {
        unsigned seen = hf__parker_seen(p);
        if (atomic_load(&turn) == wanted) {
            return;
        }
        hf__park(p, seen, HF__NEVER);
    }
}

enum { N_TURNS = 20000 };

static void echo(void *arg)
{
    (void)arg;
    for (int i = 1; i < N_TURNS; i += 2) {
        await_turn(&parker, i);
        atomic_store(&turn, i + 1);
        hf__unpark(&answer);
    }
}

TEST_WITHIN(60, no_wake_is_lost_between_two_threads)
{
    struct hf__test_thread *t = hf__test_start(echo, NULL);

    for (int i = 0; i < N_TURNS; i += 2) {
        await_turn(&answer, i);
        atomic_store(&turn, i + 1);
        hf__unpark(&parker);
    }
    await_turn(&answer, N_TURNS);
    hf__test_join(t);
}

static atomic_int n_done;

static void wait_for_the_end(void *arg)
{
    (void)arg;
    await_turn(&parker, 1000);
    atomic_fetch_add(&n_done, 1);
}

/* Many sleepers on one word, some of whom always look while it changes. */
TEST_WITHIN(60, every_sleeper_wakes)
{
    struct hf__test_thread *threads[8];

    hf__test_start_all(threads, 8, wait_for_the_end, NULL);
    for (int i = 1; i <= 1000; i++) {
        atomic_store(&turn, i);
        hf__unpark(&parker);
    }
    hf__test_join_all(threads, 8);
    EXPECT_IS(atomic_load(&n_done), 8);
}

static void wake_from_handler(int number)
{
    (void)number;
    atomic_store(&turn, 1);
    hf__unpark(&parker);
}

static void handle(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};

    sigemptyset(&action.sa_mask);
    EXPECT_IS(sigaction(number, &action, NULL), 0);
}

TEST(a_signal_handler_wakes_a_thread_of_ours)
{
    struct itimerval soon = {{0, 0}, {0, 20000}};

    handle(SIGALRM, wake_from_handler);
    for (int i = 0; i < 5; i++) {
        atomic_store(&turn, 0);
        EXPECT_IS(setitimer(ITIMER_REAL, &soon, NULL), 0);
        await_turn(&parker, 1);
    }
}

TEST(waking_keeps_errno)
{
    struct hf__waker w = {0};
    struct hf__alarm a;

    EXPECT_IS(hf__waker_init(&w, NULL), HF_OK);
    EXPECT_IS(hf__alarm_init(&a), HF_OK);
    hf__park(&parker, hf__parker_seen(&parker), in_ms(1));
    errno = 4711;
    hf__unpark(&parker);
    EXPECT_IS(errno, 4711);
    hf__alarm_poke(&a);
    EXPECT_IS(errno, 4711);
    hf__waker_wake(&w);
    EXPECT_IS(errno, 4711);
    (void)hf__now();
    EXPECT_IS(errno, 4711);
    hf__alarm_fini(&a);
    hf__waker_fini(&w);
}

TEST(a_shared_word_wakes_another_process)
{
    atomic_uint *word = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int n = 0;

    EXPECT(word != MAP_FAILED);
    pid_t child = fork();
    if (child == 0) {
        while (atomic_load(word) == 0) {
            hf__futex_wait_shared(word, 0, HF__NEVER);
        }
        _exit(0);
    }
    while ((n = hf__futex_add_shared(word, 0, word, 1)) == 0) {
        hf__test_pause_ms(1); /* until it sleeps */
    }
    EXPECT_IS(n, 1);
    (void)hf__futex_ring_shared(word, 1);
    EXPECT_IS(hf__test_exit_code(child), 0);
    EXPECT_IS(atomic_load(word), 1);
    hf__futex_wait_shared(word, 0, HF__NEVER); /* it is 1: at once */
    hf__futex_wait_shared(word, 1, in_ms(5));
    EXPECT_IS(hf__futex_ring_shared(word, 1), 0);
    EXPECT_IS(hf__futex_add_shared(word, -2, word + 1, 1), 0);
    EXPECT_IS(atomic_load(word), 0);
    munmap(word, 4096);
}

/* ---- a crew */

static struct hf__ready_list crew;
static struct hf__ready_item members[3];

static int next_called(struct hf__ready_item **list)
{
    struct hf__ready_item *m = *list;

    if (m == NULL) {
        return -1;
    }
    *list = m->next;
    hf__ready_item_answer(m);
    return (int)(m - members);
}

static void join_all(void)
{
    for (int i = 0; i < 3; i++) {
        hf__ready_list_join(&crew, &members[i]);
        hf__ready_item_answer(&members[i]);
    }
}

TEST(members_are_called_once_and_in_order)
{
    struct hf__ready_item *list = NULL;

    join_all();
    EXPECT(hf__ready_list_take(&crew) == NULL);
    hf__unpark(&members[2].parker);
    hf__unpark(&members[0].parker);
    hf__unpark(&members[2].parker);
    list = hf__ready_list_take(&crew);
    EXPECT_IS(next_called(&list), 2);
    EXPECT_IS(next_called(&list), 0);
    EXPECT_IS(next_called(&list), -1);
    hf__unpark(&members[2].parker); /* it was answered */
    list = hf__ready_list_take(&crew);
    EXPECT_IS(next_called(&list), 2);
    EXPECT(hf__ready_list_take(&crew) == NULL);
}

TEST(a_member_is_not_called_before_it_was_answered)
{
    hf__ready_list_join(&crew, &members[0]);
    hf__unpark(&members[0].parker);
    EXPECT(hf__ready_list_take(&crew) == NULL);
    hf__ready_item_answer(&members[0]);
    hf__unpark(&members[0].parker);
    EXPECT(hf__ready_list_take(&crew) == &members[0]);
}

TEST(a_member_that_was_called_may_go_only_when_it_was_taken)
{
    join_all();
    EXPECT(hf__ready_item_retire(&members[0]));
    hf__unpark(&members[0].parker); /* too late */
    EXPECT(hf__ready_list_take(&crew) == NULL);
    hf__unpark(&members[1].parker);
    EXPECT(!hf__ready_item_retire(&members[1]));
    EXPECT(hf__ready_list_take(&crew) == &members[1]);
}

enum { CALLERS = 3, CALLS = 20000 };
static atomic_int posted[3];

static void call_members(void *arg)
{
    (void)arg;
    for (int i = 0; i < 3 * CALLS; i++) {
        posted[i % 3]++;
        hf__unpark(&members[i % 3].parker);
    }
}

/* Whoever misses the last call of a member sleeps for ever. */
TEST(a_sleeping_crew_misses_no_call)
{
    struct hf__test_thread *threads[CALLERS];
    int seen_last[3] = {0};

    join_all();
    hf__test_start_all(threads, CALLERS, call_members, NULL);
    while (seen_last[0] + seen_last[1] + seen_last[2] < 3 * CALLERS * CALLS) {
        unsigned seen = hf__parker_seen(&crew.parker);
        struct hf__ready_item *list = hf__ready_list_take(&crew);
        int i = -1;

        if (list == NULL) {
            hf__park(&crew.parker, seen, HF__NEVER);
        }
        while ((i = next_called(&list)) >= 0) {
            seen_last[i] = posted[i];
        }
    }
    hf__test_join_all(threads, CALLERS);
}
