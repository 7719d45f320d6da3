/* SPDX-License-Identifier: MIT */
/*
 * The grants that this process has from a store, with the lease's end of
 * each. Known so that the store is not left in silence while a lease runs:
 * either the records are told that the process is gone, or its life byte
 * stays locked. Bookkeeping only: no file, no database. Thread: any.
 */
#ifndef HF_BACKEND_SQLITE_HELD_H
#define HF_BACKEND_SQLITE_HELD_H

#include "src/backend/backend.h"
#include "src/base/map.h"
#include "src/base/thread.h"

struct hf__held {
    struct hf__mutex lock;
    struct hf__map tokens;
};

HF_MUST_CHECK int hf__held_init(struct hf__held *held);
/* Forgets all. Takes a zeroed one. */
void hf__held_fini(struct hf__held *held);

/* Remember, or move the lease's end. False: no memory. ret_is_new: it was not
 * remembered before. */
HF_MUST_CHECK bool hf__held_add(struct hf__held *held,
                                const struct hf__token *token,
                                const struct hf__key *key, int64_t expires_us,
                                bool *ret_is_new);
/* Both harmless if it is not remembered. */
void hf__held_extend(struct hf__held *held, const struct hf__token *token,
                     int64_t expires_us);
void hf__held_remove(struct hf__held *held, const struct hf__token *token);

/* Is there a grant whose lease runs past now_us? */
bool hf__held_has_any(struct hf__held *held, int64_t now_us);

/* Call fn for each grant, until it gives false; those for which it gave true
 * are forgotten by hf__held_forget_parted(). */
typedef bool (*hf__held_fn)(void *arg, const struct hf__token *token,
                            const struct hf__key *key);
void hf__held_part(struct hf__held *held, hf__held_fn fn, void *arg);
void hf__held_forget_parted(struct hf__held *held);

#endif
