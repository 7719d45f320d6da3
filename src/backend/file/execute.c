/* SPDX-License-Identifier: MIT */
/*
 * execute(): one operation after the other, each on a file of its own.
 * Decides in which order a change becomes known: to the other processes'
 * kernel, to the file, and, when the file is seen to be still in its place,
 * to this process and to those who wait. What an operation does to a record
 * is apply.c's. Called by the session's thread.
 */
#include "src/backend/file/apply.h"
#include "src/base/error.h"

/* So long somebody may be stopped between reading and writing, before we go
 * on to the next name. */
#define LOCK_MS 50
/* And before a break does without him. */
#define BREAK_MS 200
/* A name whose file is made anew more often meanwhile is no place to be. */
#define TRIES 50

/* What a try gives besides the results of operations. */
#define ONCE_MORE 101

static void close_cell(struct hf__cell *cell)
{
    hf__cell_close(cell);
}

/* ---- before and after a change */

/* The byte first: who deletes the file and who makes a new one then meet it,
 * or we see afterwards that the file is not in its place. */
static int bind(struct hf__file *s, const struct hf__op *op,
                const struct hf__file_outcome *out, bool *ret_is_new)
{
    struct hf__file_held *held = &s->side->held;
    int r = HF_OK;

    *ret_is_new = false;
    if (out->extend_us == 0) {
        return HF_OK;
    }
    if (out->is_bound) {
        r = hf__file_side_hold(s->side, &op->key, out->extend_us);
        if (r == HF_OK) {
            r = hf__file_held_add(held, &op->key, &out->hold, out->extend_us,
                                  ret_is_new);
        }
    } else if (hf__token_is_zero(&out->hold) &&
               hf__file_held_extend(held, &op->key, &op->token,
                                    out->extend_us)) {
        r = hf__file_side_hold(s->side, &op->key, out->extend_us);
    }
    return r == HF_OK ? r
                      : hf__fail(op->err, r,
                                 "there is no room to note who holds the lock");
}

/* It was not applied after all. */
static void unbind(struct hf__file *s, const struct hf__op *op,
                   const struct hf__file_outcome *out, bool is_new)
{
    bool dummy;

    if (!is_new) {
        return;
    }
    if (op->kind == HF__OP_HANDOVER) {
        /* Its entry is there, so this can't fail. */
        (void)!hf__file_held_add(&s->side->held, &op->key, &op->token,
                                 out->extend_us, &dummy);
    } else {
        hf__file_held_remove(&s->side->held, &op->key, &out->hold);
    }
}

/* Without a line, some waiter; else the first in line, who alone may enter. */
static void wake_next(const struct hf__cell *cell, const struct hf__op *op)
{
    const struct hf__file_ticket *first = hf__file_line_first(cell, NULL);
    struct hf__bells *bells = &cell->s->side->bells;

    if (first != NULL) {
        hf__bells_ring(bells, hf__chime_of_ticket(&first->token));
    } else {
        hf__bells_freed(bells, hf__chime_of(&op->key));
    }
}

static int settle(const struct hf__cell *cell, struct hf__op *op,
                  const struct hf__file_outcome *out)
{
    struct hf__file *s = cell->s;

    op->ret_reason = out->reason;
    op->took_over = out->took_over;
    if (out->fence != 0 || out->result == HF_LOST) {
        op->fence = out->fence;
    }
    if (!hf__token_is_zero(&out->let_go)) {
        hf__file_held_remove(&s->side->held, &op->key, &out->let_go);
    }
    if (out->is_taken) {
        hf__nap_tell_taken(&s->nap, &s->side->bells, op);
    }
    if (out->is_broken) {
        hf__breaks_tell(&s->side->words, HF__ON_FILE_BOARD(breaks),
                        &out->let_go, out->life);
    }
    if (out->is_freed) {
        wake_next(cell, op);
    }
    return out->result;
}

/* ---- one operation */

/* A break leaves a new file, so that whoever is stopped with the old one
 * locked holds nobody up. On a full disk the old one must do. */
