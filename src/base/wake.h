/* SPDX-License-Identifier: MIT */
/*
 * Waking sleeping threads.
 *
 * A parker is a futex word. Read hf__parker_seen(), look at the condition,
 * then hf__park(): a wake that came in between returns at once, so none is
 * lost; spurious returns are allowed. hf__unpark() is async-signal-safe,
 * which a condition variable is not: a cancel may be fired from a handler.
 * Sleeping is by CLOCK_MONOTONIC (all that a futex offers); the callers
 * decide by hf__now() and look again after each return.
 *
 * A pokeable clock (struct hf__alarm) is a timerfd on CLOCK_BOOTTIME plus an
 * eventfd: the keeper sleeps on it, also through a suspend.
 */
#ifndef HF_BASE_WAKE_H
#define HF_BASE_WAKE_H

#include "src/base/base.h"
#include "src/base/time.h"

#include <stdatomic.h>

struct hf__parker {
    atomic_uint word;
};

unsigned hf__parker_seen(const struct hf__parker *);
/* Sleep until unparked since `seen`, or until `limit`. Thread: any. */
void hf__park(struct hf__parker *, unsigned seen, hf__time limit);
/* Sleep until `limit`: a pause that nobody ends. Thread: any. */
void hf__sleep_until(hf__time limit);
/* Wake everybody who sleeps there. Thread: any; async-signal-safe. */
void hf__unpark(struct hf__parker *);
/* The same in two steps, so that the kernel can be called after a mutex was
 * let go that the woken wants: begin() gives what to hand to end(), NULL if
 * nobody sleeps there. Between the two the parker may go. */
atomic_uint *hf__unpark_begin(struct hf__parker *);
void hf__unpark_end(atomic_uint *word);

/* The same on a word in shared memory, between processes. Wakes `count`
 * sleepers; gives how many were woken. */
void hf__futex_wait_shared(atomic_uint *word, unsigned seen, hf__time limit);
int hf__futex_wake_shared(atomic_uint *word, int count);

struct hf__alarm {
    int timer_fd;
    int poke_fd;
};

/* HF_OK, HF_EUNAVAIL (no descriptors) or HF_ENOMEM. */
HF_MUST_CHECK int hf__alarm_init(struct hf__alarm *);
void hf__alarm_fini(struct hf__alarm *);
/* Sleep until `limit` or a poke; one sleeper at a time. */
void hf__alarm_sleep(struct hf__alarm *, hf__time limit);
void hf__alarm_poke(struct hf__alarm *);

#endif
