/* SPDX-License-Identifier: MIT */
/*
 * What each kind of operation does to a record. Called by the session's
 * thread, for changes with the file locked.
 */
#include "src/backend/file/apply.h"

#include "src/base/error.h"
#include "src/base/utf8.h"

#include <string.h>

/* ---- where a record stands ---------------------------------------------- */

static uint64_t life_of(const struct hf__cell *cell)
{
    const struct hf__file_record *r = &cell->record;
    const struct hf__file_side *side = cell->s->side;

    return r->side_dev == side->dev && r->side_ino == side->ino ? r->life : 0;
}

/* How long the last grant still keeps the name closed: by the clock of the
 * boot in which it was made, and after a restart by the wall clock, within
 * which the time that it was to be kept bounds it on both sides. */
static void judge_keeping(const struct hf__cell *cell, struct hf__file_view *v)
{
    const struct hf__file_record *r = &cell->record;
    int64_t left = 0;

    if (r->keep_us > 0 && !memcmp(r->boot, cell->s->boot, sizeof r->boot)) {
        left = r->keep_until_us - v->now_us;
    } else if (r->keep_us > 0 && v->wall_us >= r->acquired_at_us) {
        left = r->keep_us - (v->wall_us - r->acquired_at_us);
    }
    if (left > 0) {
        v->standing = HF__FILE_KEPT;
        v->remaining_us = left;
    }
}

static void judge_lease(const struct hf__cell *cell, struct hf__file_view *v)
{
    const struct hf__file_record *r = &cell->record;
    const char *boot = cell->s->boot;
    bool same_boot = !memcmp(r->boot, boot, HF__BOOT_ID_LENGTH);
    bool same_clock = !memcmp(r->boot, boot, sizeof r->boot);
    uint64_t life = life_of(cell);

    if (same_clock) {
        v->remaining_us = r->expires_us - v->now_us;
        if (v->remaining_us <= 0) {
            v->standing = HF__FILE_EXPIRED;
            return;
        }
    }
    if (life != 0) {
        v->holder_lives = hf__file_side_probe(cell->s->side, life);
    }
    /* A container may show a boot id of its own. Whose byte is locked was
     * not there before a restart, whatever the id says. */
    if (!same_boot && v->holder_lives != 1) {
        v->standing = HF__FILE_STALE;
    } else if (v->holder_lives == 0) {
        v->standing = HF__FILE_DEAD;
    } else {
        v->standing = same_clock ? HF__FILE_HELD : HF__FILE_FOREIGN;
    }
}

/* Nothing is known of the name; perhaps because its file was deleted. */
static void judge_missing(const struct hf__cell *cell,
                          const struct hf__token *mine, struct hf__file_view *v)
{
    static const struct hf__token nobody;
    const struct hf__file_record *r = &cell->record;
    const struct hf__key key = {r->key, (uint16_t)r->key_length, 0};
    int64_t until_us = hf__file_side_held_until(
        cell->s->side, &key, mine ? mine : &nobody, v->now_us);

    if (until_us > 0) {
        v->standing = HF__FILE_GHOST;
        v->remaining_us = until_us - v->now_us;
        v->holder_lives = 1;
    }
}

void hf__file_look(const struct hf__cell *cell, const struct hf__token *mine,
                   struct hf__file_view *v)
{
    const struct hf__file_record *r = &cell->record;

    *v = (struct hf__file_view){.remaining_us = -1,
                                .holder_lives = -1,
                                .now_us = hf__now().ns / 1000,
                                .wall_us = hf__wall_us()};
    if (r->fence == 0) {
        judge_missing(cell, mine, v);
        return;
    }
    if (!hf__token_is_zero(&r->token)) {
        judge_lease(cell, v);
    }
    /* What a holder that is gone kept closed stays closed. */
    if (hf__file_is_free(v)) {
        judge_keeping(cell, v);
    }
}

bool hf__file_is_free(const struct hf__file_view *v)
{
    switch (v->standing) {
    case HF__FILE_FREE:
    case HF__FILE_DEAD:
    case HF__FILE_EXPIRED:
    case HF__FILE_STALE:
        return true;
    case HF__FILE_KEPT:
    case HF__FILE_HELD:
    case HF__FILE_FOREIGN:
    case HF__FILE_GHOST:
        break;
    }
    return false;
}

static bool is_held(const struct hf__file_view *v)
{
    return v->standing == HF__FILE_HELD || v->standing == HF__FILE_DEAD ||
           v->standing == HF__FILE_FOREIGN || v->standing == HF__FILE_GHOST;
}

/* The file may have been edited by hand: what is not UTF-8 is dropped. */
static void copy_text(char *to, size_t size, const char *from, size_t from_size)
{
    char text[HF_NOTE_MAX + 2] = "";
    size_t length;

    memcpy(text, from, from_size);
    length = hf__utf8_cut(text, size - 1);
    if (!hf__utf8_is_valid(text, length)) {
        length = 0;
    }
    memcpy(to, text, length);
    to[length] = '\0';
}

void hf__file_tell(const struct hf__cell *cell, const struct hf__file_view *v,
                   struct hf__record *record)
{
    const struct hf__file_record *r = &cell->record;

    if (!record) {
        return;
    }
    *record = (struct hf__record){.is_held = is_held(v),
                                  .is_kept = v->standing == HF__FILE_KEPT,
                                  .holder_lives = v->holder_lives,
                                  .fence = r->fence,
                                  .remaining_us = v->remaining_us};
    if (!record->is_held && !record->is_kept) {
        record->remaining_us = -1;
    }
    if (!record->is_held) {
        return;
    }
    record->token = r->token;
    record->acquired_us = r->acquired_at_us;
    record->owner.pid = r->pid;
    copy_text(record->owner.label, sizeof record->owner.label, r->label,
              sizeof r->label);
    copy_text(record->owner.host, sizeof record->owner.host, r->host,
              sizeof r->host);
    copy_text(record->owner.thread, sizeof record->owner.thread, r->thread,
              sizeof r->thread);
    copy_text(record->owner.note, sizeof record->owner.note, r->note,
              sizeof r->note);
}

/* ---- the operations ----------------------------------------------------- */

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

    if (!is_owner(cell, op) || !is_running(v) || v->remaining_us <= 0) {
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
}

static void hand_over(struct hf__cell *cell, const struct hf__file_view *v,
                      const struct hf__op *op, struct hf__file_outcome *out)
{
    if (!is_owner(cell, op) || !is_running(v)) {
        lost(cell, v, op, out);
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
    /* A claim whose first answer was lost, also if its lease ran out and it
     * kept the name closed for itself. */
    if (hf__file_is_free(v) ||
        (is_owner(cell, op) &&
         (is_running(v) || v->standing == HF__FILE_KEPT))) {
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
        return;
    }
    if (is_owner(cell, op) && is_running(v)) {
        out->fence = r->fence;
    } else {
        out->fence = hf__fence_after(r->fence, v->wall_us);
        out->is_taken = true;
    }
    grant(cell, v, op, &op->token, out);
}

/* Allowed also where the holder's clock is another: a person decides. */
static void break_it(struct hf__cell *cell, const struct hf__file_view *v,
                     const struct hf__op *op, struct hf__file_outcome *out)
{
    struct hf__file_record *r = &cell->record;

    hf__file_tell(cell, v, op->ret_record);
    if (!(is_held(v) || v->standing == HF__FILE_KEPT) ||
        (op->fence != 0 && op->fence != r->fence)) {
        out->result = HF_CONFLICT;
        return;
    }
    out->let_go = r->token;
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
