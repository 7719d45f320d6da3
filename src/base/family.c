/* SPDX-License-Identifier: MIT */
/*
 * The fork-aware list. Decides only when a list counts as inherited; what
 * becomes of inherited objects is its users' business. Thread: any.
 */
#include "src/base/family.h"

#include "src/base/fork.h"

/* Runs in the first use of a process; two threads of a fresh child that come
 * here together are told apart by the exchange. */
static void begin_generation(struct hf__family *f, unsigned before)
{
    struct hf__link *l;

    hf__mutex_init(&f->lock);
    if (before <= 1) {
        hf__list_init(&f->members);
        hf__list_init(&f->inherited);
        return;
    }
    while ((l = hf__list_pop(&f->members)) != NULL) {
        hf__list_push(&f->inherited, l);
    }
}

void hf__family_lock(struct hf__family *f)
{
    unsigned now = 2 * hf__fork_generation();
    unsigned before = atomic_load(&f->generation);

    /* now − 1 says that a thread of this process is at it. */
    while (before != now) {
        if (before != now - 1 &&
            atomic_compare_exchange_weak(&f->generation, &before, now - 1)) {
            begin_generation(f, before);
            atomic_store(&f->generation, now);
            break;
        }
        before = atomic_load(&f->generation);
    }
    hf__mutex_lock(&f->lock);
}

void hf__family_unlock(struct hf__family *f)
{
    hf__mutex_unlock(&f->lock);
}
