/* SPDX-License-Identifier: MIT */
/*
 * The seven operations; backend.h is their contract. Called by the session's
 * thread.
 */
#include "src/backend/name/decision.h"

#include "src/base/error.h"

/* ---- by a claim */

static bool is_same_lock_mode(const struct hf__participant *g,
                              const struct hf__op *op)
{
    return g->lock_mode.mode == op->lock_mode.mode &&
           g->lock_mode.slots == op->lock_mode.slots;
}

/* Grant again to a claim whose first answer was lost. */
static void grant_again(struct hf__decision *d, struct hf__participant *g)
{
    g->owner = *d->op->owner;
    g->since_us = d->name->wall_us;
    hf__decision_bind(d, g, d->op->is_detached);
    hf__decision_prolong(d, g);
    hf__decision_mark(d, g, HF__MARK_OWNER);
    hf__decision_keep(d, d->op->keep_us);
    d->out->fence = g->fence;
    d->out->slot = g->slot;
    hf__decision_finish(d, HF_OK);
}

static void clear_waiters(struct hf__decision *d)
{
    for (int i = 0; i < d->name->waiters.n; i++) {
        if (d->name->waiters.list[i]->state == HF__PARTICIPANT_ENDED) {
            hf__decision_drop(d, d->name->waiters.list[i]);
        }
    }
}

static void enqueue(struct hf__decision *d,
                    const struct hf__holders_waiters *all)
{
    struct hf__participant *t =
        hf__participants_find(&d->name->waiters, &d->op->token);

    hf__name_tell(d->name, d->op->ret_record);
    if (t == NULL && hf__leaves_ticket(all, d->op)) {
        clear_waiters(d);
        t = hf__participants_add(&d->name->waiters, -1);
        if (t == NULL) {
            hf__decision_fail_memory(d);
            return;
        }
        t->token = d->op->token;
        t->lock_mode = d->op->lock_mode;
        t->life = d->rules->life;
        t->since_us = d->name->wall_us;
        t->holder_lives = -1;
        t->owner = *d->op->owner;
        hf__decision_mark(d, t, HF__MARK_NEW);
    }
    if (t != NULL) {
        t->seen_us = d->name->now_us;
        t->state = HF__PARTICIPANT_RUNNING;
        d->out->seen = t;
        d->out->is_queued = true;
    }
    hf__decision_finish(d, HF_BUSY);
}

/* Is there a holder whose lease nobody here can judge? Then that is the
 * result. */
static bool is_any_foreign(struct hf__decision *d)
{
    for (int i = 0; i < d->name->grants.n; i++) {
        const struct hf__participant *g = d->name->grants.list[i];

        if (!hf__token_equal(&g->token, &d->op->token) &&
            hf__decision_is_foreign(d, g)) {
            return true;
        }
    }
    return false;
}

static bool is_any_damaged(struct hf__decision *d)
{
    for (int i = 0; i < d->name->grants.n; i++) {
        if (hf__decision_is_damaged(d, d->name->grants.list[i])) {
            return true;
        }
    }
    return hf__decision_is_damaged(d, NULL);
}

static void enter(struct hf__decision *d, const struct hf__holders_waiters *all,
                  const struct hf__participant *own)
{
    const struct hf__op *op = d->op;
    bool is_own = own != NULL && own->state != HF__PARTICIPANT_BROKEN;
    int slot = -1;

    if (hf__name_is_kept(d->name) && !is_own) {
        enqueue(d, all);
        return;
    }
    if (hf__name_is_kept(d->name) && op->lock_mode.mode == HF__MODE_EXCLUSIVE) {
        clear_waiters(d);
        hf__decision_grant(d, &op->token, op->lock_mode, -1); /* kept for it */
        return;
    }
    switch (hf__may_enter(all, &op->token, op->lock_mode, &slot)) {
    case HF__ENTRY_OPEN:
        clear_waiters(d);
        hf__decision_grant(d, &op->token, op->lock_mode, slot);
        d->out->wakes = op->lock_mode.mode == HF__MODE_SHARED ||
                        (op->lock_mode.mode == HF__MODE_SLOTS &&
                         all->n_holders + 1 < op->lock_mode.slots);
        return;
    case HF__ENTRY_MISFIT:
        hf__decision_finish(d, hf__tell_misfit(op, slot));
        return;
    case HF__ENTRY_HELD:
        if (!is_any_foreign(d)) {
            enqueue(d, all);
        }
        return;
    case HF__ENTRY_PROMISED:
        enqueue(d, all);
        return;
    }
}

