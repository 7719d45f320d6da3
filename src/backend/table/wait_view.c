/* SPDX-License-Identifier: MIT */
/*
 * Judges a name that was read for a waiter. The engine says whether the waiter
 * may enter; this file says whom it waits for. A waiter in the queue watches
 * the ticket before its own, for until that is gone its turn has not come. Only
 * the first watches the grants, so that a hand-over wakes one. Called by the
 * session's thread.
 */
#include "src/backend/table/wait_view.h"

#include "src/backend/name/decide.h"

struct view {
    const struct hf__name *name;
    const struct hf__watch *watch;
    struct hf__wait_view *out;
    struct hf__contenders contenders; /* grants and tickets that count */
    bool is_damaged;
};

/* ---- the queue */

static const struct hf__participant *find(const struct hf__participants *in,
                                          const struct hf__token *token)
{
    return hf__participants_find(in, token);
}

/* The position of its own ticket among those that count; −1: it is not
 * there. */
static int position_of(const struct view *v)
{
    const struct hf__holders_waiters *s = &v->contenders.all;

    for (int i = 0; i < s->n_waiters; i++) {
        if (hf__token_equal(&s->waiters[i].token, &v->watch->ticket)) {
            return i;
        }
    }
    return -1;
}

/* The ticket that the waiter waits for: the one before its own. If it wants a
 * shared lock, or has no ticket, it is the last ticket that it is not
 * compatible with. −1: none. */
static int ticket_before(const struct view *v)
{
    const struct hf__holders_waiters *s = &v->contenders.all;
    int own = position_of(v);
    int last = own >= 0 ? own - 1 : s->n_waiters - 1;

    if (own >= 0 && v->watch->lock_mode.mode != HF__MODE_SHARED) {
        return last;
    }
    for (int i = last; i >= 0; i--) {
        if (!hf__lock_modes_compatible(s->waiters[i].lock_mode,
                                       v->watch->lock_mode)) {
            return i;
        }
    }
    return -1;
}

/* ---- the grants */

/* Of the running grants that may be in the claim's way, give the one that ends
 * first. One of a slot may be, even if the claim wants a slot, too. */
static const struct hf__participant *first_in_way(const struct view *v)
{
    const struct hf__participants *grants = &v->name->grants;
    const struct hf__participant *first = NULL;

    for (int i = 0; i < grants->n; i++) {
        const struct hf__participant *g = grants->list[i];
        bool is_in_way =
            hf__participant_runs(g) &&
            (g->lock_mode.mode != HF__MODE_SHARED ||
             !hf__lock_modes_compatible(g->lock_mode, v->watch->lock_mode));

        if (is_in_way && (first == NULL || g->ends_us < first->ends_us)) {
            first = g;
        }
    }
    return first;
}

static bool is_news(const struct view *v)
{
    const struct hf__watch *watch = v->watch;
    const struct hf__participant *seen = find(&v->name->grants, &watch->token);

    return hf__token_is_zero(&watch->ticket) &&
           (v->name->fence != watch->fence ||
            (!hf__token_is_zero(&watch->token) &&
             (seen == NULL || !hf__participant_runs(seen))));
}

/* Is anything damaged that the claim will find damaged too? If the record tells
 * of no others, damaged rows beside it may be left-overs that the claim
 * ignores. */
static bool is_any_damaged(const struct hf__table_name *n)
{
    const struct hf__participants *grants = &n->name.grants;
    bool is_any = false;

    for (int i = 0; i < grants->n; i++) {
        is_any |= grants->list[i]->state == HF__PARTICIPANT_DAMAGED;
    }
    return n->name.is_damaged || (is_any && n->crowd != 0);
}

/* Would a claim that asks again join the queue? */
static bool wants_ticket(const struct view *v)
{
    const struct hf__op op = {.queueing = HF__QUEUE_BEHIND_SHARED,
                              .lock_mode = v->watch->lock_mode};

    return !hf__name_is_had_alone(v->name) &&
           hf__leaves_ticket(&v->contenders.all, &op);
}

/* ---- all of it */

/* When this clock reading comes; limited, as a damaged row may say anything. */
static hf__time point_of(const struct hf__name *name, int64_t at_us)
{
    const int64_t day_us = INT64_C(86400) * 1000000;
    int64_t us = at_us - name->now_us;

    us = us < 0 ? 0 : us < day_us ? us : day_us;
    return hf__after_ns(hf__now(), us * 1000);
}

static void wait_for_grant(struct view *v)
{
    const struct hf__participant *g = first_in_way(v);
    struct hf__wait_view *out = v->out;

    if (g != NULL) {
        out->wake_lock = g->token;
        out->is_held = g->life != 0;
        out->due = point_of(v->name, g->ends_us);
    } else if (hf__name_is_kept(v->name)) {
        out->due = point_of(v->name, v->name->keep_until_us);
    }
    out->wants_looks = v->watch->lock_mode.mode == HF__MODE_SLOTS &&
                       v->name->grants.n > 0 && !hf__name_is_had_alone(v->name);
}

static void judge(struct view *v)
{
    struct hf__wait_view *out = v->out;
    int64_t next_us;
    int before;

    out->fence = v->name->fence;
    out->is_over = v->is_damaged || hf__watch_fires(v->name, v->watch, false,
                                                    &next_us) != HF__FIRES_NOT;
    out->is_news = is_news(v);
    out->has_holders_waiters = wants_ticket(v);
    before = ticket_before(v);
    if (before < 0) {
        wait_for_grant(v);
        return;
    }
    /* The first in the queue handles the end of a lease. */
    out->wake_lock = v->contenders.all.waiters[before].token;
    out->is_ticket = true;
    out->is_held = find(&v->name->waiters, &out->wake_lock)->life != 0;
}

int hf__wait_view_make(const struct hf__table_name *name,
                       const struct hf__watch *watch,
                       struct hf__wait_view *ret_view)
{
    struct view v = {.name = &name->name,
                     .watch = watch,
                     .out = ret_view,
                     .is_damaged = is_any_damaged(name)};
    int r;

    *ret_view = (struct hf__wait_view){.due = HF__NEVER};
    r = hf__contenders_make(&v.contenders, v.name, &watch->ticket);
    if (r == HF_OK) {
        judge(&v);
    }
    hf__contenders_free(&v.contenders);
    return r;
}
