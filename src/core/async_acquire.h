/* SPDX-License-Identifier: MIT */
/*
 * An asynchronous acquire under way: accepted on its caller's thread, stepped
 * on the executor's, reported on the thread that dispatches. If the lock is no
 * longer wanted by then, the grant is given back.
 */
#ifndef HF_CORE_ASYNC_ACQUIRE_H
#define HF_CORE_ASYNC_ACQUIRE_H

#include "src/core/lock.h"

struct hf__async_acquire;

/* Allocate all that the acquire needs, so that only the store's requests can
 * fail for lack of memory later. The options are checked and have an owner_id.
 * HF_OK, HF_EINVAL, HF_ENOMEM or HF_EUNAVAIL (no thread). Thread: user. */
HF_MUST_CHECK int hf__async_acquire_new(struct hf_client *, const char *name,
                                        const hf_acquire_opts *,
                                        struct hf__async_acquire **ret_acquire,
                                        hf_error *err);
/* Start it, with the same options; fn is called once. Thread: user. */
void hf__async_acquire_start(struct hf__async_acquire *,
                             const hf_acquire_opts *, hf_acquire_fn fn,
                             void *arg);

#endif
