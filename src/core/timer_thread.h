/* SPDX-License-Identifier: MIT */
/*
 * The client's timers on one thread: renewals due, deadlines past, cleanups to
 * try again. It sleeps on a timerfd of CLOCK_BOOTTIME, also through a
 * suspend, touches no store and looks up no names; what fires submits to a
 * session. The thread is started before the first grant and sleeps when no
 * timer is set.
 */
#ifndef HF_CORE_TIMER_THREAD_H
#define HF_CORE_TIMER_THREAD_H

#include "src/base/heap.h"
#include "src/base/thread.h"
#include "src/base/wake.h"

/* A timer in its owner. fire() runs on the timer thread, without locks of
 * the timer thread, and may set the timer again; it must not block on a
 * store. */
struct hf__timer_task {
    struct hf__timer timer;
    int64_t slack_ns;  /* may fire so much early, to go with others; set with
                          the timer */
    unsigned early_in; /* round in which it did so last */
    void (*fire)(struct hf__timer_task *, hf__time now);
};

struct hf__timer_thread {
    struct hf__mutex mutex;
    struct hf__heap heap;
    struct hf__alarm alarm;
    struct hf__thread thread;
    struct hf__timer_task *firing; /* now, without the mutex */
    struct hf__parker quiet;       /* unparked when firing ends */
    hf__time sleeps_until; /* or was poked for; past while it is awake */
    unsigned round;        /* the number of times that something was due */
    unsigned thread_id;    /* of the timer thread; 0 before it runs */
    bool is_closing;
};

/* HF_OK or HF_EUNAVAIL. */
HF_MUST_CHECK int hf__timer_thread_init(struct hf__timer_thread *);
/* Start the thread unless it runs. HF_OK or HF_EUNAVAIL. Thread: user. */
HF_MUST_CHECK int hf__timer_thread_start(struct hf__timer_thread *);
/* Joins the thread; nothing fires afterwards. */
void hf__timer_thread_stop(struct hf__timer_thread *);
void hf__timer_thread_fini(struct hf__timer_thread *);
/* Set or move the timer task; HF__NEVER takes it out. Thread: any. */
void hf__timer_thread_set(struct hf__timer_thread *, struct hf__timer_task *,
                          hf__time due, int64_t slack_ns);
/* Take the timer task out and wait until it does not fire any more, so that its
 * owner can be freed. Thread: any, also the timer thread's. */
void hf__timer_thread_cancel(struct hf__timer_thread *,
                             struct hf__timer_task *);

#endif
