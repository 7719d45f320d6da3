/* SPDX-License-Identifier: MIT */
/*
 * Works on all names of a store: lists those that are held, deletes those that
 * nobody uses. Called by the session's thread.
 */
#include "src/backend/name/engine.h"

#include "src/base/alloc.h"
#include "src/base/error.h"

#include <stdlib.h>
#include <string.h>

static void step(void (*edge)(void *s), void *s)
{
    if (edge != NULL) {
        edge(s);
    }
}

/* ---- listing */

struct listed {
    char key[HF__KEY_MAX];
    uint16_t length;
    int at; /* keeps the order of one name's grants */
    struct hf__record record;
};

struct listing {
    struct listed *list;
    int n;
    int room;
};

static struct listed *add(struct listing *l)
{
    if (l->n == l->room) {
        int room = l->room == 0 ? 64 : 2 * l->room;
        struct listed *list = hf__resize(l->list, (size_t)room * sizeof *list);

        if (list == NULL) {
            return NULL;
        }
        l->list = list;
        l->room = room;
    }
    l->list[l->n].at = l->n;
    return &l->list[l->n++];
}

static int list_name(void *arg, const struct hf__key *key,
                     struct hf__name *name)
{
    for (int i = 0; i < name->grants.n; i++) {
        struct listed *one = NULL;

        if (!hf__participant_holds(name->grants.list[i]) ||
            hf__name_is_kept(name)) {
            continue;
        }
        one = add(arg);
        if (one == NULL) {
            return HF_ENOMEM;
        }
        memcpy(one->key, key->bytes, key->length);
        one->length = key->length;
        hf__participant_tell(name, name->grants.list[i], &one->record);
    }
    return HF_OK;
}

static int compare(const void *a, const void *b)
{
    const struct listed *x = a;
    const struct listed *y = b;
    int order = hf__key_compare(&(struct hf__key){x->key, x->length, 0},
                                &(struct hf__key){y->key, y->length, 0});

    return order != 0 ? order : x->at - y->at;
}

/* Give the list to the callback; gives whether to go on. */
static bool tell(struct listing *l, const struct hf__key *prefix,
                 hf__list_fn fn, void *arg)
{
    bool goes_on = true;

    for (int i = 0; i < l->n && goes_on; i++) {
        const struct listed *one = &l->list[i];

        goes_on = fn(arg, one->key + prefix->name_at,
                     one->length - prefix->name_at, &one->record) == 0;
    }
    l->n = 0;
    return goes_on;
}

/* The callback runs outside of a step, so that it may use the store. */
int hf__engine_list(const struct hf__primitives *p, void *s,
                    const struct hf__key *prefix, hf__list_fn fn, void *arg,
                    hf_error *err)
{
    struct listing l = {.n = 0};
    struct hf__scan scan = {.prefix = prefix, .fn = list_name, .arg = &l};
    bool goes_on = true;
    int r;

    do {
        step(p->begin, s);
        r = p->scan(s, &scan, err);
        step(p->end, s);
        if (!p->is_sorted && scan.length > 0) {
            continue; /* the first key may be in the last part */
        }
        if (r == HF_OK && !p->is_sorted && l.n > 1) {
            qsort(l.list, (size_t)l.n, sizeof *l.list, compare);
        }
        goes_on = r == HF_OK && tell(&l, prefix, fn, arg);
    } while (r == HF_OK && goes_on && scan.length > 0);
    hf__free(l.list);
    return r == HF_ENOMEM ? hf__fail(err, r, "out of memory for the list") : r;
}

/* ---- cleaning */

struct cleaning {
    const struct hf__primitives *p;
    void *session;
    struct hf__gc *gc;
};

static bool has_expired(const struct hf__name *name)
{
    for (int i = 0; i < name->grants.n; i++) {
        if (name->grants.list[i]->state == HF__PARTICIPANT_ENDED ||
            name->grants.list[i]->state == HF__PARTICIPANT_DEAD) {
            return true;
        }
    }
    return false;
}

static int clean_name(void *arg, const struct hf__key *key,
                      struct hf__name *name)
{
    struct cleaning *c = arg;
    bool is_expired = has_expired(name);

    if (hf__name_is_idle(name, c->gc->idle_us) &&
        c->p->forget(c->session, key, name, c->gc->idle_us) == HF_OK) {
        c->gc->expired += is_expired;
        c->gc->count++;
    }
    return HF_OK;
}

int hf__engine_gc(const struct hf__primitives *p, void *s,
                  const struct hf__key *prefix, struct hf__gc *g, hf_error *err)
{
    struct cleaning c = {p, s, g};
    struct hf__scan scan = {.prefix = prefix,
                            .is_to_clean = true,
                            .length = g->length,
                            .fn = clean_name,
                            .arg = &c};
    int r;

    memcpy(scan.at, g->at, g->length);

    step(p->begin, s);
    r = p->scan(s, &scan, err);
    step(p->end, s);
    memcpy(g->at, scan.at, scan.length);
    g->length = scan.length;
    return r == HF_ENOMEM ? hf__fail(err, r, "out of memory for cleaning") : r;
}
