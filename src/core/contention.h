/* SPDX-License-Identifier: MIT */
/*
 * How often one client's updates of a cell conflict, and so whether to try
 * first or to lock first. Trying is faster until more than one try in five
 * fails. Under the lock, fewer than one update in ten may conflict before
 * trying is worth it again. Thread: any.
 */
#ifndef HF_CORE_CONTENTION_H
#define HF_CORE_CONTENTION_H

#include "src/base/thread.h"

/* The number of cells remembered; a newer cell pushes out an older one in the
 * same slot and starts without a history. */
#define HF__CONTENTION_SLOTS 64

/* One cell's last tries since it was last decided whether to lock, 32 at
 * most. */
struct hf__contention_slot {
    uint64_t hash;
    uint32_t met; /* 1 bit per try: it conflicted; the last is the lowest */
    unsigned tries;
    bool is_locking;
};

struct hf__contention {
    struct hf__mutex mutex; /* all zero is ready for use */
    struct hf__contention_slot slots[HF__CONTENTION_SLOTS];
};

/* Returns whether the cell with that hash is to be locked before it is
 * tried. */
bool hf__contention_locks(struct hf__contention *, uint64_t hash);
/* Note one more try, made with the lock or without, and whether it
 * conflicted. */
void hf__contention_note(struct hf__contention *, uint64_t hash,
                         bool is_locking, bool has_met);

#endif
