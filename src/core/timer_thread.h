/* SPDX-License-Identifier: MIT */
/*
 * The client's timers on one thread: renewals, deadlines, retries of cleanups.
 * The thread sleeps on a timerfd of CLOCK_BOOTTIME, which also runs during a
 * suspend. It asks no store and resolves no names; a timer that needs the store
 * submits to a session. The thread is started before the first grant and sleeps
 * while no timer is set.
 */
#ifndef HF_CORE_TIMER_THREAD_H
#define HF_CORE_TIMER_THREAD_H

#include "src/base/heap.h"
#include "src/base/thread.h"
#include "src/base/wake.h"

/* A timer, as a member of its owner. fire() runs on the timer thread while that
 * holds no lock of its own, and may set the timer again; it must not block on a
 * store. */
struct hf__timer_task {
    struct hf__timer timer;
    /* how much earlier than due it may fire, to share a batch with others */
    int64_t slack_ns;
    unsigned early_in; /* the last round in which it fired early */
    void (*fire)(struct hf__timer_task *, hf__time now);
};

struct hf__timer_thread {
    struct hf__mutex mutex;
    struct hf__heap heap;
    struct hf__alarm alarm;
    struct hf__thread thread;
    struct hf__timer_task *firing; /* the task in fire() now */
    struct hf__parker quiet;       /* unparked when a fire() returns */
    hf__time sleeps_until; /* or was poked for; in the past while it is awake */
    unsigned round;        /* counts the times that something was due */
    unsigned thread_id;    /* id of the timer thread; 0 before it runs */
    bool is_closing;
};

/* HF_OK or HF_EUNAVAIL. */
HF_MUST_CHECK int hf__timer_thread_init(struct hf__timer_thread *);
/* Start the thread unless it runs. HF_OK or HF_EUNAVAIL. Thread: user. */
HF_MUST_CHECK int hf__timer_thread_start(struct hf__timer_thread *);
/* Join the thread; nothing fires afterwards. */
void hf__timer_thread_stop(struct hf__timer_thread *);
void hf__timer_thread_fini(struct hf__timer_thread *);
/* Set or move the timer; HF__NEVER removes it. Thread: any. */
void hf__timer_thread_set(struct hf__timer_thread *, struct hf__timer_task *,
                          hf__time due, int64_t slack_ns);
/* Remove the timer and wait until its fire() has returned, so that its owner
 * can be freed. Thread: any, even the timer thread, which does not wait. */
void hf__timer_thread_cancel(struct hf__timer_thread *,
                             struct hf__timer_task *);

#endif
