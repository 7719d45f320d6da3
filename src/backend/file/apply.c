/* SPDX-License-Identifier: MIT */
/*
 * What each kind of operation does to a record. Where it stands is view.c's.
 * Called by the session's thread, for changes with the file locked.
 */
#include "src/backend/file/apply.h"

#include "src/base/error.h"

#include <string.h>

/* ---- the operations */

static bool is_owner(const struct hf__cell *cell, const struct hf__op *op)
{
    return cell->record.fence != 0 &&
           hf__token_equal(&cell->record.token, &op->token);
}

/* The lease runs; DEAD with our token: won by a process that is no more. */
static bool is_running(const struct hf__file_view *v)
{
    return v->standing == HF__FILE_HELD || v->standing == HF__FILE_DEAD;
}

static int refuse_foreign(const struct hf__op *op)
{
    return hf__fail(op->err, HF_EUNSAFE,
                    "the holder runs in another time namespace, or in a "
                    "container with a boot id of its own, so its lease can't "
                    "be judged by this one's clock; use the lock in one of "
                    "the two only");
}

static void lost(const struct hf__cell *cell, const struct hf__file_view *v,
                 const struct hf__op *op, struct hf__file_outcome *out)
{
    const struct hf__file_record *r = &cell->record;

    if (is_owner(cell, op) && v->standing == HF__FILE_FOREIGN) {
        out->result = refuse_foreign(op);
        return;
    }
    hf__file_tell(cell, v, op->ret_record);
    out->result = HF_LOST;
    out->let_go = op->token;
    out->fence = r->fence;
    out->reason = hf__reason_for(op->fence, r->fence, r->broken);
}

static void put_text(char *to, size_t size, const char *text)
{
    size_t length = strlen(text);

    memset(to, 0, size);
    memcpy(to, text, length < size ? length : size - 1);
}

static void put_owner(struct hf__file_record *r, const struct hf__owner *owner)
{
    put_text(r->label, sizeof r->label, owner->label);
    put_text(r->host, sizeof r->host, owner->host);
    put_text(r->thread, sizeof r->thread, owner->thread);
    put_text(r->note, sizeof r->note, owner->note);
    r->pid = owner->pid;
}

static void grant(struct hf__cell *cell, const struct hf__file_view *v,
                  const struct hf__op *op, const struct hf__token *token,
                  struct hf__file_outcome *out)
{
    const struct hf__file_side *side = cell->s->side;
    struct hf__file_record *r = &cell->record;

    r->token = *token;
    r->fence = out->fence;
    r->expires_us = v->now_us + op->lease_us;
    r->keep_until_us = v->now_us + op->keep_us;
    r->keep_us = op->keep_us;
    r->acquired_at_us = v->wall_us;
    r->freed_at_us = 0;
    r->side_dev = side->dev;
    r->side_ino = side->ino;
    r->life = op->is_detached ? 0 : side->life;
    memcpy(r->boot, cell->s->boot, sizeof r->boot);
    put_owner(r, op->owner);
    out->result = HF_OK;
    out->is_changed = true;
    out->is_bound = !op->is_detached;
    out->hold = *token;
    out->leaves = *token;
    if (op->is_detached) {
        out->let_go = op->token; /* it may have been bound before */
    }
    out->extend_us = r->expires_us;
}

void hf__file_detach(struct hf__cell *cell)
{
    cell->record.life = 0;
}

static void renew(struct hf__cell *cell, const struct hf__file_view *v,
                  const struct hf__op *op, struct hf__file_outcome *out)
{
    struct hf__file_record *r = &cell->record;
    bool is_of_this_boot = memcmp(r->boot, cell->s->boot, sizeof r->boot) == 0;

    if (!is_owner(cell, op) || !is_running(v) || !is_of_this_boot) {
        lost(cell, v, op, out);
        return;
    }
    r->expires_us = v->now_us + op->lease_us;
    if (op->is_detached) {
        hf__file_detach(cell);
        out->let_go = op->token;
    } else {
        out->extend_us = r->expires_us;
    }
    out->result = HF_OK;
    out->is_changed = true;
}

static void set_free(struct hf__file_record *r, const struct hf__file_view *v)
{
    memset(&r->token, 0, sizeof r->token);
    r->expires_us = 0;
    r->life = 0;
    r->freed_at_us = v->wall_us;
}

