/* SPDX-License-Identifier: MIT */
/*
 * The client's timers on one thread: renewals due, deadlines past, debts to
 * try again. It sleeps on a timerfd of CLOCK_BOOTTIME, also through a
 * suspend, touches no store and looks up no names; what fires submits to a
 * session. The thread is started before the first grant and sleeps when no
 * timer is set.
 */
#ifndef HF_CORE_KEEPER_H
#define HF_CORE_KEEPER_H

#include "src/base/heap.h"
#include "src/base/thread.h"
#include "src/base/wake.h"

/* A timer in its owner. fire() runs on the keeper's thread, without locks of
 * the keeper, and may set the timer again; it must not block on a store. */
struct hf__duty {
    struct hf__timer timer;
    int64_t slack_ns;  /* may fire so much early, to go with others; set with
                          the timer */
    unsigned early_in; /* round in which it did so last */
    void (*fire)(struct hf__duty *, hf__time now);
};

struct hf__keeper {
    struct hf__mutex mutex;
    struct hf__heap heap;
    struct hf__alarm alarm;
    struct hf__thread thread;
    struct hf__duty *firing; /* now, without the mutex */
    struct hf__parker quiet; /* unparked when firing ends */
    hf__time sleeps_until;   /* or was poked for; past while it is awake */
    unsigned round;          /* the number of times that something was due */
    unsigned thread_id;      /* of the keeper's thread; 0 before it runs */
    bool is_closing;
};

/* HF_OK or HF_EUNAVAIL. */
HF_MUST_CHECK int hf__keeper_init(struct hf__keeper *);
/* Start the thread unless it runs. HF_OK or HF_EUNAVAIL. Thread: user. */
HF_MUST_CHECK int hf__keeper_start(struct hf__keeper *);
/* Joins the thread; nothing fires afterwards. */
void hf__keeper_stop(struct hf__keeper *);
void hf__keeper_fini(struct hf__keeper *);
/* Set or move the duty; HF__NEVER takes it out. Thread: any. */
void hf__keeper_set(struct hf__keeper *, struct hf__duty *, hf__time due,
                    int64_t slack_ns);
/* Take the duty out and wait until it does not fire any more, so that its
 * owner can be freed. Thread: any, also the keeper's. */
void hf__keeper_cancel(struct hf__keeper *, struct hf__duty *);

#endif
