/* SPDX-License-Identifier: MIT */
/*
 * An intrusive hash table from byte strings to elements. Only growing the
 * table allocates, and when that fails the table goes on with longer chains,
 * so adding cannot fail once hf__map_init() has succeeded.
 * The caller provides the locking.
 */
#ifndef HF_BASE_MAP_H
#define HF_BASE_MAP_H

#include "src/base/base.h"

struct hf__map_link {
    struct hf__map_link *next;
    uint64_t hash;
    const char *key; /* borrowed from the element */
    size_t length;
};

struct hf__map {
    struct hf__map_link **buckets;
    size_t n_buckets; /* a power of two */
    size_t count;
};

/* HF_OK or HF_ENOMEM. */
HF_MODULE_API HF_MUST_CHECK int hf__map_init(struct hf__map *);
/* Frees the table, not the elements. Takes a zeroed map. */
HF_MODULE_API void hf__map_fini(struct hf__map *);
HF_MODULE_API struct hf__map_link *hf__map_find(const struct hf__map *,
                                                const char *key, size_t length);
/* The key must not be in the map. */
HF_MODULE_API void hf__map_add(struct hf__map *, struct hf__map_link *,
                               const char *key, size_t length);
HF_MODULE_API void hf__map_remove(struct hf__map *, struct hf__map_link *);
/* Any element, for emptying a map: NULL when empty. */
HF_MODULE_API struct hf__map_link *hf__map_any(const struct hf__map *);
/* Call fn for each element; of changes to the map, fn may only remove (and
 * free) the element that it was given. */
HF_MODULE_API void hf__map_each(const struct hf__map *,
                                void (*fn)(void *arg, struct hf__map_link *),
                                void *arg);

/* FNV-1a, 64 bits; the same on every machine and in every version. */
HF_MODULE_API uint64_t hf__hash(const void *bytes, size_t length);

#endif
