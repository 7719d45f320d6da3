/* SPDX-License-Identifier: MIT */
/*
 * The steps of a session's leader (session.h): take a batch from the queue and
 * run it. Only the leader calls these, so they run one at a time for a session.
 */
#ifndef HF_CORE_BATCH_H
#define HF_CORE_BATCH_H

#include "src/core/session.h"

/* Move requests that can run together from the queue to the batch: a single
 * call, or operations on different names, sorted by key. Returns how many.
 * Under the mutex. */
int hf__batch_take(struct hf__session *);
/* Open the connection unless it is open. Without the mutex. Blocks. */
HF_MUST_CHECK int hf__batch_connect(struct hf__session *, hf__time deadline,
                                    hf_error *err);
/* The call of a request that only wants the connection to be open. */
int hf__batch_nothing(struct hf__conn *, struct hf__request *,
                      hf__time deadline);
/* Run the batch of n requests, connecting first if need be, all within
 * io_timeout; every request has its result afterwards. Without the mutex.
 * Blocks. */
void hf__batch_run(struct hf__session *, int n);

#endif