static void acquire(struct hf__decision *d, struct hf__participant *own)
{
    struct hf__contenders contenders;

    if (is_any_damaged(d)) {
        return;
    }
    if (hf__decision_runs(d, own) && is_same_lock_mode(own, d->op)) {
        grant_again(d, own);
        return;
    }
    if (hf__contenders_make(&contenders, d->name, &d->op->token) == HF_OK) {
        enter(d, &contenders.all, own);
    } else {
        hf__decision_fail_memory(d);
    }
    hf__contenders_free(&contenders);
}

/* ---- by the owner of a grant: `own`, or NULL */

static void renew(struct hf__decision *d, struct hf__participant *own)
{
    if (!hf__decision_runs(d, own) || own->is_past) {
        hf__decision_lose(d, own);
        return;
    }
    if (d->op->is_detached) {
        hf__decision_bind(d, own, true);
    }
    hf__decision_prolong(d, own);
    d->out->slot = own->slot;
    hf__decision_finish(d, HF_OK);
}

/* Release the grant. The token's ticket goes too, and so does a broken grant
 * that was left for its holder to learn of. */
static void release(struct hf__decision *d, struct hf__participant *own)
{
    struct hf__participant *ticket =
        hf__participants_find(&d->name->waiters, &d->op->token);

    if (hf__decision_is_damaged(d, NULL)) {
        return; /* people have to repair the record */
    }
    if (ticket != NULL) {
        ticket->state = HF__PARTICIPANT_ENDED; /* its claim no longer waits */
    }
    if (own != NULL && own->state != HF__PARTICIPANT_BROKEN) {
        if (d->op->reopens) {
            hf__decision_keep(d, 0);
        }
        hf__decision_touch(d);
        hf__decision_finish(d, HF_OK);
    } else {
        hf__decision_lose(d, own);
    }
    hf__decision_drop(d, own);
    hf__decision_drop(d, ticket);
    d->out->wakes =
        own != NULL || (ticket != NULL && !hf__name_is_had_alone(d->name));
}

static void hand_over(struct hf__decision *d, struct hf__participant *own)
{
    static const struct hf__lock_mode alone = {HF__MODE_EXCLUSIVE, 0};

    if (d->rules->ends_with_life) {
        hf__decision_finish(d, HF_ENOTSUP);
        return;
    }
    if (!hf__decision_runs(d, own)) {
        hf__decision_lose(d, own);
        return;
    }
    if (own->lock_mode.mode != HF__MODE_EXCLUSIVE ||
        hf__name_is_awaited(d->name, &d->op->next_token)) {
        hf__name_tell(d->name, d->op->ret_record);
        hf__decision_finish(d, HF_BUSY);
        return;
    }
    hf__decision_grant(d, &d->op->next_token, alone, -1);
    if (d->out->result == HF_OK) {
        hf__decision_drop(d, own);
        d->out->took_over = false;
    }
}

/* All fences of a name differ, even those of grants that stand side by side. */
static void raise_fence(struct hf__decision *d, struct hf__participant *own)
{
    struct hf__name *name = d->name;
    uint64_t wanted = d->op->fence;

    if (own == NULL || own->state == HF__PARTICIPANT_BROKEN ||
        own->state == HF__PARTICIPANT_DAMAGED) {
        hf__decision_lose(d, own);
        return;
    }
    if (wanted > own->fence && d->rules->ends_with_life) {
        hf__decision_finish(
            d, hf__fail(d->op->err, HF_ENOTSUP, "a session's fence stays"));
        return;
    }
    if (wanted > own->fence) {
        own->fence = wanted > name->fence ? wanted : name->fence + 1;
        name->fence = own->fence;
        hf__decision_mark(d, own, HF__MARK_FENCE);
        hf__decision_mark_name(d, HF__MARK_FENCE);
    }
    d->out->fence = own->fence;
    hf__decision_finish(d, HF_OK);
}

