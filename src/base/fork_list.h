/* SPDX-License-Identifier: MIT */
/*
 * A list of all objects of one kind in this process, aware of fork(). A child
 * finds its own list empty, and the parent's objects in a second one: they are
 * in its memory, but their descriptors and mappings are not. Thread: any.
 */
#ifndef HF_BASE_FORK_LIST_H
#define HF_BASE_FORK_LIST_H

#include "src/base/base.h"
#include "src/base/fork.h"
#include "src/base/list.h"

/* In static memory, zeroed. */
struct hf__fork_list {
    struct hf__process_mutex mutex;
    unsigned generation;       /* fork generation that the lists are of */
    struct hf__link members;   /* of this process */
    struct hf__link inherited; /* of the processes that it was forked from */
};

/* Lock the list. After a fork it first moves the parent's objects to
 * `inherited`. */
void hf__fork_list_lock(struct hf__fork_list *f);
void hf__fork_list_unlock(struct hf__fork_list *f);

/* For HF_SCOPED_FORK_LIST. */
struct hf__fork_list *hf__fork_list_hold(struct hf__fork_list *f);
void hf__fork_list_unlock_auto(struct hf__fork_list **f);
/* Hold the lock until the end of the scope. */
#define HF_SCOPED_FORK_LIST(f)                                                 \
    HF_AUTO(hf__fork_list_unlock_auto)                                         \
    __attribute__((unused)) struct hf__fork_list *scoped_fork_list_ =          \
        hf__fork_list_hold(f)

#endif
