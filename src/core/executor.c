/* SPDX-License-Identifier: MIT */
/*
 * This file decides when a job is stepped and when it may be freed; the job
 * decides what a step does. Jobs are added by any thread, stepped and ended by
 * the executor's own.
 */
#include "src/core/executor.h"

void hf__executor_init(struct hf__executor *s)
{
    hf__mutex_init(&s->mutex);
    hf__list_init(&s->jobs);
}

void hf__executor_fini(struct hf__executor *s)
{
    hf__mutex_fini(&s->mutex);
}

/* ---- the thread */

static void end_job(struct hf__executor *s, struct hf__job *j)
{
    j->end(j);
    hf__mutex_lock(&s->mutex);
    if (--s->n_jobs == 0) {
        hf__unpark(&s->idle);
    }
    hf__mutex_unlock(&s->mutex);
}

static void step(struct hf__executor *s, struct hf__job *j)
{
    hf__time until = HF__NEVER;

    if (!j->step(j, &until)) {
        if (hf__is_never(until)) {
            hf__heap_remove(&s->timers, &j->timer);
        } else {
            hf__heap_set(&s->timers, &j->timer, until);
        }
        return;
    }
    hf__heap_remove(&s->timers, &j->timer);
    hf__mutex_lock(&s->mutex);
    hf__list_remove(&j->link);
    hf__mutex_unlock(&s->mutex);
    j->is_over = true;
    if (hf__ready_item_retire(&j->ready_item)) {
        end_job(s, j);
    }
}

/* Step the jobs that were unparked. Returns whether there were any. */
static bool answer_calls(struct hf__executor *s)
{
    struct hf__ready_item *m = hf__ready_list_take(&s->ready_list);
    bool were_any = m != NULL;

    while (m != NULL) {
        struct hf__job *j = HF__ELEMENT(m, struct hf__job, ready_item);

        m = m->next;
        if (j->is_over) {
            end_job(s, j);
        } else {
            hf__ready_item_answer(&j->ready_item);
            step(s, j);
        }
    }
    return were_any;
}

static bool step_due(struct hf__executor *s, hf__time now)
{
    struct hf__timer *first = hf__heap_first(&s->timers);

    if (first == NULL || hf__before(now, first->due)) {
        return false;
    }
    step(s, HF__ELEMENT(first, struct hf__job, timer));
    return true;
}

/* Read the parker before all else: what happens afterwards then ends the sleep,
 * and so does stopping. Returns whether to go on. */
static bool goes_on(struct hf__executor *s, unsigned *ret_seen)
{
    HF_SCOPED_LOCK(&s->mutex);

    *ret_seen = hf__parker_seen(&s->ready_list.parker);
    return !s->is_stopping;
}

static void executor_main(void *arg)
{
    struct hf__executor *s = arg;
    unsigned seen = 0;

    while (goes_on(s, &seen)) {
        bool is_busy = answer_calls(s);
        hf__time now = hf__now();

        while (step_due(s, now)) {
            is_busy = true;
        }
        if (!is_busy) {
            struct hf__timer *first = hf__heap_first(&s->timers);

            hf__park(&s->ready_list.parker, seen,
                     first == NULL ? HF__NEVER : first->due);
        }
    }
}

/* ---- for the callers */

int hf__executor_start(struct hf__executor *s)
{
    HF_SCOPED_LOCK(&s->mutex);

    return s->thread.is_running ? HF_OK
                                : hf__thread_start(&s->thread, "holdfast-async",
                                                   executor_main, s);
}

void hf__executor_adopt(struct hf__executor *s, struct hf__job *j)
{
    hf__ready_list_join(&s->ready_list, &j->ready_item);
    hf__list_init(&j->link);
}

void hf__executor_add(struct hf__executor *s, struct hf__job *j)
{
    hf__mutex_lock(&s->mutex);
    hf__list_push(&s->jobs, &j->link);
    s->n_jobs++;
    if (s->is_closing) {
        j->call_off(j);
    }
    hf__ready_item_answer(&j->ready_item);
    hf__unpark(&j->ready_item.parker);
    hf__mutex_unlock(&s->mutex);
}

void hf__executor_call_off(struct hf__executor *s)
{
    HF_SCOPED_LOCK(&s->mutex);

    s->is_closing = true;
    HF__LIST_EACH (link, &s->jobs) {
        struct hf__job *j = HF__ELEMENT(link, struct hf__job, link);

        j->call_off(j);
    }
}

void hf__executor_drain(struct hf__executor *s)
{
    hf__mutex_lock(&s->mutex);
    while (s->n_jobs > 0) {
        unsigned seen = hf__parker_seen(&s->idle);

        hf__mutex_unlock(&s->mutex);
        hf__park(&s->idle, seen, HF__NEVER);
        hf__mutex_lock(&s->mutex);
    }
    hf__mutex_unlock(&s->mutex);
}

void hf__executor_stop(struct hf__executor *s)
{
    hf__mutex_lock(&s->mutex);
    s->is_stopping = true;
    hf__mutex_unlock(&s->mutex);
    hf__unpark(&s->ready_list.parker);
    hf__thread_stop(&s->thread);
}
