/* SPDX-License-Identifier: MIT */
/*
 * The only door to the heap. Every allocation may fail and every caller
 * returns HF_ENOMEM; hf__free() never fails, so a lock can always be let go.
 * Thread: any.
 */
#ifndef HF_BASE_ALLOC_H
#define HF_BASE_ALLOC_H

#include "src/base/base.h"

/* Zeroed memory, or NULL. */
HF_MODULE_API HF_MUST_CHECK void *hf__alloc(size_t size);
/* As realloc(); new bytes are not zeroed. */
HF_MODULE_API HF_MUST_CHECK void *hf__resize(void *p, size_t size);
HF_MUST_CHECK char *hf__strdup(const char *text);
HF_MUST_CHECK char *hf__strndup(const char *text, size_t length);
/* Takes NULL. */
HF_MODULE_API void hf__free(void *p);
/* Cleanup for a char * local: HF_AUTO(hf__free_auto) char *text. */
void hf__free_auto(void *p);

/* Calls the system's heap for the first time, if nobody has, so that it has
 * done what it does then; it may still be replaced. */
void hf__alloc_wake(void);
/* What hf_set_allocator() does: HF_OK, HF_EINVAL (a NULL function), or
 * HF_CONFLICT once anything was allocated. release(NULL) is never called. */
HF_MUST_CHECK int hf__alloc_replace(void *(*resize)(void *, size_t),
                                    void (*release)(void *));

#endif
