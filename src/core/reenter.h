/* SPDX-License-Identifier: MIT */
/*
 * An acquire by who has the lock already: shares it if it may, and is told so
 * instead of waiting for itself if it may not.
 */
#ifndef HF_CORE_REENTER_H
#define HF_CORE_REENTER_H

#include "src/core/hold.h"

/*
 * HF_OK: the lock is one more hold; HF_BUSY: this owner does not have it, ask
 * the store. Else what the caller is told: HF_DEADLOCK, HF_LOST.
 */
HF_MUST_CHECK int hf__reenter(struct hf_client *, const char *name,
                              const hf_acquire_opts *, struct hf_lock *,
                              hf_error *err);

#endif
