/* SPDX-License-Identifier: MIT */
/*
 * Waiting on memory:. Sleeping is by one parker for each store: whoever
 * changes a record wakes all, and all look again. This file decides what
 * ends a wait. Called by the session's thread.
 */
#include "src/backend/memory/store.h"

/* Who waits in line, or behind one, also wakes when nobody has told it: that
 * its own ticket stays fresh, and because others' grow stale. */
static bool may_enter(struct hf__mem_store *store,
                      const struct hf__mem_entry *e, const struct hf__watch *w,
                      hf__time now)
{
    struct hf__stands stands;
    enum hf__entry entry = HF__ENTRY_OPEN;
    int slot = -1;

    if (hf__mem_is_kept(e, now)) {
        return false;
    }
    if (hf__mem_stands(store, e, now, &stands) != HF_OK) {
        return true; /* it finds out when it asks */
    }
    entry = hf__may_enter(&stands, &w->ticket, w->manner, &slot);
    return entry == HF__ENTRY_OPEN || entry == HF__ENTRY_MISFIT;
}

/* Is the record another one than the watch saw? */
static bool is_other(const struct hf__mem_entry *e, const struct hf__watch *w,
                     hf__time now)
{
    struct hf__record record;

    hf__mem_describe(e, now, &record);
    return record.fence != w->fence ||
           !hf__token_equal(&record.token, &w->token);
}

/* Should the waiter ask again? If not, *next is no later than the point at
 * which it may have to. */
static bool look_for(struct hf__mem_store *store, const struct hf__watch *w,
                     hf__time now, hf__time *next)
{
    struct hf__mem_entry *e = hf__mem_find(store, &w->key);
    bool has_ticket = !hf__token_is_zero(&w->ticket);
    struct hf__mem_ticket *ticket = NULL;

    if (e == NULL) {
        return true;
    }
    HF__LIST_EACH (link, &e->grants) {
        if (hf__mem_runs(HF__MEM_GRANT(link), now)) {
            *next = hf__earlier(*next, hf__mem_ends(HF__MEM_GRANT(link)));
        }
    }
    if (hf__mem_is_kept(e, now)) {
        *next = hf__earlier(*next, e->keep_end);
    }
    if (!hf__list_is_empty(&e->line)) {
        *next = hf__earlier(*next, hf__after_ms(now, HF__TICKET_LOOK_MS));
    }
    if (!has_ticket) {
        return is_other(e, w, now) || may_enter(store, e, w, now);
    }
    ticket = hf__mem_ticket_of(e, &w->ticket);
    if (ticket == NULL) {
        return true; /* it has to queue anew */
    }
    ticket->seen = now;
    return may_enter(store, e, w, now);
}

static bool look(struct hf__mem_store *store, struct hf__watch *w[], int n,
                 hf__time *next)
{
    HF_SCOPED_FAMILY(&hf__mem_stores);
    hf__time now = hf__now();
    bool has_fired = false;

    for (int i = 0; i < n; i++) {
        w[i]->has_fired = look_for(store, w[i], now, next);
        has_fired |= w[i]->has_fired;
    }
    return has_fired;
}

int hf__mem_wait(void *state, struct hf__watch *w[], int n, hf__time deadline,
                 hf_error *err)
{
    struct hf__mem_session *s = state;
    struct hf__mem_store *store = s->store;

    (void)err;
    for (;;) {
        /* Arm first, then look: a change in between ends the sleep. */
        unsigned seen = hf__parker_seen(&store->changed);
        hf__time next = deadline;

        if (look(store, w, n, &next) || hf__is_interrupted(&s->head) ||
            !hf__before(hf__now(), deadline)) {
            return HF_OK;
        }
        hf__park(&store->changed, seen, next);
    }
}
