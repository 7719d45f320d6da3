/* SPDX-License-Identifier: MIT */
/*
 * The options of an acquire: read them from the caller's struct, whose `size`
 * tells its version; check that the store can do what they ask; and fill in the
 * owner that a store records for people. Thread: any; the owner names the
 * calling thread.
 */
#ifndef HF_CORE_OPTIONS_H
#define HF_CORE_OPTIONS_H

#include "src/backend/backend.h"

struct hf_client;

/*
 * Copy the caller's struct over ours, which holds the defaults. Both begin with
 * a size_t size. HF_OK; HF_EINVAL for a size of 0, or for a newer struct that
 * uses fields we don't know. NULL means all defaults.
 */
HF_MUST_CHECK int hf__options_copy(void *ours, size_t size, const void *theirs,
                                   hf_error *err);

/* Check a caller's struct for a result. It begins with a size_t size too, which
 * may be that of an older version. False if the size is not valid or `theirs`
 * is NULL. */
HF_MUST_CHECK bool hf__result_fits(const void *theirs, size_t size);
/* Copy as much of ours as there is room for; their size stays. */
void hf__result_give(void *theirs, const void *ours);

/* Check acquire options: HF_OK, or HF_EINVAL naming the invalid one and its
 * range. */
HF_MUST_CHECK int hf__options_check(const hf_acquire_opts *, hf_error *err);
/* The mode, which decides beside which other grants the lock can be held. */
struct hf__lock_mode hf__lock_mode_of(const hf_acquire_opts *);

/* ---- what the store can do */

/* Check the options against the store without any I/O: its capabilities, and
 * the lease if it sets that itself, are known since the client was opened.
 * HF_OK, and opts->lease_ms is the lease that the grant will have; else
 * HF_ENOTSUP naming the option and what to do instead. */
HF_MUST_CHECK int hf__options_check_caps(struct hf_client *, hf_acquire_opts *,
                                         hf_error *err);
/* Check that a grant can be adopted by its token: HF_OK or HF_ENOTSUP. */
HF_MUST_CHECK int hf__options_check_adoption(const struct hf_client *,
                                             hf_error *err);

/* ---- the owner, for people */

/* If opts->owner has fields, fill them in and write the result to label, to
 * which opts->owner then points. This is done once for all names of an acquire.
 * HF_OK or HF_EINVAL. */
HF_MUST_CHECK int hf__owner_fill(hf_acquire_opts *opts,
                                 char label[HF_NOTE_MAX + 1], hf_error *err);
/* Fill in all that a store records of an owner; a label of NULL means the
 * program's name. */
void hf__owner_set(const struct hf_client *, const char *label,
                   const char *note, struct hf__owner *ret_owner);
/* The parts of a recorded owner's thread: its id (0: none) and its name, which
 * points into the owner. */
int64_t hf__owner_tid(const struct hf__owner *);
const char *hf__owner_thread(const struct hf__owner *);

#endif
