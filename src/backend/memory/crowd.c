/* SPDX-License-Identifier: MIT */
/*
 * Those at one name of memory:, grants and tickets: finding them, dropping
 * them, and showing them to the rule by which claims enter. What an operation
 * does with them is memory.c's. Thread: any, under the
 * mutex of hf__mem_stores.
 */
#include "src/backend/memory/store.h"

#include "src/base/alloc.h"

struct hf__mem_grant *hf__mem_grant_of(const struct hf__mem_entry *e,
                                       const struct hf__token *token)
{
    HF__LIST_EACH (link, &e->grants) {
        if (hf__token_equal(&HF__MEM_GRANT(link)->token, token)) {
            return HF__MEM_GRANT(link);
        }
    }
    return NULL;
}

struct hf__mem_ticket *hf__mem_ticket_of(const struct hf__mem_entry *e,
                                         const struct hf__token *token)
{
    HF__LIST_EACH (link, &e->line) {
        if (hf__token_equal(&HF__MEM_TICKET(link)->token, token)) {
            return HF__MEM_TICKET(link);
        }
    }
    return NULL;
}

void hf__mem_put(struct hf__mem_entry *e, struct hf__mem_grant *g)
{
    struct hf__link *before = &e->grants;

    HF__LIST_EACH (link, &e->grants) {
        if (HF__MEM_GRANT(link)->slot > g->slot) {
            before = link;
            break;
        }
    }
    hf__list_push(before, &g->link); /* at the end, seen from there */
}

void hf__mem_drop_grant(struct hf__mem_grant *g)
{
    if (g != NULL) {
        hf__list_remove(&g->link);
        hf__mem_quit(g->life);
        hf__free(g);
    }
}

void hf__mem_drop_ticket(struct hf__mem_ticket *t)
{
    if (t != NULL) {
        hf__list_remove(&t->link);
        hf__mem_quit(t->life);
        hf__free(t);
    }
}

bool hf__mem_drop_ended(struct hf__mem_entry *e, hf__time now)
{
    bool has_expired = false;

    HF__LIST_EACH (link, &e->grants) {
        struct hf__mem_grant *g = HF__MEM_GRANT(link);

        if (!hf__before(now, hf__mem_ends(g))) {
            has_expired = has_expired || !g->is_broken;
            hf__mem_drop_grant(g);
        }
    }
    return has_expired;
}

void hf__mem_drop_forgotten(struct hf__mem_entry *e, hf__time now)
{
    HF__LIST_EACH (link, &e->line) {
        struct hf__mem_ticket *t = HF__MEM_TICKET(link);
        hf__time end = t->life != NULL
                           ? hf__mem_life_end(t->life)
                           : hf__after_ms(t->seen, HF__TICKET_KEEP_MS);

        if (!hf__before(now, end)) {
            hf__mem_drop_ticket(t);
        }
    }
}

/* ---- shown to the rule */

static int count_all(const struct hf__mem_entry *e)
{
    int n = 0;

    HF__LIST_EACH (link, &e->grants) {
        n++;
    }
    HF__LIST_EACH (link, &e->line) {
        n++;
    }
    return n;
}

static int make_room(struct hf__mem_store *store, int n)
{
    struct hf__stand *stands = NULL;

    if (n <= store->stands_room) {
        return HF_OK;
    }
    stands = hf__alloc(2 * (size_t)n * sizeof *stands);
    if (stands == NULL) {
        return HF_ENOMEM;
    }
    hf__free(store->stands);
    store->stands = stands;
    store->stands_room = 2 * n;
    return HF_OK;
}

int hf__mem_stands(struct hf__mem_store *store, const struct hf__mem_entry *e,
                   hf__time now, struct hf__stands *s)
{
    struct hf__stand *at = NULL;
    int r = make_room(store, count_all(e));

    *s = (struct hf__stands){.holders = store->stands};
    if (r != HF_OK) {
        return r;
    }
    at = store->stands;
    HF__LIST_EACH (link, &e->grants) {
        const struct hf__mem_grant *g = HF__MEM_GRANT(link);

        if (hf__mem_runs(g, now)) {
            *at++ = (struct hf__stand){g->token, g->manner, g->slot};
            s->n_holders++;
        }
    }
    s->line = at;
    HF__LIST_EACH (link, &e->line) {
        const struct hf__mem_ticket *t = HF__MEM_TICKET(link);

        if (hf__mem_waits(t, now)) {
            *at++ = (struct hf__stand){t->token, t->manner, -1};
            s->n_line++;
        }
    }
    return HF_OK;
}

/* ---- told to people */

int hf__mem_tell_crowd(const struct hf__mem_entry *e, hf__time now,
                       struct hf__crowd *crowd)
{
    int r = HF_OK;

    HF__LIST_EACH (link, &e->grants) {
        struct hf__party party = {0};

        if (r == HF_OK && hf__mem_runs(HF__MEM_GRANT(link), now)) {
            hf__mem_describe_grant(HF__MEM_GRANT(link), now, &party.record);
            r = hf__crowd_add(crowd, &party);
        }
    }
    HF__LIST_EACH (link, &e->line) {
        const struct hf__mem_ticket *t = HF__MEM_TICKET(link);
        struct hf__party party = {
            .is_waiting = true,
            .record = {.manner = t->manner,
                       .slot = -1,
                       .holder_lives = -1,
                       .remaining_us = -1,
                       .acquired_us = t->since_us,
                       .owner = t->owner},
        };

        if (r == HF_OK && hf__mem_waits(t, now)) {
            r = hf__crowd_add(crowd, &party);
        }
    }
    return r;
}
