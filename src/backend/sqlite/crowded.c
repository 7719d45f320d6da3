/* SPDX-License-Identifier: MIT */
/*
 * Operations on grants beside others and on the line. Which claims may enter
 * is entry.c's to find out; here is what is then written, in the order that
 * keeps the name's record true of the other tables. Called by the session's
 * thread, with SQLite's write lock held.
 */
#include "src/backend/sqlite/crowded.h"

#include "src/backend/sqlite/beside.h"
#include "src/backend/sqlite/entry.h"
#include "src/backend/sqlite/fence.h"

/* ---- acquiring */

/* BUSY: the claim has, or gets, its place in line if it is to have one. */
static int queue_up(struct hf__sqlite *s, const struct hf__op *op,
                    const struct hf__row *name,
                    const struct hf__entry_view *view, struct hf__outcome *out)
{
    bool is_new = false;
    bool must_mark = view->tickets.n > 0;
    int rc = hf__entry_clean(s, &op->key, view, false);

    out->result = HF_BUSY;
    if (rc == SQLITE_OK && hf__leaves_ticket(&view->stands, op)) {
        rc = hf__line_join(s, op, &is_new);
        must_mark |= is_new && !name->has_line;
    }
    if (rc == SQLITE_OK && (is_new || name->has_line)) {
        rc = hf__line_has(s, &op->key, &op->token, &out->is_queued);
    }
    if (out->is_queued) {
        hf__line_show(s, &op->token);
    }
    if (rc == SQLITE_OK && must_mark) {
        rc = hf__beside_mark(s, &op->key, false);
    }
    if (rc == SQLITE_OK && view->tickets.n > 0) {
        rc = hf__entry_ring(s, &op->key, out);
    }
    if (rc == SQLITE_OK) {
        rc = hf__entry_tell(s, &op->key, name, op->ret_record);
    }
    return rc;
}

/* The name's record while others than a single holder have it. */
static int put_name(struct hf__sqlite *s, const struct hf__op *op,
                    const struct hf__row *name, const struct hf__outcome *out)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_PUT);

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    hf__bind_key(statement, 1, &op->key);
    (void)sqlite3_bind_int64(statement, 2, (int64_t)out->fence);
    (void)sqlite3_bind_null(statement, 3);
    for (int i = 4; i <= 6; i++) {
        (void)sqlite3_bind_int64(statement, i, 0);
    }
    hf__bind_text(statement, 7, s->boot);
    (void)sqlite3_bind_null(statement, 8);
    (void)sqlite3_bind_int64(statement, 9, s->wall_us);
    (void)sqlite3_bind_int64(statement, 10, (int64_t)out->broken);
    for (int i = 11; i <= 15; i++) {
        (void)sqlite3_bind_null(statement, i);
    }
    (void)sqlite3_bind_int(statement, 16, 1);
    (void)sqlite3_bind_int(statement, 17, name->has_line);
    return hf__sql_run(s, HF__SQL_PUT);
}

/* Others like it may enter too: those in line in their order, or else whoever
 * sleeps on the name. */
static int tell_others(struct hf__sqlite *s, const struct hf__op *op,
                       const struct hf__row *name,
                       const struct hf__entry_view *view,
                       struct hf__outcome *out)
{
    if (op->manner.mode == HF__MODE_SHARED) {
        out->is_opened = true;
    } else {
        out->is_freed = view->stands.n_holders + 1 < op->manner.slots;
    }
    return name->has_line ? hf__entry_ring(s, &op->key, out) : SQLITE_OK;
}

/* Those who are gone leave, the grant comes, its ticket goes. */
static int grant_beside(struct hf__sqlite *s, const struct hf__op *op,
                        const struct hf__row *name,
                        const struct hf__entry_view *view,
                        struct hf__outcome *out)
{
    int rc = hf__entry_clean(s, &op->key, view, true);

