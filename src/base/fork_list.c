/* SPDX-License-Identifier: MIT */
/*
 * The fork-aware list. It moves the members to `inherited` after a fork; its
 * users decide what becomes of them. Thread: any.
 */
#include "src/base/fork_list.h"

static void begin_generation(struct hf__fork_list *f)
{
    struct hf__link *l;

    if (f->generation == 0) {
        hf__list_init(&f->members);
        hf__list_init(&f->inherited);
    }
    while ((l = hf__list_pop(&f->members)) != NULL) {
        hf__list_push(&f->inherited, l);
    }
    f->generation = hf__fork_generation();
}

void hf__fork_list_lock(struct hf__fork_list *f)
{
    hf__mutex_lock(hf__process_mutex(&f->mutex));
    if (f->generation != hf__fork_generation()) {
        begin_generation(f);
    }
}

void hf__fork_list_unlock(struct hf__fork_list *f)
{
    hf__mutex_unlock(&f->mutex.mutex);
}

struct hf__fork_list *hf__fork_list_hold(struct hf__fork_list *f)
{
    hf__fork_list_lock(f);
    return f;
}

void hf__fork_list_unlock_auto(struct hf__fork_list **f)
{
    hf__fork_list_unlock(*f);
}