static int put(struct hf__cell *cell, const struct hf__op *op)
{
    int r;

    if (op->kind != HF__OP_BREAK) {
        return hf__cell_write(cell, op->err);
    }
    r = hf__cell_replace(cell, cell->is_locked ? NULL : op->err);
    return r != HF_OK && cell->is_locked ? hf__cell_write(cell, op->err) : r;
}

/* After the record: whoever is killed in between has a ticket too much, which
 * nobody refreshes. */
static void change_line(struct hf__cell *cell, struct hf__op *op,
                        const struct hf__file_outcome *out)
{
    if (cell->line.n > 0 && !hf__token_is_zero(&out->leaves)) {
        hf__file_line_leave(cell, &out->leaves);
        hf__file_line_sweep(cell);
    }
    if (out->queues) {
        op->is_queued = hf__file_line_has(&cell->line, &op->token) ||
                        hf__file_line_join(cell, op, hf__wall_us());
    }
}

static int change(struct hf__cell *cell, struct hf__op *op,
                  const struct hf__file_outcome *out)
{
    struct hf__file *s = cell->s;
    bool is_new;
    int r = bind(s, op, out, &is_new);

    if (r != HF_OK) {
        return r;
    }
    op->result = HF_EUNKNOWN;
    r = put(cell, op);
    if (r == HF_OK && op->kind != HF__OP_BREAK && !hf__cell_is_in_place(cell)) {
        r = ONCE_MORE;
    }
    if (r != HF_OK && r != HF_EUNKNOWN) {
        unbind(s, op, out, is_new);
    }
    if (r == HF_OK && op->kind != HF__OP_BREAK) {
        change_line(cell, op, out);
    }
    return r == HF_OK ? settle(cell, op, out) : r;
}

/* The older of two states is not given out while somebody may have been
 * granted the lock in the newer one. */
static bool is_doubtful(const struct hf__cell *cell, const struct hf__op *op,
                        const struct hf__file_view *view)
{
    return cell->is_torn && op->kind == HF__OP_ACQUIRE &&
           hf__file_is_free(view) &&
           hf__file_side_held_until(cell->s->side, &op->key, &op->token,
                                    view->now_us) > 0;
}

/* With the file locked, or to be replaced. */
static int apply(struct hf__cell *cell, struct hf__op *op)
{
    struct hf__file_outcome out = {0};
    struct hf__file_view view;
    int r = hf__cell_read(cell, &op->key, op->err);

    if (r != HF_OK) {
        return r;
    }
    /* What is put in the file's place must be of this file. */
    if ((cell->is_left || op->kind == HF__OP_BREAK) &&
        !hf__cell_is_in_place(cell)) {
        return ONCE_MORE;
    }
    if (cell->is_left && op->kind == HF__OP_ACQUIRE) {
        r = hf__cell_replace(cell, op->err);
        return r == HF_OK ? ONCE_MORE : r;
    }
    hf__file_look(cell, &op->token, &view);
    if (is_doubtful(cell, op, &view)) {
        return hf__fail(op->err, HF_EPROTO,
                        "%s/%s is damaged, and somebody holds the lock",
                        cell->s->place.path, cell->name);
    }
    hf__file_apply(cell, &view, op, &out);
    if (out.is_changed) {
        return change(cell, op, &out);
    }
    change_line(cell, op, &out);
    return hf__cell_is_in_place(cell) ? settle(cell, op, &out) : ONCE_MORE;
}

static int tell_crowd(const struct hf__cell *cell,
                      const struct hf__file_view *view, struct hf__op *op)
{
    struct hf__party holder = {.is_waiting = false};
    int r = HF_OK;

    hf__file_tell(cell, view, &holder.record);
    if (holder.record.is_held) {
        r = hf__crowd_add(op->ret_crowd, &holder);
    }
    if (r == HF_OK) {
        r = hf__file_line_tell(cell, op->ret_crowd);
    }
    return r == HF_OK ? r : hf__fail(op->err, r, "out of memory for the line");
}

