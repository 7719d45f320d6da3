/* SPDX-License-Identifier: MIT */
/*
 * Timers that fire early, so as to go with others: each once in a round,
 * whatever it asks for then. Looks at when the timer thread sleeps, which needs
 * its insides.
 */
#include "src/core/timer_thread.h"
#include "tests/lib/test.h"

#include <stdatomic.h>

#define FAR_MS INT64_C(3600000)
#define LIMIT  100 /* one that would go on for ever ends here */

struct task {
    struct hf__timer_task timer_task;
    hf__time due;     /* asked for each time that it fires early */
    int64_t slack_ns; /* as well */
    atomic_int fired;
};

static struct hf__timer_thread timer_thread;

static void ask(struct task *t)
{
    hf__timer_thread_set(&timer_thread, &t->timer_task, t->due, t->slack_ns);
}

static void fire(struct hf__timer_task *timer_task, hf__time now)
{
    struct task *t = (struct task *)timer_task;

    if (atomic_fetch_add(&t->fired, 1) < LIMIT && hf__before(now, t->due)) {
        ask(t);
    }
}

static struct task task_in(int64_t ms, int64_t slack_ms)
{
    return (struct task){.timer_task.fire = fire,
                         .due = hf__after_ms(hf__now(), ms),
                         .slack_ns = slack_ms * HF__MS};
}

/* Until all that was due has fired, and what goes with it. */
static void await_rest(void)
{
    bool rests = false;

    while (!rests) {
        hf__test_pause_ms(1);
        hf__mutex_lock(&timer_thread.mutex);
        rests = hf__before(hf__now(), timer_thread.sleeps_until);
        hf__mutex_unlock(&timer_thread.mutex);
    }
}

TEST(who_asks_for_the_same_moment_again_is_early_once_in_a_round)
{
    struct task due = task_in(0, 0);
    struct task early = task_in(FAR_MS, 2 * FAR_MS);

    EXPECT_IS(hf__timer_thread_init(&timer_thread), HF_OK);
    ask(&early);
    for (int round = 1; round <= 3; round++) {
        due.due = hf__now();
        ask(&due);
        EXPECT_IS(hf__timer_thread_start(&timer_thread), HF_OK);
        await_rest();
        EXPECT_IS(atomic_load(&due.fired), round);
        EXPECT_IS(atomic_load(&early.fired), round);
    }
    hf__timer_thread_stop(&timer_thread);
    hf__timer_thread_fini(&timer_thread);
}
