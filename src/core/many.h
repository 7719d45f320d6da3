/* SPDX-License-Identifier: MIT */
/*
 * Acquires all of several names, or none. All clients use the same order of
 * names, that of their stored keys, and none waits for a name while it keeps a
 * later one; so no two wait for each other.
 */
#ifndef HF_CORE_MANY_H
#define HF_CORE_MANY_H

#include "src/core/lock.h"

/* HF_OK, or HF_EINVAL for a bad n, an invalid name or one given twice. */
HF_MUST_CHECK int hf__many_check(const char *const *names, int n,
                                 hf_error *err);
/*
 * Fill the lock's parts, one for each name. On failure nothing is held, and
 * what the store may still have is given back in the background. Thread: user.
 * Blocks: as hf_acquire_many().
 */
HF_MUST_CHECK int hf__many_acquire(struct hf_client *, const char *const *names,
                                   const hf_acquire_opts *, struct hf_lock *,
                                   hf_error *err);

#endif
