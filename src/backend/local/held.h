/* SPDX-License-Identifier: MIT */
/*
 * The grants that this process holds in a store and that end with it, each with
 * the end of its lease. They are known so that a holder does not look dead
 * while a lease runs: when the process closes the store, either the records are
 * changed to no longer depend on it, or the byte of its life stays locked.
 *
 * For a name that is held alone, the store may also lock a byte of the side
 * file, found by the name's hash. A process that finds no record of the name
 * can tell by this byte that somebody holds it nevertheless. Thread: any.
 */
#ifndef HF_BACKEND_LOCAL_HELD_H
#define HF_BACKEND_LOCAL_HELD_H

#include "src/backend/backend.h"
#include "src/base/map.h"
#include "src/base/thread.h"

struct hf__held {
    struct hf__mutex lock;
    struct hf__map grants; /* by token; where names have bytes, by name */
    int fd;                /* has the bytes, borrowed; −1: names have none */
};

HF_MUST_CHECK int hf__held_init(struct hf__held *, int fd);
/* Forget all grants. Takes a zeroed object. */
void hf__held_fini(struct hf__held *);

/* The token holds the name from now on; its lease's end is set also if it held
 * the name before. Where names have bytes, it may replace another token.
 * *ret_is_new: it did not hold the name before. HF_OK, HF_ENOMEM, HF_EUNAVAIL
 * (the kernel has no room). */
HF_MUST_CHECK int hf__held_add(struct hf__held *, const struct hf__key *,
                               const struct hf__token *, int64_t expires_us,
                               bool *ret_is_new);
/* Set the lease's end, if the token holds the name. Gives whether it does. */
bool hf__held_extend(struct hf__held *, const struct hf__key *,
                     const struct hf__token *, int64_t expires_us);
/* Harmless if the token does not hold the name. */
void hf__held_remove(struct hf__held *, const struct hf__key *,
                     const struct hf__token *);
/* Is there a grant whose lease runs past now_us? */
bool hf__held_has_any(struct hf__held *, int64_t now_us);

/* Call fn for each grant, until it returns false. hf__held_forget_parted()
 * forgets those for which it returned true. */
typedef bool (*hf__held_fn)(void *arg, const struct hf__key *,
                            const struct hf__token *);
void hf__held_unbind(struct hf__held *, hf__held_fn fn, void *arg);
void hf__held_forget_parted(struct hf__held *);

/* ---- where names have bytes */

/* When the lease of another token of this process on the name ends; 0: no other
 * token holds it. */
int64_t hf__held_until(struct hf__held *, const struct hf__key *,
                       const struct hf__token *mine);
/* Does another process hold the name? */
bool hf__held_elsewhere(const struct hf__held *, const struct hf__key *);

#endif
