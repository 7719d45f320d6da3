/* SPDX-License-Identifier: MIT */
/*
 * What is wished of a lock: reading the caller's options, which `size` tells
 * the version of, does the store do that, and who asks, for people.
 * Thread: any; the calling one is told of.
 */
#ifndef HF_CORE_OPTIONS_H
#define HF_CORE_OPTIONS_H

#include "src/backend/backend.h"

struct hf_client;

/*
 * Copy what the caller's struct has over ours, which holds the defaults.
 * Both begin with a size_t size. HF_OK; HF_EINVAL for a size of 0, or for a
 * newer struct that uses fields we don't know. NULL is "all defaults".
 */
HF_MUST_CHECK int hf__options_copy(void *ours, size_t size, const void *theirs,
                                   hf_error *err);

/* The caller's struct for a result begins with a size_t size, too, which may be
 * that of an older one: does it fit, and is it one? NULL is none. */
HF_MUST_CHECK bool hf__result_fits(const void *theirs, size_t size);
/* As much of ours as there is room for; their size stays. */
void hf__result_give(void *theirs, const void *ours);

/* Checked acquire options: HF_OK or HF_EINVAL naming the one that is not
 * valid, and the range. */
HF_MUST_CHECK int hf__options_check(const hf_acquire_opts *, hf_error *err);
/* Beside which others the options want the lock. */
struct hf__lock_mode hf__lock_mode_of(const hf_acquire_opts *);

/* ---- does it fit what the store can do? */

/* Before any I/O: what it can, and the lease that it gives where that is its
 * own, is known since the client was opened. HF_OK, and the lease is the one
 * that the grant will have; else HF_ENOTSUP naming the option and what to do
 * instead. */
HF_MUST_CHECK int hf__options_check_caps(struct hf_client *, hf_acquire_opts *,
                                         hf_error *err);
/* Can a grant be taken over by its token? HF_OK or HF_ENOTSUP. */
HF_MUST_CHECK int hf__options_check_adoption(const struct hf_client *,
                                             hf_error *err);

/* ---- who asks, for people */

/* If opts->owner has fields: fill them in, once for all names of the attempt,
 * into label, to which opts->owner then points. HF_OK or HF_EINVAL. */
HF_MUST_CHECK int hf__owner_fill(hf_acquire_opts *opts,
                                 char label[HF_NOTE_MAX + 1], hf_error *err);
/* All that a store keeps of who asks; a label of NULL is the program's name. */
void hf__owner_set(const struct hf_client *, const char *label,
                   const char *note, struct hf__owner *ret_owner);
/* What a record's thread consists of: its id, 0 if there is none, and its
 * name, inside of the text. */
int64_t hf__owner_tid(const struct hf__owner *);
const char *hf__owner_thread(const struct hf__owner *);

#endif
