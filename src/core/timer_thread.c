/* SPDX-License-Identifier: MIT */
/*
 * Fires a client's timers. This file decides the moment and the order; what a
 * timer does is its owner's business. Set and cancelled by any thread; fires on
 * the timer thread only (I6).
 */
#include "src/core/timer_thread.h"

#include "src/base/list.h"

#include <string.h>

int hf__timer_thread_init(struct hf__timer_thread *k)
{
    memset(k, 0, sizeof *k);
    hf__mutex_init(&k->mutex);
    k->sleeps_until = HF__NEVER;
    return hf__alarm_init(&k->alarm);
}

void hf__timer_thread_fini(struct hf__timer_thread *k)
{
    hf__alarm_fini(&k->alarm);
    hf__mutex_fini(&k->mutex);
}

/* Take out the next timer task that is due, or nearly due. Under the mutex. A
 * task fires early only once in a round: one that sets itself to the same
 * moment again waits for that moment; otherwise it would fire for ever and keep
 * the others from firing. */
static struct hf__timer_task *take_due(struct hf__timer_thread *k, hf__time now)
{
    struct hf__timer *first = hf__heap_first(&k->heap);
    struct hf__timer_task *d = NULL;

    if (first == NULL) {
        return NULL;
    }
    d = HF__ELEMENT(first, struct hf__timer_task, timer);
    if (hf__before(now, first->due)) {
        if (d->early_in == k->round ||
            hf__before(hf__after_ns(now, d->slack_ns), first->due)) {
            return NULL;
        }
        d->early_in = k->round;
    }
    hf__heap_remove(&k->heap, first);
    return d;
}

static void fire(struct hf__timer_thread *k, struct hf__timer_task *d,
                 hf__time now)
{
    k->firing = d;
    hf__mutex_unlock(&k->mutex);
    d->fire(d, now);
    hf__mutex_lock(&k->mutex);
    k->firing = NULL;
    hf__unpark(&k->quiet);
}

/* Sleep until the first timer task; setting an earlier one pokes the thread.
 * sleeps_until keeps an earlier moment even if its timer task is gone, so that
 * a caller that acquires and releases in a loop pokes the thread once in a
 * while, not at each grant. */
static void doze(struct hf__timer_thread *k)
{
    struct hf__timer *first = hf__heap_first(&k->heap);
    hf__time until = first == NULL ? HF__NEVER : first->due;

    if (hf__before(hf__now(), k->sleeps_until)) {
        until = hf__earlier(until, k->sleeps_until);
    }
    k->sleeps_until = until;
    hf__mutex_unlock(&k->mutex);
    hf__alarm_sleep(&k->alarm, until);
    hf__mutex_lock(&k->mutex);
}

/* When a task is due, all that are nearly due fire too, so that they share a
 * batch. */
static void fire_due(struct hf__timer_thread *k)
{
    struct hf__timer *first = hf__heap_first(&k->heap);
    hf__time now = hf__now();
    struct hf__timer_task *d = NULL;

    if (first == NULL || hf__before(now, first->due)) {
        return;
    }
    k->round++;
    while ((d = take_due(k, now)) != NULL) {
        fire(k, d, now);
    }
}

static void timer_thread_main(void *arg)
{
    struct hf__timer_thread *k = arg;

    hf__mutex_lock(&k->mutex);
    k->thread_id = hf__thread_id();
    while (!k->is_closing) {
        fire_due(k);
        if (!k->is_closing) {
            doze(k);
        }
    }
    hf__mutex_unlock(&k->mutex);
}

int hf__timer_thread_start(struct hf__timer_thread *k)
{
    HF_SCOPED_LOCK(&k->mutex);

    if (k->thread.is_running || k->is_closing) {
        return HF_OK;
    }
    return hf__thread_start(&k->thread, "holdfast-keep", timer_thread_main, k);
}

void hf__timer_thread_stop(struct hf__timer_thread *k)
{
    hf__mutex_lock(&k->mutex);
    k->is_closing = true;
    hf__mutex_unlock(&k->mutex);
    hf__alarm_poke(&k->alarm);
    hf__thread_stop(&k->thread);
}

void hf__timer_thread_set(struct hf__timer_thread *k, struct hf__timer_task *d,
                          hf__time due, int64_t slack_ns)
{
    bool is_earlier = false;

    hf__mutex_lock(&k->mutex);
    d->slack_ns = slack_ns;
    if (hf__is_never(due) || k->is_closing) {
        hf__heap_remove(&k->heap, &d->timer);
    } else {
        hf__heap_set(&k->heap, &d->timer, due);
        is_earlier = hf__before(due, k->sleeps_until);
        k->sleeps_until = hf__earlier(due, k->sleeps_until);
    }
    hf__mutex_unlock(&k->mutex);
    if (is_earlier) {
        hf__alarm_poke(&k->alarm);
    }
}

void hf__timer_thread_cancel(struct hf__timer_thread *k,
                             struct hf__timer_task *d)
{
    hf__mutex_lock(&k->mutex);
    hf__heap_remove(&k->heap, &d->timer);
    while (k->firing == d && k->thread_id != hf__thread_id()) {
        unsigned seen = hf__parker_seen(&k->quiet);

        hf__mutex_unlock(&k->mutex);
        hf__park(&k->quiet, seen, HF__NEVER);
        hf__mutex_lock(&k->mutex);
        hf__heap_remove(&k->heap, &d->timer);
    }
    hf__mutex_unlock(&k->mutex);
}
