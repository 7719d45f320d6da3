/* SPDX-License-Identifier: MIT */
/*
 * Waking sleeping threads.
 *
 * A parker is a futex word. Read hf__parker_seen(), look at the condition, then
 * hf__park(): a wake that came in between returns at once, so none is lost;
 * spurious returns are allowed. hf__unpark() is async-signal-safe, which a
 * condition variable is not: a cancel may be fired from a handler. Sleeping is
 * by CLOCK_MONOTONIC (all that a futex offers); the callers decide by hf__now()
 * and look again after each return.
 *
 * A waker is an eventfd, for a thread that sleeps in poll() among sockets.
 * Waking it is async-signal-safe, too.
 *
 * An alarm is a timerfd on CLOCK_BOOTTIME plus an eventfd: the timer thread
 * sleeps on it, also through a suspend.
 */
#ifndef HF_BASE_WAKE_H
#define HF_BASE_WAKE_H

#include "src/base/base.h"
#include "src/base/time.h"

#include <stdatomic.h>

struct hf__ready_list;

struct hf__parker {
    atomic_uint word;
    atomic_bool is_engaged;            /* see hf__parker_engage() */
    struct hf__ready_list *ready_list; /* the parker is an item's of that list;
                                          NULL: threads sleep on it */
};

/* Does it belong to one of many waits on one thread? That thread must not block
 * for a single one of them. */
static inline bool hf__parker_is_ready_item(const struct hf__parker *p)
{
    return p->ready_list != NULL;
}
HF_MODULE_API unsigned hf__parker_seen(const struct hf__parker *);
/* Sleep until unparked since `seen`, or until `limit`. Thread: any. */
HF_MODULE_API void hf__park(struct hf__parker *, unsigned seen, hf__time limit);
/* Does what can be done now. True: all is done. False: the caller sleeps on the
 * parker that the step uses, at most until *ret_until (HF__NEVER at the call);
 * zero means that the step can go on at once. */
typedef bool (*hf__step_fn)(void *arg, hf__time *ret_until);
/* Step, and sleep between two steps, until all is done. Thread: any. */
void hf__run_steps(struct hf__parker *, hf__step_fn step, void *arg);
/* Sleep until `limit`; nothing ends the pause early. Thread: any. */
HF_MODULE_API void hf__sleep_until(hf__time limit);
/* Wake all threads that sleep on it. Thread: any; async-signal-safe. */
HF_MODULE_API void hf__unpark(struct hf__parker *);
/* The same in two steps, so that the kernel is called after the caller unlocked
 * a mutex that the woken threads need: begin() gives what to hand to end(),
 * NULL if nobody sleeps there. Between the two the parker may be freed. */
HF_MODULE_API atomic_uint *hf__unpark_begin(struct hf__parker *);
HF_MODULE_API void hf__unpark_end(atomic_uint *word);
/* Mark the thread that sleeps on it as busy: it has one thing to do, and gets
 * no other until it is disengaged. False: it is busy already. Thread: any. */
HF_MUST_CHECK bool hf__parker_engage(struct hf__parker *);
void hf__parker_disengage(struct hf__parker *);
bool hf__parker_is_engaged(const struct hf__parker *);

/*
 * Waiting and waking on a word in shared memory, between processes. Only the
 * kernel follows the pointers. If the word is gone, as in a file that was
 * truncated, waiting is a short pause and waking does nothing.
 *
 * hf__futex_add_shared() adds to one word and wakes up to `count` threads that
 * sleep on `sleepers`, in one step; hf__futex_ring_shared() adds one to a word
 * and wakes up to `count` that sleep on it. Both give how many were woken.
 */
void hf__futex_wait_shared(atomic_uint *word, unsigned seen, hf__time limit);
int hf__futex_add_shared(atomic_uint *word, int by, atomic_uint *sleepers,
                         int count);
int hf__futex_ring_shared(atomic_uint *word, int count);

/*
 * A ready list serves many waits of one thread: unparking the parker of an item
 * puts the item on the list and wakes the thread, which sleeps on the list's
 * own parker and then takes the items. Unparking is async-signal-safe here,
 * too.
 */
struct hf__ready_item {
    struct hf__parker parker;    /* for hf__unpark() only */
    struct hf__ready_item *next; /* in the list */
    atomic_bool is_called;       /* in the list, or being added */
};

struct hf__ready_list {
    struct hf__parker parker;
    _Atomic(struct hf__ready_item *) called; /* the last one first */
};

/* Prepares a new item. It is not put on the list before it has been
 * answered. */
void hf__ready_list_join(struct hf__ready_list *, struct hf__ready_item *);
/* Takes the items called since the last time, in that order; NULL: none. Answer
 * each before looking at why it was called, or a later call is missed. */
struct hf__ready_item *hf__ready_list_take(struct hf__ready_list *);
void hf__ready_item_answer(struct hf__ready_item *);
/* May the item be freed, now that nobody will unpark it any more? If not, it
 * has just been called and may be freed once it was taken from the list. */
HF_MUST_CHECK bool hf__ready_item_retire(struct hf__ready_item *);

struct hf__waker {
    atomic_int fd; /* descriptor plus 1; 0: none */
};

/* HF_OK, HF_EUNAVAIL (no descriptor) or HF_ENOMEM. */
HF_MODULE_API HF_MUST_CHECK int hf__waker_init(struct hf__waker *,
                                               hf_error *err);
HF_MODULE_API void hf__waker_fini(struct hf__waker *);
/* Does nothing before init() and after fini(). Thread: any. */
HF_MODULE_API void hf__waker_wake(struct hf__waker *);
/* The descriptor to poll for POLLIN and then drain; −1: none. */
HF_MODULE_API int hf__waker_fd(const struct hf__waker *);
HF_MODULE_API void hf__waker_drain(struct hf__waker *);

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
