/* SPDX-License-Identifier: MIT */
/*
 * A list of all objects of one kind in this process, that knows of fork().
 * A child finds its own list empty and what it inherited apart: the parent's
 * objects are there in memory, but their descriptors and mappings are not.
 * The mutex is made anew in the child, because a thread of the parent may
 * have held it in the moment of the fork. Thread: any.
 */
#ifndef HF_BASE_FAMILY_H
#define HF_BASE_FAMILY_H

#include "src/base/base.h"
#include "src/base/list.h"
#include "src/base/thread.h"

#include <stdatomic.h>

struct hf__family {
    struct hf__mutex lock;
    atomic_uint generation;    /* of fork, for which the rest is made */
    struct hf__link members;   /* of this process */
    struct hf__link inherited; /* of its parent, at the fork */
};

/* Lock it, after sorting out what a fork left. */
void hf__family_lock(struct hf__family *f);
void hf__family_unlock(struct hf__family *f);

#endif