    out->took_over = view->grants.n > 0;
    out->fence = hf__fence_next(s, name->fence);
    if (rc == SQLITE_OK && out->fence == 0) {
        return HF__SQLITE_RAISE_FIRST;
    }
    if (rc == SQLITE_OK && name->has_beside) {
        rc = hf__beside_clear(s, op, false, out);
    }
    if (rc == SQLITE_OK) {
        rc = put_name(s, op, name, out);
    }
    if (rc == SQLITE_OK) {
        rc = hf__beside_put(s, op, out,
                            hf__bind_to_life(s, op, &op->token, out));
    }
    if (rc == SQLITE_OK && name->has_line) {
        rc = hf__line_leave(s, &op->key, &op->token, NULL);
    }
    if (rc == SQLITE_OK && name->has_line) {
        rc = hf__beside_mark(s, &op->key, false);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    out->result = HF_OK;
    out->is_taken = true;
    hf__note_last_holder(op, name, out);
    return tell_others(s, op, name, view, out);
}

/* A second attempt, as apply.c has it of a single holder. */
static int grant_again(struct hf__sqlite *s, const struct hf__op *op,
                       const struct hf__row *own, struct hf__outcome *out)
{
    out->result = HF_OK;
    out->fence = own->fence;
    out->slot = own->slot;
    return hf__beside_put(s, op, out, hf__bind_to_life(s, op, &op->token, out));
}

static bool is_same_grant(const struct hf__op *op, const struct hf__row *own)
{
    return own->fence != 0 && !own->is_broken &&
           (own->standing == HF__STANDS_HELD ||
            own->standing == HF__STANDS_DEAD) &&
           own->manner.mode == op->manner.mode &&
           own->manner.slots == op->manner.slots;
}

/* The name's own record lets nobody in; a line may matter for who queues. */
static int wait_for_name(struct hf__sqlite *s, const struct hf__op *op,
                         const struct hf__row *name, struct hf__outcome *out)
{
    const struct hf__entrant claim = {&op->key, &op->token, op->manner, true};
    struct hf__row line_only = {
        .has_line = name->has_line && op->queueing == HF__QUEUE_BEHIND_SHARED};
    struct hf__entry_view view;
    int rc = hf__entry_view(s, &line_only, &claim, &view);

    return rc == SQLITE_OK ? queue_up(s, op, name, &view, out) : rc;
}

static int enter(struct hf__sqlite *s, const struct hf__op *op,
                 const struct hf__row *name, struct hf__outcome *out)
{
    const struct hf__entrant claim = {&op->key, &op->token, op->manner,
                                      op->queueing == HF__QUEUE_BEHIND_SHARED};
    struct hf__entry_view view;
    int rc = hf__entry_view(s, name, &claim, &view);

    if (rc != SQLITE_OK) {
        return rc;
    }
    out->result =
        hf__refuse(op, view.is_damaged                ? HF__STANDS_DAMAGED
                       : view.entry == HF__ENTRY_HELD ? view.holder.standing
                                                      : HF__STANDS_FREE);
    if (out->result != HF_OK) {
        return SQLITE_OK;
    }
    switch (view.entry) {
    case HF__ENTRY_OPEN:
        out->slot = view.slot;
        if (op->manner.mode != HF__MODE_EXCLUSIVE) {
            return grant_beside(s, op, name, &view, out);
        }
        out->took_over = view.grants.n > 0;
        return hf__entry_clean(s, &op->key, &view, true);
    case HF__ENTRY_MISFIT:
        out->result = hf__tell_misfit(op, view.slot);
        return SQLITE_OK;
    case HF__ENTRY_HELD:
    case HF__ENTRY_PROMISED:
        break;
    }
    return queue_up(s, op, name, &view, out);
}

int hf__crowded_acquire(struct hf__sqlite *s, const struct hf__op *op,
                        const struct hf__row *name, struct hf__outcome *out)
{
    struct hf__row own;
    int rc = SQLITE_OK;

    hf__row_clear(&own, NULL);
    if (name->has_beside) {
        rc = hf__beside_get(s, &op->key, &op->token, &own);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (is_same_grant(op, &own)) {
        return grant_again(s, op, &own, out);
    }
    if (!hf__row_is_free(name) && !hf__is_own_keeping(op, name)) {
        out->result = hf__refuse(op, name->standing);
        return out->result == HF_OK ? wait_for_name(s, op, name, out)
                                    : SQLITE_OK;
    }
    return enter(s, op, name, out);
}

int hf__crowded_settle(struct hf__sqlite *s, const struct hf__op *op,
                       const struct hf__token *token, struct hf__outcome *out)
{
    int rc = hf__beside_clear(s, op, true, out);

    if (rc == SQLITE_OK) {
        rc = hf__line_leave(s, &op->key, token, NULL);
    }
    return rc == SQLITE_OK ? hf__beside_mark(s, &op->key, false) : rc;
}

/* ---- by who has it */

/* The token's own grant is no more. */
static void lose(const struct hf__op *op, const struct hf__row *name,
                 const struct hf__row *own, struct hf__outcome *out)
{
    out->result = HF_LOST;
    out->let_go = op->token;
    out->fence = name->fence;
    out->reason = own->is_broken ? HF_REASON_BROKEN : HF_REASON_EXPIRED;
}

static bool is_running(const struct hf__row *own)
{
    return !own->is_broken && (own->standing == HF__STANDS_HELD ||
                               own->standing == HF__STANDS_DEAD);
}

static int renew(struct hf__sqlite *s, const struct hf__op *op,
                 const struct hf__row *name, const struct hf__row *own,
                 struct hf__outcome *out)
{
    int rc;

    if (!is_running(own)) {
        out->result = own->is_broken ? HF_OK : hf__refuse(op, own->standing);
        if (out->result == HF_OK) {
            lose(op, name, own, out);
        }
        return SQLITE_OK;
    }
    out->result = HF_OK;
    out->slot = own->slot;
    if (op->is_detached) {
        out->let_go = op->token;
    } else {
        out->extend_us = s->now_us + op->lease_us;
    }
    rc = hf__beside_renew(s, op);
    if (rc == SQLITE_OK && sqlite3_changes(s->db->handle) == 0) {
        /* It began under another boot, whose clock is not this one. */
        *out = (struct hf__outcome){.slot = -1};
        lose(op, name, own, out);
    }
    return rc;
}

/* Fences of a name are unlike each other, also those of grants side by side. */
static int raise_fence(struct hf__sqlite *s, const struct hf__op *op,
                       const struct hf__row *name, const struct hf__row *own,
                       struct hf__outcome *out)
{
    int rc;

    if (own->is_broken || own->standing == HF__STANDS_DAMAGED) {
        out->result = own->is_broken ? HF_OK : hf__refuse(op, own->standing);
        if (out->result == HF_OK) {
            lose(op, name, own, out);
        }
        return SQLITE_OK;
    }
    out->result = HF_OK;
    out->fence = own->fence;
    if (op->fence <= own->fence) {
        return SQLITE_OK;
    }
    out->fence = op->fence > name->fence ? op->fence : name->fence + 1;
    if (!hf__fence_may_be(s, out->fence)) {
        return HF__SQLITE_RAISE_FIRST;
    }
    rc = hf__name_raise(s, &op->key, out->fence);
    return rc == SQLITE_OK ? hf__beside_raise(s, op, out->fence) : rc;
}

/* It can be let go whatever has become of it, as a single holder's. */
static int leave_beside(struct hf__sqlite *s, const struct hf__op *op,
                        const struct hf__row *name, const struct hf__row *own,
                        struct hf__outcome *out)
{
    int rc = hf__beside_leave(s, &op->key, &op->token);

    if (own->is_broken) {
        lose(op, name, own, out);
    } else {
        out->result = HF_OK;
        out->let_go = op->token;
    }
    if (rc == SQLITE_OK && name->has_line) {
        rc = hf__line_leave(s, &op->key, &op->token, NULL);
    }
    if (rc == SQLITE_OK) {
        rc = hf__beside_mark(s, &op->key, true);
    }
    return rc == SQLITE_OK ? hf__crowded_freed(s, op, out) : rc;
}

int hf__crowded_owned(struct hf__sqlite *s, const struct hf__op *op,
                      const struct hf__row *name, struct hf__outcome *out,
                      bool *ret_is_done)
{
    struct hf__row own;
    int rc = SQLITE_OK;

    *ret_is_done = false;
    if (!name->has_beside) {
        return SQLITE_OK;
    }
    rc = hf__beside_get(s, &op->key, &op->token, &own);
    if (rc != SQLITE_OK ||
        (own.fence == 0 && own.standing != HF__STANDS_DAMAGED)) {
        return rc;
    }
    *ret_is_done = true;
    if (op->kind == HF__OP_RELEASE) {
        rc = leave_beside(s, op, name, &own, out);
    } else if (op->kind == HF__OP_RAISE) {
        rc = raise_fence(s, op, name, &own, out);
    } else if (op->kind == HF__OP_HANDOVER && is_running(&own)) {
        out->result = HF_BUSY;
    } else {
        rc = renew(s, op, name, &own, out);
    }
    return rc == SQLITE_OK ? hf__entry_tell(s, &op->key, name, op->ret_record)
                           : rc;
}

int hf__crowded_leave_line(struct hf__sqlite *s, const struct hf__op *op,
                           struct hf__outcome *out)
{
    bool was_there = false;
    int rc = hf__line_leave(s, &op->key, &op->token, &was_there);

    if (rc == SQLITE_OK && was_there) {
        rc = hf__beside_mark(s, &op->key, false);
    }
    return rc == SQLITE_OK && was_there ? hf__crowded_freed(s, op, out) : rc;
}

/* ---- handing over, breaking */

int hf__crowded_is_awaited(struct hf__sqlite *s, const struct hf__op *op,
                           bool *ret_is_awaited)
{
    const struct hf__row line_only = {.has_line = true};
    const struct hf__entrant taker = {
        &op->key, &op->next_token, {HF__MODE_EXCLUSIVE, 0}, true};
    struct hf__entry_view view;
    int rc = hf__entry_view(s, &line_only, &taker, &view);

    *ret_is_awaited = false;
    for (int i = 0; i < view.stands.n_line; i++) {
        *ret_is_awaited |=
            !hf__token_equal(&view.stands.line[i].token, &op->next_token);
    }
    return rc;
}

static bool is_meant(const struct hf__op *op, const struct hf__row *row)
{
    return hf__row_is_held(row) && !row->is_broken &&
           (op->fence == 0 || op->fence == row->fence);
}

int hf__crowded_break(struct hf__sqlite *s, const struct hf__op *op,
                      bool *ret_is_any)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_BESIDE);
    int rc;

    *ret_is_any = false;
    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    hf__bind_key(statement, 1, &op->key);
    (void)sqlite3_bind_null(statement, 2);
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
        struct hf__record record;
        struct hf__row row;

        hf__row_read_grant(s, statement, &row, &record);
        if (is_meant(op, &row)) {
            *ret_is_any = true;
            hf__sqlite_note_broken(s, &row.token, row.life);
            if (op->ret_record != NULL && op->fence != 0) {
                *op->ret_record = record;
            }
        }
    }
    (void)sqlite3_reset(statement);
    if (rc != SQLITE_DONE) {
        return rc;
    }
    return *ret_is_any ? hf__beside_break(s, op) : SQLITE_OK;
}

int hf__crowded_freed(struct hf__sqlite *s, const struct hf__op *op,
                      struct hf__outcome *out)
{
    out->is_freed = true;
    return hf__entry_ring(s, &op->key, out);
}
