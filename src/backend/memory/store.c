/* SPDX-License-Identifier: MIT */
/*
 * The stores of memory: and their records: finding them, making them, and
 * forgetting them once nothing in them can matter any more. What an operation
 * does to a record is memory.c's. Thread: any, under the
 * mutex of hf__mem_stores.
 */
#include "src/backend/memory/store.h"

#include "src/base/alloc.h"

#include <string.h>

struct hf__family hf__mem_stores;

hf__time hf__mem_ends(const struct hf__mem_grant *g)
{
    return g->life == NULL ? g->lease_end : hf__mem_life_end(g->life);
}

bool hf__mem_runs(const struct hf__mem_grant *g, hf__time now)
{
    return !g->is_broken && hf__before(now, hf__mem_ends(g));
}

/* Of those that run, the one whose lease ends first; NULL if none does. */
static const struct hf__mem_grant *first_to_end(const struct hf__mem_entry *e,
                                                hf__time now)
{
    const struct hf__mem_grant *first = NULL;

    HF__LIST_EACH (link, &e->grants) {
        const struct hf__mem_grant *g = HF__MEM_GRANT(link);

        if (hf__mem_runs(g, now) &&
            (first == NULL ||
             hf__before(hf__mem_ends(g), hf__mem_ends(first)))) {
            first = g;
        }
    }
    return first;
}

bool hf__mem_is_held(const struct hf__mem_entry *e, hf__time now)
{
    return first_to_end(e, now) != NULL;
}

bool hf__mem_is_kept(const struct hf__mem_entry *e, hf__time now)
{
    return hf__before(now, e->keep_end) && !hf__mem_is_held(e, now);
}

bool hf__mem_waits(const struct hf__mem_ticket *t, hf__time now)
{
    return hf__before(now, t->life != NULL
                               ? hf__mem_life_end(t->life)
                               : hf__after_ms(t->seen, HF__TICKET_PATIENCE_MS));
}

bool hf__mem_is_awaited(const struct hf__mem_entry *e, hf__time now)
{
    HF__LIST_EACH (link, &e->line) {
        if (hf__mem_waits(HF__MEM_TICKET(link), now)) {
            return true;
        }
    }
    return false;
}

struct hf__mem_entry *hf__mem_find(struct hf__mem_store *store,
                                   const struct hf__key *key)
{
    struct hf__map_link *link =
        hf__map_find(&store->entries, key->bytes, key->length);

    return link == NULL ? NULL : HF__ELEMENT(link, struct hf__mem_entry, link);
}

struct hf__mem_entry *hf__mem_add(struct hf__mem_store *store,
                                  const struct hf__key *key)
{
    struct hf__mem_entry *e = hf__alloc(sizeof *e);

    if (e != NULL) {
        e->length = key->length;
        memcpy(e->key, key->bytes, key->length);
        hf__list_init(&e->grants);
        hf__list_init(&e->line);
        hf__map_add(&store->entries, &e->link, e->key, e->length);
    }
    return e;
}

void hf__mem_describe_grant(const struct hf__mem_grant *g, hf__time now,
                            struct hf__record *ret_record)
{
    *ret_record = (struct hf__record){
        .is_held = true,
        .manner = g->manner,
        .slot = g->slot,
        .holder_lives = -1,
        .fence = g->fence,
        .token = g->token,
        .remaining_us =
            g->life != NULL ? -1 : hf__between_ns(now, g->lease_end) / 1000,
        .acquired_us = g->acquired_us,
        .owner = g->owner,
    };
}

void hf__mem_describe(const struct hf__mem_entry *e, hf__time now,
                      struct hf__record *ret_record)
{
    const struct hf__mem_grant *g = e == NULL ? NULL : first_to_end(e, now);

    if (ret_record == NULL) {
        return;
    }
    *ret_record = (struct hf__record){.holder_lives = -1, .slot = -1};
    if (e == NULL) {
        return;
    }
    if (g != NULL) {
        hf__mem_describe_grant(g, now, ret_record);
    } else if (hf__mem_is_kept(e, now)) {
        ret_record->is_kept = true;
        ret_record->remaining_us = hf__between_ns(now, e->keep_end) / 1000;
    } else {
        ret_record->is_promised = hf__mem_is_awaited(e, now);
        ret_record->remaining_us = ret_record->is_promised ? -1 : 0;
    }
    ret_record->fence = e->fence;
}

void hf__mem_remove(struct hf__mem_store *store, struct hf__mem_entry *e)
{
    hf__map_remove(&store->entries, &e->link);
    HF__LIST_EACH (link, &e->grants) {
        hf__mem_drop_grant(HF__MEM_GRANT(link));
    }
    HF__LIST_EACH (link, &e->line) {
        hf__mem_drop_ticket(HF__MEM_TICKET(link));
    }
    hf__free(e);
}

static void store_free(struct hf__mem_store *store)
{
    struct hf__map_link *link;

    while ((link = hf__map_any(&store->entries)) != NULL) {
        hf__mem_remove(store, HF__ELEMENT(link, struct hf__mem_entry, link));
    }
    hf__map_fini(&store->entries);
    hf__free(store->stands);
    hf__words_fini(&store->words);
    hf__free(store);
}

static void note_running(void *arg, struct hf__map_link *link)
{
    const struct hf__mem_entry *e =
        HF__ELEMENT(link, struct hf__mem_entry, link);
    hf__time now = hf__now();

    *(bool *)arg |= hf__mem_is_held(e, now) || hf__mem_is_kept(e, now) ||
                    hf__mem_is_awaited(e, now);
}

void hf__mem_sweep(void)
{
    HF__LIST_EACH (link, &hf__mem_stores.members) {
        struct hf__mem_store *store =
            HF__ELEMENT(link, struct hf__mem_store, link);
        bool is_needed = store->sessions > 0;

        hf__map_each(&store->entries, note_running, &is_needed);
        if (!is_needed) {
            hf__list_remove(link);
            store_free(store);
        }
    }
}

static struct hf__mem_store *store_new(const char *name)
{
    size_t length = strlen(name);
    struct hf__mem_store *store = hf__alloc(sizeof *store + length + 1);

    if (store == NULL || hf__map_init(&store->entries) != HF_OK) {
        hf__free(store);
        return NULL;
    }
    memcpy(store->name, name, length + 1);
    hf__words_own(&store->words, &store->breaks, sizeof store->breaks);
    hf__list_init(&store->lives);
    hf__list_push(&hf__mem_stores.members, &store->link);
    return store;
}

struct hf__mem_store *hf__mem_store(const char *name)
{
    HF__LIST_EACH (link, &hf__mem_stores.members) {
        struct hf__mem_store *store =
            HF__ELEMENT(link, struct hf__mem_store, link);
        if (strcmp(store->name, name) == 0) {
            return store;
        }
    }
    return store_new(name);
}
