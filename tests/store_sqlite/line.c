/* SPDX-License-Identifier: MIT */
/*
 * Processes in line for one name: they are served in the order in which they
 * came, one release wakes one, and those who are killed or stopped are passed
 * over without spoiling the order of the others.
 */
#include "tests/store_sqlite/world.h"

#include "src/base/rand.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME "queued"

/* However busy the machine is, hundreds of processes have come by then. */
enum { ALL_COME_MS = 80000 };

/* Holds the name until there may be a run on it. */
static void hold_until_go(struct stage *stage, int index)
{
    PEER(me);

    (void)index;
    EXPECT_IS(acquire(&me, NAME, ALL_COME_MS), HF_OK);
    atomic_fetch_add(&stage->ready, 1);
    until(&stage->go, 1);
    atomic_store(&stage->at_us, now_us());
    EXPECT_IS(release(&me, NAME), HF_OK);
}

/* What only one may do at a time; in which order, is kept. */
static void be_served(struct stage *stage, int index, uint64_t fence)
{
    long long before = atomic_exchange(&stage->last_fence, (long long)fence);

    if (atomic_exchange(&stage->inside, 1) != 0 || before >= (long long)fence) {
        atomic_fetch_add(&stage->clashes, 1);
        EXPECT_SAFE(false);
    }
    atomic_store(&stage->count[index], atomic_fetch_add(&stage->served, 1) + 1);
    (void)sched_yield();
    atomic_store(&stage->inside, 0);
}

/* Takes its place, waits for its turn, once. */
static void queue_once(struct stage *stage, int index)
{
    struct rusage before;
    struct rusage after;
    HF_AUTO(leave)
    struct peer me = {.is_fair = true, .patience_ms = 20000};

    EXPECT_IS(enter(&me), HF_OK);
    EXPECT_IS(acquire(&me, NAME, 20000), HF_BUSY);
    EXPECT(me.is_queued);
    atomic_fetch_add(&stage->arrived, 1);
    EXPECT_IS(getrusage(RUSAGE_SELF, &before), 0);
    EXPECT_IS(acquire_within(&me, NAME, ALL_COME_MS), HF_OK);
    be_served(stage, index, me.fence);
    EXPECT_IS(release(&me, NAME), HF_OK);
    EXPECT_IS(getrusage(RUSAGE_SELF, &after), 0);
    atomic_fetch_add(&stage->tries, me.tries);
    atomic_fetch_add(&stage->cpu_us, after.ru_nvcsw - before.ru_nvcsw);
}

/* One after the other. */
static void start_line(struct stage *stage, pid_t *pids, int n)
{
    for (int i = 0; i < n; i++) {
        pids[i] = start(queue_once, stage, i);
        until(&stage->arrived, i + 1);
    }
}

/* Who is not let run for long when its turn has come is passed by. Few are,
 * even where the machine has much to do; in another order many would be. */
static bool is_few(int passed, int n)
{
    return passed * 10 <= n;
}

/* Each asks when it comes, before it waits, and when its turn has come; with a
 * machine that is busy with other things, a few times more. */
TEST_WITHIN(90, two_hundred_processes_are_served_in_their_order)
{
    struct stage *stage = stage_new();
    pid_t holder = start_ready(hold_until_go, stage, 0);
    pid_t pids[200];
    int passed = 0;
    int64_t took;

    start_line(stage, pids, 200);
    atomic_store(&stage->go, 1);
    EXPECT_IS(finish(holder), 0);
    for (int i = 0; i < 200; i++) {
        EXPECT_IS(finish(pids[i]), 0);
        passed += atomic_load(&stage->count[i]) > i + 1;
    }
    EXPECT(is_few(passed, 200));
    took = now_us() - atomic_load(&stage->at_us);
    printf("200 grants in %lld us; for each %d/1000 attempts, %lld sleeps\n",
           (long long)took, atomic_load(&stage->tries) * 5,
           (long long)atomic_load(&stage->cpu_us) / 200);
    EXPECT_SAFE_IS(atomic_load(&stage->clashes), 0);
    EXPECT_SOON(atomic_load(&stage->tries), 650);
    EXPECT_SOON(took, stretched(5000000));
    expect_nobody(NAME);
}

enum { CALM, KILLED, STOPPED, KILLED_LATER };

