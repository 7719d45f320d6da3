/* SPDX-License-Identifier: MIT */
/*
 * An intrusive pairing heap of points in time: adding, moving and removing a
 * timer never allocates, so that a renewal can't fail for want of memory.
 * The caller provides the locking.
 */
#ifndef HF_BASE_HEAP_H
#define HF_BASE_HEAP_H

#include "src/base/time.h"

#include <stdbool.h>

struct hf__timer {
    hf__time due;
    struct hf__timer *child; /* first child */
    struct hf__timer *next;  /* next sibling */
    struct hf__timer *back;  /* previous sibling, or the parent */
    bool is_set;             /* in a heap */
};

struct hf__heap {
    struct hf__timer *root;
};

/* Put the timer at `due`, moving it if it was set. */
void hf__heap_set(struct hf__heap *, struct hf__timer *, hf__time due);
/* Harmless if it is not set. */
void hf__heap_remove(struct hf__heap *, struct hf__timer *);
/* The earliest timer, which stays in the heap; NULL if the heap is empty. */
struct hf__timer *hf__heap_first(const struct hf__heap *);

#endif
