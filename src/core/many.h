/* SPDX-License-Identifier: MIT */
/*
 * All of several names, or none. Names have one order for all clients, that of
 * their stored keys, and nobody waits for a name while it keeps one that comes
 * later; so no two wait for each other.
 */
#ifndef HF_CORE_MANY_H
#define HF_CORE_MANY_H

#include "src/core/lock.h"

/* HF_OK, or HF_EINVAL: n, a name that is none, or one given twice. */
HF_MUST_CHECK int hf__many_check(const char *const *names, int n,
                                 hf_error *err);
/*
 * Fill the lock's parts, one for each of its names. Else nothing is held, and
 * what the store may think of it is settled behind the caller's back. Thread:
 * user. Blocks: as hf_acquire_many().
 */
HF_MUST_CHECK int hf__many_acquire(struct hf_client *, const char *const *names,
                                   const hf_acquire_opts *, struct hf_lock *,
                                   hf_error *err);

#endif
