/* SPDX-License-Identifier: MIT */
/*
 * The changes that a decision may make to a name in memory, and its results.
 * Called by the session's thread.
 */
#include "src/backend/name/decision.h"

#include "src/base/error.h"

/* ---- changes */

void hf__decision_mark(struct hf__decision *d, struct hf__participant *m,
                       unsigned marks)
{
    m->marks |= marks;
    d->out->is_changed = true;
}

void hf__decision_mark_name(struct hf__decision *d, unsigned marks)
{
    d->name->marks |= marks;
    d->out->is_changed = true;
}

void hf__decision_drop(struct hf__decision *d, struct hf__participant *m)
{
    if (m != NULL) {
        hf__decision_mark(d, m, HF__MARK_GONE);
    }
}

void hf__decision_touch(struct hf__decision *d)
{
    d->name->touched_us = d->name->wall_us;
    hf__decision_mark_name(d, HF__MARK_TOUCHED);
}

void hf__decision_keep(struct hf__decision *d, int64_t for_us)
{
    d->name->keep_until_us = for_us > 0 ? d->name->now_us + for_us : 0;
    hf__decision_mark_name(d, HF__MARK_KEEP);
}

void hf__decision_prolong(struct hf__decision *d, struct hf__participant *g)
{
    /* 1 more, since now_us is rounded down. */
    g->ends_us = d->rules->ends_with_life
                     ? INT64_MAX
                     : d->name->now_us + 1 + d->op->lease_us;
    g->state = HF__PARTICIPANT_RUNNING;
    hf__decision_mark(d, g, HF__MARK_LEASE);
}

void hf__decision_bind(struct hf__decision *d, struct hf__participant *g,
                       bool is_detached)
{
    g->is_detached = is_detached && !d->rules->ends_with_life;
    g->life = g->is_detached ? 0 : d->rules->life;
}

void hf__decision_raise(struct hf__decision *d)
{
    d->name->fence = hf__fence_after(d->name->fence, d->name->fence_floor);
    hf__decision_mark_name(d, HF__MARK_FENCE);
}

/* The grant is over. One that was broken stays until its lease would have
 * ended, so that its holder can learn of the break. */
static bool is_over(const struct hf__name *name,
                    const struct hf__participant *g)
{
    return g->state == HF__PARTICIPANT_ENDED ||
           g->state == HF__PARTICIPANT_DEAD ||
           (g->state == HF__PARTICIPANT_BROKEN && g->ends_us <= name->now_us);
}

static void clear_grants(struct hf__decision *d, const struct hf__token *token)
{
    for (int i = 0; i < d->name->grants.n; i++) {
        struct hf__participant *g = d->name->grants.list[i];
        bool is_own = hf__token_equal(&g->token, token);

        if (is_own || is_over(d->name, g)) {
            d->out->took_over |= !is_own && g->state != HF__PARTICIPANT_BROKEN;
            hf__decision_drop(d, g);
        }
    }
}

void hf__decision_grant(struct hf__decision *d, const struct hf__token *token,
                        struct hf__lock_mode lock_mode, int slot)
{
    struct hf__participant *g = hf__participants_add(&d->name->grants, slot);

    if (g == NULL) {
        hf__decision_fail_memory(d);
        return;
    }
    clear_grants(d, token);
    hf__decision_drop(d, hf__participants_find(&d->name->waiters, token));
    d->name->is_there = true;
    hf__decision_raise(d);
    g->token = *token;
    g->lock_mode = lock_mode;
    g->fence = d->name->fence;
    g->since_us = d->name->wall_us;
    g->holder_lives = -1;
    g->owner = *d->op->owner;
    hf__decision_bind(d, g, d->op->is_detached);
    hf__decision_prolong(d, g);
    g->marks = HF__MARK_NEW;
    hf__decision_keep(d, d->op->keep_us);
    hf__decision_touch(d);
    d->out->fence = g->fence;
    d->out->slot = slot;
    d->out->is_taken = true;
    hf__decision_finish(d, HF_OK);
}

/* ---- results */

void hf__decision_finish(struct hf__decision *d, int result)
{
    d->out->result = result;
}

void hf__decision_fail_memory(struct hf__decision *d)
{
    hf__decision_finish(
        d, hf__fail(d->op->err, HF_ENOMEM, "out of memory for a lock"));
}

bool hf__decision_is_damaged(struct hf__decision *d,
                             const struct hf__participant *m)
{
    if (d->name->is_damaged ||
        (m != NULL && m->state == HF__PARTICIPANT_DAMAGED)) {
        hf__decision_finish(
            d, hf__fail(d->op->err, HF_EPROTO, "%s", d->rules->damaged));
        return true;
    }
    return false;
}

bool hf__decision_is_foreign(struct hf__decision *d,
                             const struct hf__participant *m)
{
    if (m != NULL && m->state == HF__PARTICIPANT_FOREIGN) {
        hf__decision_finish(
            d, hf__fail(d->op->err, HF_EUNSAFE, "%s", d->rules->foreign));
        return true;
    }
    return false;
}

static hf_reason reason_of(const struct hf__decision *d,
                           const struct hf__participant *g)
{
    if (g == NULL) {
        return hf__reason_for(d->op->fence, d->name->fence, d->name->broken);
    }
    if (g->state == HF__PARTICIPANT_BROKEN) {
        return HF_REASON_BROKEN;
    }
    return d->rules->ends_with_life ? HF_REASON_SESSION : HF_REASON_EXPIRED;
}

void hf__decision_lose(struct hf__decision *d,
                       const struct hf__participant *own)
{
    if (hf__decision_is_damaged(d, own) || hf__decision_is_foreign(d, own)) {
        return;
    }
    hf__name_tell(d->name, d->op->ret_record);
    d->out->reason = reason_of(d, own);
    d->out->fence = d->name->fence;
    hf__decision_finish(d, HF_LOST);
}

bool hf__decision_runs(const struct hf__decision *d,
                       const struct hf__participant *own)
{
    return own != NULL && hf__participant_runs(own) &&
           (!d->rules->ends_with_life || own->life == d->rules->life);
}
