/* SPDX-License-Identifier: MIT */
/*
 * An asynchronous acquire on its way: accepted on its caller's thread,
 * stepped on the executor's, told on the one that dispatches. What it won is
 * given back if nobody wants it any more when it is told.
 */
#ifndef HF_CORE_ASYNC_ACQUIRE_H
#define HF_CORE_ASYNC_ACQUIRE_H

#include "src/core/lock.h"

struct hf__async_acquire;

/* All that the way needs, so that nothing fails for memory but what the store
 * is asked with. The options are checked, with an owner_id. HF_OK, HF_EINVAL,
 * HF_ENOMEM or HF_EUNAVAIL (no thread). Thread: user. */
HF_MUST_CHECK int hf__async_acquire_new(struct hf_client *, const char *name,
                                        const hf_acquire_opts *,
                                        struct hf__async_acquire **ret_acquire,
                                        hf_error *err);
/* Off it goes, with the same options; fn is called once. Thread: user. */
void hf__async_acquire_start(struct hf__async_acquire *,
                             const hf_acquire_opts *, hf_acquire_fn fn,
                             void *arg);

#endif
