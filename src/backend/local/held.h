/* SPDX-License-Identifier: MIT */
/*
 * The grants that this process has from a store, bound to its life, with the
 * lease's end of each. Known so that the holder does not look dead while a
 * lease runs: either the records are told that the process is gone, or its
 * life's byte stays locked.
 *
 * Where a name is held alone it may have a byte of the side file locked, found
 * by its hash: who finds no record of it can tell by that that somebody holds
 * the name all the same. Thread: any.
 */
#ifndef HF_BACKEND_LOCAL_HELD_H
#define HF_BACKEND_LOCAL_HELD_H

#include "src/backend/backend.h"
#include "src/base/map.h"
#include "src/base/thread.h"

struct hf__held {
    struct hf__mutex lock;
    struct hf__map grants; /* by token; with bytes: by name */
    int fd;                /* of the bytes, borrowed; −1: names have none */
};

HF_MUST_CHECK int hf__held_init(struct hf__held *, int fd);
/* Forgets all. Takes a zeroed one. */
void hf__held_fini(struct hf__held *);

/* From now on the name is held by that token, or its lease's end moves; of
 * another token, too, where names have bytes. *ret_is_new: it was not held by
 * it before. HF_OK, HF_ENOMEM, HF_EUNAVAIL (the kernel has no room). */
HF_MUST_CHECK int hf__held_add(struct hf__held *, const struct hf__key *,
                               const struct hf__token *, int64_t expires_us,
                               bool *ret_is_new);
/* Moves the lease's end, if the token holds the name. */
bool hf__held_extend(struct hf__held *, const struct hf__key *,
                     const struct hf__token *, int64_t expires_us);
/* Harmless if it does not. */
void hf__held_remove(struct hf__held *, const struct hf__key *,
                     const struct hf__token *);
/* Is there a grant whose lease runs past now_us? */
bool hf__held_has_any(struct hf__held *, int64_t now_us);

/* Call fn for each grant, until it gives false; those for which it gave true
 * are forgotten by hf__held_forget_parted(). */
typedef bool (*hf__held_fn)(void *arg, const struct hf__key *,
                            const struct hf__token *);
void hf__held_part(struct hf__held *, hf__held_fn fn, void *arg);
void hf__held_forget_parted(struct hf__held *);

/* ---- where names have bytes */

/* When the lease of another token of this process ends; 0: none holds it. */
int64_t hf__held_until(struct hf__held *, const struct hf__key *,
                       const struct hf__token *mine);
/* Does another process hold the name? */
bool hf__held_elsewhere(const struct hf__held *, const struct hf__key *);

#endif
