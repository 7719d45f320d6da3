/* SPDX-License-Identifier: MIT */
/*
 * The names that this process holds, bound to its life. Each has a byte of
 * the side file locked, found by the name's hash: who finds no file for a
 * name can tell by it that somebody holds the name all the same, because the
 * file was deleted by hand. For records that are there the byte says nothing.
 * Thread: any.
 */
#ifndef HF_BACKEND_FILE_HELD_H
#define HF_BACKEND_FILE_HELD_H

#include "src/backend/backend.h"
#include "src/base/map.h"
#include "src/base/thread.h"

struct hf__file_held {
    struct hf__mutex lock;
    struct hf__map names;
    int fd; /* of the side file; borrowed */
};

HF_MUST_CHECK int hf__file_held_init(struct hf__file_held *held);
/* Forgets all. Takes a zeroed one. */
void hf__file_held_fini(struct hf__file_held *held);

/* From now on the name is held by that token; *ret_is_new: by another one, or
 * none, before. HF_OK, HF_ENOMEM, HF_EUNAVAIL (the kernel has no room). */
HF_MUST_CHECK int hf__file_held_add(struct hf__file_held *held,
                                    const struct hf__key *key,
                                    const struct hf__token *token,
                                    int64_t expires_us, bool *ret_is_new);
/* Moves the lease's end, if the token holds the name. */
bool hf__file_held_extend(struct hf__file_held *held, const struct hf__key *key,
                          const struct hf__token *token, int64_t expires_us);
/* Harmless if another token holds it. */
void hf__file_held_remove(struct hf__file_held *held, const struct hf__key *key,
                          const struct hf__token *token);

/* When the lease of another token of this process ends; 0: none holds it. */
int64_t hf__file_held_until(struct hf__file_held *held,
                            const struct hf__key *key,
                            const struct hf__token *mine);
/* Does another process hold the name? */
bool hf__file_held_elsewhere(const struct hf__file_held *held,
                             const struct hf__key *key);
/* Call fn for each name, until it gives false; those for which it gave true
 * are forgotten. */
typedef bool (*hf__file_held_fn)(void *arg, const struct hf__key *key,
                                 const struct hf__token *token);
void hf__file_held_part(struct hf__file_held *held, hf__file_held_fn fn,
                        void *arg);
/* Is there a grant whose lease runs past now_us? */
bool hf__file_held_has_any(struct hf__file_held *held, int64_t now_us);

#endif
