/* SPDX-License-Identifier: MIT */
/*
 * A store as a whole: going through all records to list those that are held,
 * or to delete those that nobody uses; and what it is worth. Called by the
 * session's thread.
 */
#include "src/backend/memory/store.h"
#include "src/backend/report.h"

#include "src/base/alloc.h"
#include "src/base/error.h"

#include <stdlib.h>
#include <string.h>

/* ---- listing */

struct listed {
    char key[HF__KEY_MAX];
    size_t length;
    size_t at; /* those of one name stay in their order */
    struct hf__record record;
};

struct listing {
    const struct hf__key *prefix;
    hf__time now;
    struct listed *found; /* NULL: only count */
    size_t count;
};

static void add_grant(struct listing *l, const struct hf__mem_entry *e,
                      const struct hf__mem_grant *g)
{
    if (l->found != NULL) {
        struct listed *at = &l->found[l->count];
        memcpy(at->key, e->key, e->length);
        at->length = e->length;
        at->at = l->count;
        hf__mem_describe_grant(g, l->now, &at->record);
    }
    l->count++;
}

static void add_to_listing(void *arg, struct hf__map_link *link)
{
    const struct hf__mem_entry *e =
        HF__ELEMENT(link, struct hf__mem_entry, link);
    struct listing *l = arg;

    if (e->length < l->prefix->length ||
        memcmp(e->key, l->prefix->bytes, l->prefix->length) != 0) {
        return;
    }
    HF__LIST_EACH (at, &e->grants) {
        if (hf__mem_runs(HF__MEM_GRANT(at), l->now)) {
            add_grant(l, e, HF__MEM_GRANT(at));
        }
    }
}

static int compare_listed(const void *a, const void *b)
{
    const struct listed *x = a;
    const struct listed *y = b;
    int order =
        hf__key_compare(&(struct hf__key){x->key, (uint16_t)x->length, 0},
                        &(struct hf__key){y->key, (uint16_t)y->length, 0});

    return order != 0 ? order : (x->at > y->at) - (x->at < y->at);
}

/* A picture taken in one step: the callback runs without the mutex, so that
 * it may use the store. */
static int take_listing(struct hf__mem_store *store, struct listing *l)
{
    HF_SCOPED_FAMILY(&hf__mem_stores);
    hf__map_each(&store->entries, add_to_listing, l);
    l->found = hf__alloc((l->count + 1) * sizeof *l->found);
    if (l->found == NULL) {
        return HF_ENOMEM;
    }
    l->count = 0;
    hf__map_each(&store->entries, add_to_listing, l);
    return HF_OK;
}

int hf__mem_list(void *s, const struct hf__key *prefix, hf__list_fn fn,
                 void *arg, hf__time deadline, hf_error *err)
{
    struct listing l = {.prefix = prefix, .now = hf__now()};

    (void)deadline;
    if (take_listing(((struct hf__mem_session *)s)->store, &l) != HF_OK) {
        return hf__fail(err, HF_ENOMEM, "out of memory for the list");
    }
    qsort(l.found, l.count, sizeof *l.found, compare_listed);
    for (size_t i = 0; i < l.count; i++) {
        struct listed *at = &l.found[i];
        if (fn(arg, at->key + prefix->name_at, at->length - prefix->name_at,
               &at->record) != 0) {
            break;
        }
    }
    hf__free(l.found);
    return HF_OK;
}

/* ---- cleaning */

struct sweep {
    struct hf__mem_store *store;
    const struct hf__key *prefix;
    hf__time now;
    struct hf__gc *gc;
};

static bool is_idle(struct hf__mem_entry *e, const struct sweep *w)
{
    hf__time since = e->touched;

    hf__mem_drop_forgotten(e, w->now);
    HF__LIST_EACH (link, &e->grants) {
        since = hf__later(since, HF__MEM_GRANT(link)->is_broken
                                     ? since
                                     : hf__mem_ends(HF__MEM_GRANT(link)));
    }
    return !hf__mem_is_held(e, w->now) && !hf__mem_is_kept(e, w->now) &&
           hf__list_is_empty(&e->line) &&
           !hf__before(w->now, hf__after_us(since, w->gc->idle_us)) &&
           (int64_t)e->fence < hf__wall_us();
}

static void sweep_one(void *arg, struct hf__map_link *link)
{
    struct hf__mem_entry *e = HF__ELEMENT(link, struct hf__mem_entry, link);
    struct sweep *w = arg;

    if (e->length >= w->prefix->length &&
        memcmp(e->key, w->prefix->bytes, w->prefix->length) == 0 &&
        is_idle(e, w)) {
        w->gc->expired += hf__mem_drop_ended(e, w->now);
        hf__mem_remove(w->store, e);
        w->gc->count++;
    }
}

/* All in one step: there is nothing to wait for. */
int hf__mem_gc(void *s, const struct hf__key *prefix, struct hf__gc *g,
               hf__time deadline, hf_error *err)
{
    struct sweep w = {((struct hf__mem_session *)s)->store, prefix, hf__now(),
                      g};

    (void)deadline;
    (void)err;
    HF_SCOPED_FAMILY(&hf__mem_stores);
    hf__map_each(&w.store->entries, sweep_one, &w);
    g->length = 0;
    return HF_OK;
}

/* ---- its worth */

int hf__mem_check(void *s, hf__check_fn fn, void *arg, hf__time deadline,
                  hf_error *err)
{
    struct hf__report to = {.fn = fn, .arg = arg};

    (void)s;
    (void)deadline;
    (void)err;
    hf__report_say(&to, "durability", "none (memory)",
                   "the locks end with this process; use sqlite:PATH for locks "
                   "between processes");
    return HF_OK;
}