/* There is no file: nobody ever had the name, or its file was deleted. */
static int apply_to_none(struct hf__cell *cell, struct hf__op *op)
{
    struct hf__file_outcome out = {0};
    struct hf__file_view view;
    int r;

    hf__file_look(cell, op->kind == HF__OP_INSPECT ? NULL : &op->token, &view);
    if (op->kind == HF__OP_ACQUIRE &&
        hf__file_is_in_the_way(cell, &view, op, &r)) {
        return r;
    }
    if (op->kind != HF__OP_ACQUIRE) {
        hf__file_apply(cell, &view, op, &out);
    }
    if (op->kind == HF__OP_ACQUIRE || out.is_changed) {
        r = hf__cell_create(cell, &op->key, op->err);
        return r == HF_OK ? ONCE_MORE : r;
    }
    r = op->ret_crowd != NULL ? tell_crowd(cell, &view, op) : (int)HF_OK;
    return r == HF_OK ? settle(cell, op, &out) : r;
}

/* Who has a ticket shows that he still waits; who wants one and has none must
 * leave it in the file. */
static int look_in_line(struct hf__cell *cell, struct hf__op *op, int r)
{
    if (r == HF_BUSY && op->queueing == HF__QUEUE_ALWAYS) {
        op->is_queued = hf__file_line_has(&cell->line, &op->token);
        if (!op->is_queued) {
            return ONCE_MORE;
        }
        hf__file_line_stamp(cell, &op->token);
    }
    return r;
}

/* As far as it goes without locking. ONCE_MORE: not far enough. */
static int look(struct hf__cell *cell, struct hf__op *op)
{
    struct hf__file_outcome out = {0};
    struct hf__file_view view;
    int r = hf__cell_read(cell, &op->key, op->err);

    if (r != HF_OK) {
        return r;
    }
    hf__file_look(cell, op->kind == HF__OP_INSPECT ? NULL : &op->token, &view);
    if (op->kind == HF__OP_ACQUIRE) {
        return hf__file_is_in_the_way(cell, &view, op, &r)
                   ? look_in_line(cell, op, r)
                   : ONCE_MORE;
    }
    hf__file_apply(cell, &view, op, &out);
    r = op->ret_crowd != NULL ? tell_crowd(cell, &view, op) : (int)HF_OK;
    return r == HF_OK ? settle(cell, op, &out) : r;
}

static int try(struct hf__file *s, struct hf__op *op)
{
    HF_AUTO(close_cell) struct hf__cell cell;
    bool is_break = op->kind == HF__OP_BREAK;
    int r = hf__cell_open(s, &op->key, &cell, op->err);

    if (r != HF_OK) {
        return r;
    }
    if (cell.fd < 0) {
        return apply_to_none(&cell, op);
    }
    if (op->kind == HF__OP_ACQUIRE || op->kind == HF__OP_INSPECT) {
        r = look(&cell, op);
        if (r != ONCE_MORE) {
            return r;
        }
    }
    if (!hf__cell_lock(
            &cell, hf__after_ms(hf__now(), is_break ? BREAK_MS : LOCK_MS)) &&
        !is_break) {
        return HF__AGAIN;
    }
    return apply(&cell, op);
}

static int run(struct hf__file *s, struct hf__op *op)
{
    int r = ONCE_MORE;

    for (int i = 0; i < TRIES && r == ONCE_MORE; i++) {
        if (hf__file_is_over(s)) {
            return hf__fail(op->err, HF_EUNAVAIL, "there was no time for it");
        }
        if (op->ret_record != NULL) {
            *op->ret_record =
                (struct hf__record){.holder_lives = -1, .remaining_us = -1};
        }
        r = try(s, op);
    }
    return r == ONCE_MORE ? HF__AGAIN : r;
}

/* ---- batches */

int hf__file_execute(void *state, struct hf__op *ops[], int n,
                     hf__time deadline, hf_error *err)
{
    struct hf__file *s = state;
    int r = hf__file_check_ground(s, err);

    s->deadline = deadline;
    if (r == HF_OK) {
        (void)hf__nap_hold_back(&s->nap, &s->head, &s->side->bells, ops, n,
                                s->deadline);
    }
    for (int i = 0; i < n; i++) {
        ops[i]->result =
            r == HF_OK ? run(s, ops[i]) : hf__file_check_ground(s, ops[i]->err);
        if (r != HF_OK && ops[i]->result == HF_OK) {
            ops[i]->result = HF_EUNAVAIL; /* it is back, just now */
        }
    }
    return r;
}
