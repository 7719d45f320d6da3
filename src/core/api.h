/* SPDX-License-Identifier: MIT */
/*
 * What the calls share that acquire: their arguments, checked before any I/O.
 */
#ifndef HF_CORE_API_H
#define HF_CORE_API_H

#include "src/core/client.h"
#include "src/core/lock.h"

/* The client, the name, and the options, copied over what ret_opts has: HF_OK,
 * HF_EINVAL, HF_ENOTSUP or HF_EFORK. The owner_id stays 0 if it is. */
HF_MUST_CHECK int hf__acquire_check(hf_client *, const char *name,
                                    const hf_acquire_opts *given,
                                    hf_acquire_opts *ret_opts, hf_error *err);

/*
 * HF_OK: the lock is one more lock; HF_BUSY: this owner does not have it, ask
 * the store. Else what the caller is told: HF_DEADLOCK, HF_LOST.
 */
HF_MUST_CHECK int hf__reenter(struct hf_client *, const char *name,
                              const hf_acquire_opts *, struct hf_lock *,
                              hf_error *err);

#endif