/* The clock does not matter here: the owner may always let go. */
static void release(struct hf__cell *cell, const struct hf__file_view *v,
                    const struct hf__op *op, struct hf__file_outcome *out)
{
    if (!is_owner(cell, op)) {
        lost(cell, v, op, out);
        out->leaves = op->token;
        out->is_freed =
            hf__file_line_has(&cell->line, &op->token) && hf__file_is_free(v);
        return;
    }
    set_free(&cell->record, v);
    if (op->reopens) {
        cell->record.keep_us = 0;
    }
    out->result = HF_OK;
    out->is_changed = true;
    out->is_freed = true;
    out->let_go = op->token;
    out->leaves = op->token;
}

static void hand_over(struct hf__cell *cell, const struct hf__file_view *v,
                      const struct hf__op *op, struct hf__file_outcome *out)
{
    if (!is_owner(cell, op) || !is_running(v)) {
        lost(cell, v, op, out);
        return;
    }
    if (hf__file_line_is_before(cell, &op->next_token, op->manner)) {
        out->result = HF_BUSY;
        return;
    }
    out->fence = hf__fence_after(cell->record.fence, v->wall_us);
    out->let_go = op->token;
    out->is_taken = true;
    grant(cell, v, op, &op->next_token, out);
}

static void raise_fence(struct hf__cell *cell, const struct hf__file_view *v,
                        const struct hf__op *op, struct hf__file_outcome *out)
{
    struct hf__file_record *r = &cell->record;

    if (!is_owner(cell, op)) {
        lost(cell, v, op, out);
        return;
    }
    out->is_changed = op->fence > r->fence;
    r->fence = out->is_changed ? op->fence : r->fence;
    out->result = HF_OK;
    out->fence = r->fence;
}

bool hf__file_is_in_the_way(const struct hf__cell *cell,
                            const struct hf__file_view *v,
                            const struct hf__op *op, int *ret_result)
{
    bool is_free = hf__file_is_free(v);

    /* A claim whose first answer was lost, also if its lease ran out and it
     * kept the name closed for itself. */
    if ((is_owner(cell, op) &&
         (is_running(v) || v->standing == HF__FILE_KEPT)) ||
        (is_free && !hf__file_line_is_before(cell, &op->token, op->manner))) {
        return false;
    }
    if (v->standing == HF__FILE_FOREIGN) {
        *ret_result = refuse_foreign(op);
    } else {
        hf__file_tell(cell, v, op->ret_record);
        *ret_result = HF_BUSY;
    }
    return true;
}

static void acquire(struct hf__cell *cell, const struct hf__file_view *v,
                    const struct hf__op *op, struct hf__file_outcome *out)
{
    const struct hf__file_record *r = &cell->record;

    if (hf__file_is_in_the_way(cell, v, op, &out->result)) {
        out->queues =
            out->result == HF_BUSY && op->queueing == HF__QUEUE_ALWAYS;
        return;
    }
    if (is_owner(cell, op) && is_running(v)) {
        out->fence = r->fence;
    } else {
        out->fence = hf__fence_after(r->fence, v->wall_us);
        out->is_taken = true;
        out->took_over = !hf__token_is_zero(&r->token) && !is_owner(cell, op);
    }
    grant(cell, v, op, &op->token, out);
}

/* Allowed also where the holder's clock is another: a person decides. */
static void break_it(struct hf__cell *cell, const struct hf__file_view *v,
                     const struct hf__op *op, struct hf__file_outcome *out)
{
    struct hf__file_record *r = &cell->record;

    hf__file_tell(cell, v, op->ret_record);
    if (!(hf__file_is_held(v) || v->standing == HF__FILE_KEPT) ||
        (op->fence != 0 && op->fence != r->fence)) {
        out->result = HF_CONFLICT;
        return;
    }
    out->let_go = r->token;
    out->is_broken = true;
    out->life = hf__file_life(cell);
    r->broken = r->fence;
    r->fence = hf__fence_after(r->fence, v->wall_us);
    r->keep_us = 0;
    set_free(r, v);
    out->fence = r->fence;
    out->result = HF_OK;
    out->is_changed = true;
    out->is_freed = true;
}

void hf__file_apply(struct hf__cell *cell, const struct hf__file_view *v,
                    const struct hf__op *op, struct hf__file_outcome *out)
{
    switch (op->kind) {
    case HF__OP_RENEW:
        renew(cell, v, op, out);
        return;
    case HF__OP_RELEASE:
        release(cell, v, op, out);
        return;
    case HF__OP_HANDOVER:
        hand_over(cell, v, op, out);
        return;
    case HF__OP_RAISE:
        raise_fence(cell, v, op, out);
        return;
    case HF__OP_ACQUIRE:
        acquire(cell, v, op, out);
        return;
    case HF__OP_BREAK:
        break_it(cell, v, op, out);
        return;
    case HF__OP_INSPECT:
        break;
    }
    hf__file_tell(cell, v, op->ret_record);
    out->result = HF_OK;
}
