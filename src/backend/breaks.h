/* SPDX-License-Identifier: MIT */
/*
 * How a holder learns at once that its grant was broken, on stores whose
 * processes share memory.
 *
 * A break leaves the tag of the grant's token in a ring and bumps the channel
 * of the process that the grant is bound to: one word, however many locks it
 * holds, on which one thread of each client sleeps. A grant bound to no process
 * may have been adopted by any: all channels hear of it. Nothing is ever taken
 * back, and nothing here is believed: who hears a tag of its own asks the
 * store. More breaks at once than the ring has room for, and some holders
 * learn of theirs at their next renewal only. Thread: any.
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

/* After the break was written. at: of the breaks in the words; life: of the
 * holder's process; 0: of none. */
void hf__breaks_tell(struct hf__words *, size_t at, const struct hf__token *,
                     uint64_t life);

/* Who listens. */
struct hf__listening {
    const struct hf__words *words;
    size_t at;     /* of the breaks in them */
    uint64_t life; /* of this process */
    struct hf__sleep_slot *sleep_slot;
    struct hf__head *head;
    struct hf__breaks_seen *heard;
};
/* As listen() of the contract. */
void hf__breaks_listen(const struct hf__listening *, hf__broken_fn, void *arg,
                       hf__time deadline);

#endif
