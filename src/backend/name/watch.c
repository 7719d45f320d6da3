/* SPDX-License-Identifier: MIT */
/*
 * Decides whether a waiter is to be woken. Called by the session's thread.
 */
#include "src/backend/name/decide.h"

static bool may_enter(const struct hf__name *name, const struct hf__watch *w)
{
    struct hf__contenders contenders;
    enum hf__entry entry = HF__ENTRY_OPEN; /* if memory is short, let it ask */
    int slot = -1;

    if (hf__name_is_kept(name)) {
        return false;
    }
    if (hf__contenders_make(&contenders, name, &w->ticket) == HF_OK) {
        entry = hf__may_enter(&contenders.all, &w->ticket, w->lock_mode, &slot);
    }
    hf__contenders_free(&contenders);
    return entry == HF__ENTRY_OPEN || entry == HF__ENTRY_MISFIT;
}

/* Was the name granted since the watch saw it, or does another grant end first
 * than it saw? */
static bool is_other(const struct hf__name *name, const struct hf__watch *w)
{
    static const struct hf__token nobody;
    const struct hf__participant *g = hf__name_first_to_end(name);

    return name->fence != w->fence ||
           !hf__token_equal(g == NULL ? &nobody : &g->token, &w->token);
}

enum hf__firing hf__watch_fires(const struct hf__name *name,
                                const struct hf__watch *w, bool with_news,
                                int64_t *next_us)
{
    bool has_ticket = !hf__token_is_zero(&w->ticket);
    int64_t next = INT64_MAX;

    *next_us = INT64_MAX;
    if (!name->is_there && name->grants.n == 0) {
        return HF__FIRES_TO_ENTER;
    }
    for (int i = 0; i < name->grants.n; i++) {
        const struct hf__participant *g = name->grants.list[i];

        next = hf__participant_runs(g) && g->ends_us < next ? g->ends_us : next;
    }
    if (hf__name_is_kept(name) && name->keep_until_us < next) {
        next = name->keep_until_us;
    }
    /* A waiter in the queue, or behind one, also looks when nobody wakes it: to
     * keep its own ticket fresh, and because those of others may become
     * stale. */
    if (name->waiters.n > 0) {
        int64_t look = name->now_us + HF__TICKET_LOOK_MS * INT64_C(1000);

        next = look < next ? look : next;
    }
    *next_us = next;
    if (has_ticket &&
        hf__participants_find(&name->waiters, &w->ticket) == NULL) {
        return HF__FIRES_FOR_NEWS; /* it must join the queue again */
    }
    if (may_enter(name, w)) {
        return HF__FIRES_TO_ENTER;
    }
    return !has_ticket && with_news && is_other(name, w) ? HF__FIRES_FOR_NEWS
                                                         : HF__FIRES_NOT;
}
