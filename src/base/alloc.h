/* SPDX-License-Identifier: MIT */
/*
 * All allocations go through here. Every allocation may fail, and its caller
 * then returns HF_ENOMEM; hf__free() never fails, so a lock can always be
 * released. Thread: any.
 */
#ifndef HF_BASE_ALLOC_H
#define HF_BASE_ALLOC_H

#include "src/base/base.h"

/* Zeroed memory, or NULL. */
HF_MODULE_API HF_MUST_CHECK void *hf__alloc(size_t size);
/* Works as realloc(): new bytes are not zeroed. */
HF_MODULE_API HF_MUST_CHECK void *hf__resize(void *p, size_t size);
HF_MUST_CHECK char *hf__strdup(const char *text);
HF_MUST_CHECK char *hf__strndup(const char *text, size_t length);
/* Takes NULL. */
HF_MODULE_API void hf__free(void *p);
/* Cleanup for a char * local: HF_AUTO(hf__free_auto) char *text. */
void hf__free_auto(void *p);

/* Allocates and frees one byte, so that the allocator does now what it does at
 * its first call. It may still be replaced afterwards. */
void hf__alloc_wake(void);
/* Implements hf_set_allocator(): HF_OK, HF_EINVAL (a NULL function), or
 * HF_CONFLICT once anything was allocated. release(NULL) is never called. */
HF_MUST_CHECK int hf__alloc_replace(void *(*resize)(void *, size_t),
                                    void (*release)(void *));

#endif
