/* SPDX-License-Identifier: MIT */
/*
 * Random bytes from the kernel, drawn in blocks and never shared with a
 * forked child: a token must not repeat. Thread: any.
 */
#ifndef HF_BASE_RAND_H
#define HF_BASE_RAND_H

#include "src/base/base.h"

/* Bytes fit for secrets. It cannot fail: getrandom() on Linux ≥ 5.4 doesn't. */
HF_MODULE_API void hf__random(void *bytes, size_t size);

/* A number drawn evenly from [low, high]; for jitter. */
HF_MODULE_API int64_t hf__random_between(int64_t low, int64_t high);

/* The calling thread's own number: random, not 0, the same at each call. */
uint64_t hf__random_of_thread(void);

#endif
