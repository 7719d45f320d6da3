/* SPDX-License-Identifier: MIT */
/*
 * How a holder learns at once that its grant was broken, on stores whose
 * processes share memory.
 *
 * A break writes the tag of the grant's token to a ring buffer and bumps the
 * channel of the process that the grant is bound to: one word, however many
 * locks the process holds, on which one thread of each client sleeps. A grant
 * bound to no process may have been adopted by any, so all channels are bumped.
 * Tags are not removed, and prove nothing: a client that reads a tag of its own
 * asks the store. If there are more breaks at once than the buffer has room
 * for, some holders learn of theirs only at their next renewal. Thread: any.
 */
#ifndef HF_BACKEND_BREAKS_H
#define HF_BACKEND_BREAKS_H

#include "src/backend/shared.h"

#define HF__BREAKS         64
#define HF__BREAK_CHANNELS 256

/* In shared memory; all zero is ready for use. */
struct hf__breaks {
    atomic_uint next;
    _Atomic uint64_t tag[HF__BREAKS];
    atomic_uint channel[HF__BREAK_CHANNELS]; /* by the holder's life */
};

/* What a session has heard already; all zero at first. */
struct hf__breaks_seen {
    uint64_t tag[HF__BREAKS];
};

/* Call it after the break was written. at: offset of the breaks in the words;
 * life: of the holder's process; 0: the grant is bound to none. */
void hf__breaks_tell(struct hf__words *, size_t at, const struct hf__token *,
                     uint64_t life);

/* A session that listens for breaks. */
struct hf__listening {
    const struct hf__words *words;
    size_t at;     /* offset of the breaks in the words */
    uint64_t life; /* of this process */
    struct hf__sleep_slot *sleep_slot;
    struct hf__head *head;
    struct hf__breaks_seen *heard;
};
/* Implements listen() of the contract. */
void hf__breaks_listen(const struct hf__listening *, hf__broken_fn, void *arg,
                       hf__time deadline);

#endif
