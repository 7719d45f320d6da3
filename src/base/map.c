/* SPDX-License-Identifier: MIT */
/*
 * The hash table: chains of links that live in the elements. It doubles when
 * there are as many elements as chains; if there is no memory for that, it goes
 * on with longer chains. The caller provides the locking.
 */
#include "src/base/map.h"

#include "src/base/alloc.h"

#include <string.h>

enum { FIRST_SIZE = 16 };

uint64_t hf__hash(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static struct hf__map_link **chain(const struct hf__map *m, uint64_t hash)
{
    return &m->buckets[hash & (m->n_buckets - 1)];
}

int hf__map_init(struct hf__map *m)
{
    m->count = 0;
    m->n_buckets = FIRST_SIZE;
    m->buckets = hf__alloc(FIRST_SIZE * sizeof *m->buckets);
    return m->buckets != NULL ? HF_OK : HF_ENOMEM;
}

void hf__map_fini(struct hf__map *m)
{
    hf__free(m->buckets);
    *m = (struct hf__map){0};
}

struct hf__map_link *hf__map_find(const struct hf__map *m, const char *key,
                                  size_t length)
{
    uint64_t hash = hf__hash(key, length);
    struct hf__map_link *link = *chain(m, hash);

    while (link != NULL && (link->hash != hash || link->length != length ||
                            memcmp(link->key, key, length) != 0)) {
        link = link->next;
    }
    return link;
}

static void put(struct hf__map *m, struct hf__map_link *link)
{
    struct hf__map_link **first = chain(m, link->hash);

    link->next = *first;
    *first = link;
}

static void grow(struct hf__map *m)
{
    struct hf__map old = *m;
    struct hf__map_link **buckets =
        hf__alloc(2 * old.n_buckets * sizeof *buckets);

    if (buckets == NULL) {
        return;
    }
    m->buckets = buckets;
    m->n_buckets = 2 * old.n_buckets;
    for (size_t i = 0; i < old.n_buckets; i++) {
        struct hf__map_link *link = old.buckets[i];

        while (link != NULL) {
            struct hf__map_link *next = link->next;
            put(m, link);
            link = next;
        }
    }
    hf__free(old.buckets);
}

void hf__map_add(struct hf__map *m, struct hf__map_link *link, const char *key,
                 size_t length)
{
    if (m->count >= m->n_buckets) {
        grow(m);
    }
    link->key = key;
    link->length = length;
    link->hash = hf__hash(key, length);
    put(m, link);
    m->count++;
}

void hf__map_remove(struct hf__map *m, struct hf__map_link *link)
{
    struct hf__map_link **at = chain(m, link->hash);

    while (*at != link) {
        HF_ASSERT(*at != NULL); /* else link is not in this map */
        at = &(*at)->next;
    }
    *at = link->next;
    link->next = NULL;
    m->count--;
}

struct hf__map_link *hf__map_any(const struct hf__map *m)
{
    for (size_t i = 0; m->count > 0 && i < m->n_buckets; i++) {
        if (m->buckets[i] != NULL) {
            return m->buckets[i];
        }
    }
    return NULL;
}

void hf__map_each(const struct hf__map *m,
                  void (*fn)(void *arg, struct hf__map_link *), void *arg)
{
    for (size_t i = 0; i < m->n_buckets; i++) {
        struct hf__map_link *link = m->buckets[i];

        while (link != NULL) {
            struct hf__map_link *next = link->next;

            fn(arg, link);
            link = next;
        }
    }
}
