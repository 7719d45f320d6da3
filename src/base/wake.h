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
 * A waker is an eventfd, for who sleeps in poll() among sockets. Waking is
 * async-signal-safe as well.
 *
 * A pokeable clock (struct hf__alarm) is a timerfd on CLOCK_BOOTTIME plus an
 * eventfd: the timer thread sleeps on it, also through a suspend.
 */
#ifndef HF_BASE_WAKE_H
#define HF_BASE_WAKE_H

#include "src/base/base.h"
#include "src/base/time.h"

#include <stdatomic.h>

struct hf__ready_list;

struct hf__parker {
    atomic_uint word;
    atomic_bool is_engaged; /* see hf__parker_engage() */
    struct hf__ready_list
        *ready_list; /* it is a member's; NULL: somebody sleeps here */
};

/* One of many sleepers on one thread, which must not block for one of them. */
static inline bool hf__parker_is_ready_item(const struct hf__parker *p)
{
    return p->ready_list != NULL;
}
HF_MODULE_API unsigned hf__parker_seen(const struct hf__parker *);
/* Sleep until unparked since `seen`, or until `limit`. Thread: any. */
HF_MODULE_API void hf__park(struct hf__parker *, unsigned seen, hf__time limit);
/* Do what can be done now. True: it is over. Else sleep on the parker that the
 * step was given, until *ret_until (HF__NEVER at the call) at the latest; a
 * time that is zero: there is more to do at once. */
typedef bool (*hf__step_fn)(void *arg, hf__time *ret_until);
/* Step, and sleep between two steps, until it is over. Thread: any. */
void hf__run_steps(struct hf__parker *, hf__step_fn step, void *arg);
/* Sleep until `limit`: a pause that nobody ends. Thread: any. */
HF_MODULE_API void hf__sleep_until(hf__time limit);
/* Wake everybody who sleeps there. Thread: any; async-signal-safe. */
HF_MODULE_API void hf__unpark(struct hf__parker *);
/* The same in two steps, so that the kernel can be called after a mutex was
 * let go that the woken wants: begin() gives what to hand to end(), NULL if
 * nobody sleeps there. Between the two the parker may go. */
HF_MODULE_API atomic_uint *hf__unpark_begin(struct hf__parker *);
HF_MODULE_API void hf__unpark_end(atomic_uint *word);
/* Who sleeps there has something to do, and for nobody else until disengaged.
 * False: it has already. Thread: any. */
HF_MUST_CHECK bool hf__parker_engage(struct hf__parker *);
void hf__parker_disengage(struct hf__parker *);
bool hf__parker_is_engaged(const struct hf__parker *);

/*
 * The same on a word in shared memory, between processes; none of them follows
 * the pointer here, the kernel does. Where the word is gone, as in a file that
 * was cut off, waiting is a short pause and waking does nothing.
 *
 * To add is one step with waking `count` who sleep on another word, or, by one
 * and on the same word, with ringing it. They give how many were woken.
 */
void hf__futex_wait_shared(atomic_uint *word, unsigned seen, hf__time limit);
int hf__futex_add_shared(atomic_uint *word, int by, atomic_uint *sleepers,
                         int count);
int hf__futex_ring_shared(atomic_uint *word, int count);

/*
 * A crew is many sleepers on one thread: who unparks a member's parker puts
 * the member on the crew's list and wakes the thread, which sleeps on the
 * crew's own parker and then takes the list. Async-signal-safe as well.
 */
struct hf__ready_item {
    struct hf__parker parker;    /* only to be unparked */
    struct hf__ready_item *next; /* in the list */
    atomic_bool is_called;       /* in the list, or on its way there */
};

struct hf__ready_list {
    struct hf__parker parker;
    _Atomic(struct hf__ready_item *) called; /* the last one first */
};

/* A new member; it is not called before it has been answered. */
void hf__ready_list_join(struct hf__ready_list *, struct hf__ready_item *);
/* Those called since the last time, in their order; NULL: none. Each is to be
 * answered, before one looks why it was called. */
struct hf__ready_item *hf__ready_list_take(struct hf__ready_list *);
void hf__ready_item_answer(struct hf__ready_item *);
/* Nobody unparks it any more: may it be freed? If not it has just been called
 * and may be freed once it was taken. */
HF_MUST_CHECK bool hf__ready_item_retire(struct hf__ready_item *);

struct hf__waker {
    atomic_int fd; /* plus 1; 0: none */
};

/* HF_OK, HF_EUNAVAIL (no descriptor) or HF_ENOMEM. */
HF_MODULE_API HF_MUST_CHECK int hf__waker_init(struct hf__waker *,
                                               hf_error *err);
HF_MODULE_API void hf__waker_fini(struct hf__waker *);
/* Also before init() and after fini(): nothing. Thread: any. */
HF_MODULE_API void hf__waker_wake(struct hf__waker *);
/* To be polled for POLLIN, then drained; −1: none. */
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
