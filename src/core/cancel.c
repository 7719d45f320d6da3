/* SPDX-License-Identifier: MIT */
/*
 * Cancelling waits. This file only raises the flag and wakes the waiters; what
 * a cancelled wait leaves behind is settled by its claim. Fired by any thread
 * or signal handler.
 */
#include "src/core/cancel.h"

#include "src/base/alloc.h"

int hf_cancel_new(hf_cancel **ret_cancel)
{
    hf_cancel *cancel = NULL;

    if (ret_cancel == NULL) {
        return HF_EINVAL;
    }
    cancel = hf__alloc(sizeof *cancel);
    if (cancel == NULL) {
        return HF_ENOMEM;
    }
    hf__mutex_init(&cancel->mutex);
    *ret_cancel = cancel;
    return HF_OK;
}

/*
 * The list is walked without a lock, in signal handlers too. A follower that
 * leaves keeps its `next`, and may be freed only when no walk is under way. Our
 * own threads take no signals, and a handler ends before the thread that it
 * interrupted goes on, so this cannot deadlock.
 */
void hf__cancel_follow(struct hf_cancel *cancel, struct hf__follower *f)
{
    HF_SCOPED_LOCK(&cancel->mutex);
    struct hf__follower *first = atomic_load(&cancel->followers);

    atomic_store(&f->next, first);
    f->prev = NULL;
    if (first != NULL) {
        first->prev = f;
    }
    atomic_store(&cancel->followers, f);
}

void hf__cancel_unfollow(struct hf_cancel *cancel, struct hf__follower *f)
{
    struct hf__follower *next = NULL;

    hf__mutex_lock(&cancel->mutex);
    next = atomic_load(&f->next);
    if (next != NULL) {
        next->prev = f->prev;
    }
    atomic_store(f->prev != NULL ? &f->prev->next : &cancel->followers, next);
    hf__mutex_unlock(&cancel->mutex);
    while (atomic_load(&cancel->firing) > 0) {
        hf__thread_yield();
    }
}

void hf_cancel_fire(hf_cancel *cancel)
{
    struct hf__follower *f = NULL;

    if (cancel != NULL) {
        atomic_store(&cancel->is_fired, 1);
        hf__unpark(&cancel->parker);
        atomic_fetch_add(&cancel->firing, 1);
        for (f = atomic_load(&cancel->followers); f != NULL;
             f = atomic_load(&f->next)) {
            hf__unpark(f->parker);
        }
        atomic_fetch_sub(&cancel->firing, 1);
    }
}

void hf_cancel_free(hf_cancel *cancel)
{
    if (cancel != NULL) {
        hf__mutex_fini(&cancel->mutex);
    }
    hf__free(cancel);
}
