/* SPDX-License-Identifier: MIT */
/*
 * What the acquiring calls share: arguments are checked before any I/O.
 */
#ifndef HF_CORE_API_H
#define HF_CORE_API_H

#include "src/core/client.h"
#include "src/core/lock.h"

/* Check the client, the name and the options, and copy the options given over
 * those in ret_opts: HF_OK, HF_EINVAL, HF_ENOTSUP or HF_EFORK. An owner_id of 0
 * stays 0. */
HF_MUST_CHECK int hf__acquire_check(hf_client *, const char *name,
                                    const hf_acquire_opts *given,
                                    hf_acquire_opts *ret_opts, hf_error *err);

/*
 * HF_OK: the lock now shares the owner's grant. HF_BUSY: this owner does not
 * have the name, so ask the store. Anything else is the caller's result:
 * HF_DEADLOCK, HF_LOST.
 */
HF_MUST_CHECK int hf__reenter(struct hf_client *, const char *name,
                              const hf_acquire_opts *, struct hf_lock *,
                              hf_error *err);

#endif
