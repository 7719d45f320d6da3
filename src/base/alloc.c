/* SPDX-License-Identifier: MIT */
/*
 * Memory: the two functions behind every allocation, and the rule that they may
 * be replaced only while nothing is allocated (else a block would be released
 * by another allocator than its own). A replacement that comes too late is
 * refused; that no other thread runs is the caller's promise. Thread: any.
 */
#include "src/base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static void *(*resize_fn)(void *, size_t) = realloc;
static void (*release_fn)(void *) = free;
static atomic_bool is_used;

int hf__alloc_replace(void *(*resize)(void *, size_t), void (*release)(void *))
{
    if (resize == NULL || release == NULL) {
        return HF_EINVAL;
    }
    if (atomic_load(&is_used)) {
        return HF_CONFLICT;
    }
    resize_fn = resize;
    release_fn = release;
    return HF_OK;
}

void hf__alloc_wake(void)
{
    void *first = resize_fn(NULL, 1);

    if (first != NULL) {
        release_fn(first);
    }
}

void *hf__resize(void *p, size_t size)
{
    /* Read before it is written, so that the cache line stays shared. */
    if (!atomic_load_explicit(&is_used, memory_order_relaxed)) {
        atomic_store(&is_used, true);
    }
    /* realloc(p, 0) differs from system to system. */
    return resize_fn(p, size > 0 ? size : 1);
}

void *hf__alloc(size_t size)
{
    void *p = hf__resize(NULL, size);

    if (p != NULL) {
        memset(p, 0, size);
    }
    return p;
}

char *hf__strndup(const char *text, size_t length)
{
    size_t n = strnlen(text, length);
    char *copy = hf__resize(NULL, n + 1);

    if (copy != NULL) {
        memcpy(copy, text, n);
        copy[n] = '\0';
    }
    return copy;
}

char *hf__strdup(const char *text)
{
    return hf__strndup(text, strlen(text));
}

void hf__free(void *p)
{
    if (p != NULL) {
        release_fn(p);
    }
}

void hf__free_auto(void *p)
{
    /* p is the address of a pointer of some type; copied, because reading it
     * as a void * would break the aliasing rule. */
    void *block = NULL;

    memcpy(&block, p, sizeof block);
    hf__free(block);
}
