/* SPDX-License-Identifier: MIT */
/*
 * How often updates of a cell meet, as one client sees it, and what follows:
 * whether to try first or to lock first. Trying is the faster way until more
 * than one try in five is in vain; under the lock hardly one update in ten may
 * find another at work before trying is worth a try again. Thread: any.
 */
#ifndef HF_CORE_CONTENTION_H
#define HF_CORE_CONTENTION_H

#include "src/base/thread.h"

/* Cells that are remembered; a newer one pushes out an older of the same slot,
 * which begins anew. */
#define HF__CONTENTION_SLOTS 64

/* Of one cell: the last tries since the way was chosen, 32 at most. */
struct hf__contention_slot {
    uint64_t hash;
    uint32_t met; /* a bit each, the last is the lowest */
    unsigned tries;
    bool is_locking;
};

struct hf__contention {
    struct hf__mutex mutex; /* all zero is ready for use */
    struct hf__contention_slot slots[HF__CONTENTION_SLOTS];
};

/* Is the cell of that hash to be locked before it is tried? */
bool hf__contention_locks(struct hf__contention *, uint64_t hash);
/* One more, made without the lock or with it: did it meet another? */
void hf__contention_note(struct hf__contention *, uint64_t hash,
                         bool is_locking, bool has_met);

#endif