/* ---- by people */

static void inspect(struct hf__decision *d)
{
    hf__name_tell(d->name, d->op->ret_record);
    if (hf__decision_is_damaged(d, NULL)) {
        return;
    }
    hf__decision_finish(d, HF_OK);
    if (d->op->ret_participants != NULL) {
        d->op->ret_participants->n = 0; /* of an earlier attempt */
        if (hf__name_tell_all(d->name, d->op->ret_participants) != HF_OK) {
            hf__decision_fail_memory(d);
        }
    }
}

/* Break a grant. Its remains tell its holder; if it was exclusive, the name
 * does so too, as a store may have room for one such grant only. */
static void break_one(struct hf__decision *d, struct hf__participant *g)
{
    g->state = HF__PARTICIPANT_BROKEN;
    hf__decision_mark(d, g, HF__MARK_BROKEN);
    if (g->lock_mode.mode == HF__MODE_EXCLUSIVE) {
        d->name->broken = g->fence;
    }
}

/* Break the grants that are meant. If the name is kept, that includes the ended
 * grant that keeps it. */
static int break_meant(struct hf__decision *d, bool is_kept)
{
    const struct hf__op *op = d->op;
    int n = 0;

    for (int i = 0; i < d->name->grants.n; i++) {
        struct hf__participant *g = d->name->grants.list[i];
        bool keeps = is_kept && g->state == HF__PARTICIPANT_ENDED;

        if ((!hf__participant_holds(g) && !keeps) ||
            (op->fence != 0 && op->fence != g->fence)) {
            continue;
        }
        if (op->fence != 0 && op->ret_record != NULL && !is_kept) {
            hf__participant_tell(d->name, g, op->ret_record);
        }
        break_one(d, g);
        n++;
    }
    return n;
}

static void break_grant(struct hf__decision *d)
{
    const struct hf__op *op = d->op;
    struct hf__name *name = d->name;
    bool is_kept =
        hf__name_is_kept(name) && (op->fence == 0 || op->fence == name->fence);

    hf__name_tell(name, op->ret_record);
    if (hf__decision_is_damaged(d, NULL)) {
        return;
    }
    if (break_meant(d, is_kept) == 0 && !is_kept) {
        hf__decision_finish(d, HF_CONFLICT);
        return;
    }
    hf__decision_keep(d, 0);
    hf__decision_touch(d);
    hf__decision_raise(d);
    d->out->fence = name->fence;
    d->out->wakes = true;
    hf__decision_finish(d, HF_OK);
}

/* ---- all of them */

void hf__decide(struct hf__name *name, const struct hf__rules *rules,
                struct hf__op *op, struct hf__outcome *out)
{
    struct hf__decision d = {name, rules, op, out};
    struct hf__participant *own =
        hf__participants_find(&name->grants, &op->token);

    *out = (struct hf__outcome){.result = HF_EUNAVAIL, .slot = -1};
    if (op->ret_record != NULL) {
        *op->ret_record = (struct hf__record){
            .holder_lives = -1, .slot = -1, .remaining_us = -1};
    }
    switch (op->kind) {
    case HF__OP_RENEW:
        renew(&d, own);
        break;
    case HF__OP_RELEASE:
        release(&d, own);
        break;
    case HF__OP_HANDOVER:
        hand_over(&d, own);
        break;
    case HF__OP_RAISE:
        raise_fence(&d, own);
        break;
    case HF__OP_ACQUIRE:
        acquire(&d, own);
        break;
    case HF__OP_INSPECT:
        inspect(&d);
        break;
    case HF__OP_BREAK:
        break_grant(&d);
        break;
    }
}

void hf__outcome_tell(const struct hf__outcome *out, struct hf__op *op)
{
    op->result = out->result;
    op->ret_reason = out->reason;
    op->is_queued = out->is_queued;
    op->took_over = out->took_over;
    op->slot = out->slot;
    if (out->fence != 0 || out->result == HF_LOST) {
        op->fence = out->fence;
    }
}