/* One after the other, at no particular time. */
static void make_trouble(const pid_t *pids, const int *fates, int n, int fate)
{
    for (int i = 0; i < n; i++) {
        if (fates[i] == fate) {
            hf__test_pause_ms(hf__random_between(0, 20));
            (void)kill(pids[i], fate == STOPPED ? SIGSTOP : SIGKILL);
        }
    }
}

/* The calm ones in their order, which those who were killed later may or may
 * not have been part of. */
static void expect_order(struct stage *stage, const pid_t *pids,
                         const int *fates, int n)
{
    long long last = 0;
    int passed = 0;

    for (int i = 0; i < n; i++) {
        if (fates[i] == CALM) {
            EXPECT_IS(finish(pids[i]), 0);
            passed += atomic_load(&stage->count[i]) < last;
            last = atomic_load(&stage->count[i]);
        }
    }
    EXPECT(is_few(passed, n));
}

static void choose_fates(int *fates, int n)
{
    for (int i = 0; i < n; i++) {
        fates[i] = (int)hf__random_between(0, 7);
        fates[i] = fates[i] > KILLED_LATER ? CALM : fates[i];
    }
    fates[0] = STOPPED; /* the wake-up is for it */
    fates[1] = KILLED;
    fates[2] = CALM;
}

TEST_WITHIN(60, the_killed_and_the_stopped_are_passed_over)
{
    struct stage *stage = stage_new();
    pid_t holder = start_ready(hold_until_go, stage, 0);
    pid_t pids[48];
    int fates[48];

    choose_fates(fates, 48);
    start_line(stage, pids, 48);
    make_trouble(pids, fates, 48, KILLED);
    make_trouble(pids, fates, 48, STOPPED);
    atomic_store(&stage->go, 1);
    make_trouble(pids, fates, 48, KILLED_LATER);
    expect_order(stage, pids, fates, 48);
    printf("the others were served after %lld us\n",
           (long long)(now_us() - atomic_load(&stage->at_us)));
    EXPECT_SOON(now_us() - atomic_load(&stage->at_us), stretched(5000000));
    for (int i = 0; i < 48; i++) {
        if (fates[i] == STOPPED) {
            EXPECT_IS(atomic_load(&stage->count[i]), 0);
            (void)kill(pids[i], SIGCONT);
        }
    }
    for (int i = 0; i < 48; i++) {
        if (fates[i] != CALM) {
            int r = finish(pids[i]);

            EXPECT_IS(r == 0 || fates[i] != STOPPED, true);
        }
    }
    EXPECT_IS(finish(holder), 0);
    EXPECT_SAFE_IS(atomic_load(&stage->clashes), 0);
    expect_nobody(NAME);
}

/* Waits in line in a PID namespace of its own, where it is number 1. */
static void queue_in_a_container(struct stage *stage, int index)
{
    pid_t inner;

    if (unshare(CLONE_NEWPID) != 0) {
        _exit(77);
    }
    inner = fork();
    EXPECT(inner >= 0);
    if (inner == 0) {
        queue_once(stage, index);
        _exit(0);
    }
    EXPECT_IS(finish(inner), 0);
}

TEST_WITHIN(30, a_waiter_in_a_container_has_its_place)
{
    struct stage *stage = stage_new();
    pid_t holder = start_ready(hold_until_go, stage, 0);
    pid_t pids[3];
    int r;

    pids[0] = start(queue_once, stage, 0);
    until(&stage->arrived, 1);
    pids[1] = start(queue_in_a_container, stage, 1);
    while (atomic_load(&stage->arrived) < 2 &&
           waitpid(pids[1], &r, WNOHANG) == 0) {
        hf__test_pause_ms(5);
    }
    if (atomic_load(&stage->arrived) < 2) {
        kill_now(pids[0]);
        atomic_store(&stage->go, 1);
        EXPECT_IS(finish(holder), 0);
        SKIP("needs root, to make a PID namespace");
    }
    pids[2] = start(queue_once, stage, 2);
    until(&stage->arrived, 3);
    atomic_store(&stage->go, 1);
    EXPECT_IS(finish(holder), 0);
    for (int i = 0; i < 3; i++) {
        EXPECT_IS(finish(pids[i]), 0);
        EXPECT_IS(atomic_load(&stage->count[i]), i + 1);
    }
    expect_nobody(NAME);
}
