/* SPDX-License-Identifier: MIT */
/*
 * Options structs of callers that were built against another version: `size`
 * says which fields they know.
 */
#ifndef HF_CORE_OPTIONS_H
#define HF_CORE_OPTIONS_H

#include "src/backend/backend.h"

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
struct hf__manner hf__manner_of(const hf_acquire_opts *);

#endif
