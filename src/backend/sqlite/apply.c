/* SPDX-License-Identifier: MIT */
/*
 * What each kind of operation does to a record. Transactions, results and
 * waking are batch.c's; what else a name may have, crowded.c's; what operators
 * ask for, operate.c's. Called by the
 * session's thread, with SQLite's write lock held (for inspecting: inside a
 * read).
 */
#include "src/backend/sqlite/apply.h"

#include "src/backend/sqlite/beside.h"
#include "src/backend/sqlite/crowded.h"
#include "src/backend/sqlite/entry.h"
#include "src/backend/sqlite/fence.h"
#include "src/backend/sqlite/operate.h"
#include "src/base/error.h"

int hf__refuse(const struct hf__op *op, enum hf__standing standing)
{
    if (standing == HF__STANDS_DAMAGED) {
        return hf__fail(op->err, HF_EPROTO,
                        "the record of this lock in holdfast_lock or "
                        "holdfast_beside was changed by somebody else and "
                        "makes no sense; delete that row when nobody uses the "
                        "lock");
    }
    if (standing == HF__STANDS_FOREIGN) {
        return hf__fail(op->err, HF_EUNSAFE,
                        "the holder runs in another time namespace, or in a "
                        "container with a boot id of its own, so its lease "
                        "can't be judged by this one's clock; use the lock in "
                        "one of the two only");
    }
    return HF_OK;
}

/* Let go of the name's record; where there is a line, only if asked for, so
 * that without one no more is to be read. The clock does not matter here: the
 * owner may always let go. */
static int free_name(struct hf__sqlite *s, const struct hf__op *op,
                     bool with_line, bool *ret_is_freed)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_FREE);
    int rc;

    *ret_is_freed = false;
    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    (void)sqlite3_bind_int(statement, 1, op->reopens);
    (void)sqlite3_bind_int64(statement, 2, s->wall_us);
    hf__bind_key(statement, 3, &op->key);
    hf__bind_token(statement, 4, &op->token);
    (void)sqlite3_bind_int(statement, 5, with_line);
    rc = hf__sql_run(s, HF__SQL_FREE);
    *ret_is_freed = rc == SQLITE_OK && sqlite3_changes(s->db->handle) > 0;
    return rc;
}

/* Let go of the name's record also where others are in line. */
static int release_line(struct hf__sqlite *s, const struct hf__op *op,
                        struct hf__outcome *out, bool *ret_is_done)
{
    int rc = free_name(s, op, true, ret_is_done);

    if (rc != SQLITE_OK || !*ret_is_done) {
        return rc;
    }
    out->result = HF_OK;
    out->let_go = op->token;
    rc = hf__line_leave(s, &op->key, &op->token, NULL);
    if (rc == SQLITE_OK) {
        rc = hf__beside_mark(s, &op->key, true);
    }
    return rc == SQLITE_OK ? hf__crowded_freed(s, op, out) : rc;
}

/* Does the token have something else of that name? */
static int look_elsewhere(struct hf__sqlite *s, const struct hf__op *op,
                          const struct hf__row *row, struct hf__outcome *out,
                          bool *ret_is_done)
{
    int rc = SQLITE_OK;

    if (op->kind == HF__OP_RELEASE && row->has_line) {
        rc = release_line(s, op, out, ret_is_done);
    }
    if (rc == SQLITE_OK && !*ret_is_done) {
        rc = hf__crowded_owned(s, op, row, out, ret_is_done);
    }
    if (rc == SQLITE_OK && !*ret_is_done && op->kind == HF__OP_RELEASE) {
        rc = hf__crowded_leave_line(s, op, out);
    }
    return rc == SQLITE_OK && !*ret_is_done
               ? hf__entry_tell(s, &op->key, row, op->ret_record)
               : rc;
}

/* The token does not own the record, or not any more. */
static int lost(struct hf__sqlite *s, const struct hf__op *op,
                struct hf__outcome *out)
{
    bool is_done = false;
    struct hf__row row;
    int rc = hf__row_get(s, &op->key, &row, op->ret_record);

    if (rc == SQLITE_OK && (row.has_beside || row.has_line)) {
        rc = look_elsewhere(s, op, &row, out, &is_done);
    }
    if (rc != SQLITE_OK || is_done) {
        return rc;
    }
    out->result = HF_LOST;
    if (row.standing == HF__STANDS_DAMAGED ||
        hf__token_equal(&row.token, &op->token)) {
        /* Ours: the lease has run out, or its clock is another one. */
        int r = hf__refuse(op, row.standing);

        out->result = r == HF_OK ? HF_LOST : r;
    }
    if (out->result == HF_LOST) {
        out->let_go = op->token;
        out->fence = row.fence;
        out->reason = hf__reason_for(op->fence, row.fence, row.broken);
    }
    return rc;
}

static int renew(struct hf__sqlite *s, const struct hf__op *op,
                 struct hf__outcome *out)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_RENEW);
    int64_t expires_us = s->now_us + op->lease_us;
    int rc;

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    (void)sqlite3_bind_int64(statement, 1, expires_us);
    hf__bind_key(statement, 2, &op->key);
    hf__bind_token(statement, 3, &op->token);
    (void)sqlite3_bind_int64(statement, 4, s->now_us);
    hf__bind_text(statement, 5, s->boot);
    (void)sqlite3_bind_int(statement, 6, op->is_detached);
    rc = hf__sql_run(s, HF__SQL_RENEW);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (sqlite3_changes(s->db->handle) == 0) {
        return lost(s, op, out);
    }
    out->result = HF_OK;
    if (op->is_detached) {
        out->let_go = op->token;
    } else {
        out->extend_us = expires_us;
    }
    return SQLITE_OK;
}

static int release(struct hf__sqlite *s, const struct hf__op *op,
                   struct hf__outcome *out)
{
    bool is_freed = false;
    int rc = free_name(s, op, false, &is_freed);

    if (rc != SQLITE_OK) {
        return rc;
    }
    if (!is_freed) {
        return lost(s, op, out);
    }
    out->result = HF_OK;
    out->let_go = op->token;
    out->is_freed = true;
    return SQLITE_OK;
}

bool hf__bind_to_life(struct hf__sqlite *s, const struct hf__op *op,
                      const struct hf__token *token, struct hf__outcome *out)
{
    if (op->is_detached) {
        return false;
    }
    out->hold = *token;
    return hf__held_add(&s->side->held, token, &op->key,
                        s->now_us + op->lease_us, &out->is_held);
}

/* Write the whole record for a grant. */
static int grant(struct hf__sqlite *s, const struct hf__op *op,
                 const struct hf__token *token, struct hf__outcome *out)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_PUT);
    bool is_bound;
    int rc;

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    is_bound = hf__bind_to_life(s, op, token, out);
    hf__bind_key(statement, 1, &op->key);
    (void)sqlite3_bind_int64(statement, 2, (int64_t)out->fence);
    hf__bind_token(statement, 3, token);
    (void)sqlite3_bind_int64(statement, 4, s->now_us + op->lease_us);
    (void)sqlite3_bind_int64(statement, 5, s->now_us + op->keep_us);
    (void)sqlite3_bind_int64(statement, 6, op->keep_us);
    hf__bind_text(statement, 7, s->boot);
    hf__bind_text(statement, 8, is_bound ? s->side->text : NULL);
    (void)sqlite3_bind_int64(statement, 9, s->wall_us);
    (void)sqlite3_bind_int64(statement, 10, (int64_t)out->broken);
    hf__bind_owner(statement, 11, op->owner);
    (void)sqlite3_bind_int(statement, 16, out->has_beside);
    (void)sqlite3_bind_int(statement, 17, out->has_line);
    out->result = HF_OK;
    rc = hf__sql_run(s, HF__SQL_PUT);
    return rc == SQLITE_OK && (out->has_beside || out->has_line)
               ? hf__crowded_settle(s, op, token, out)
               : rc;
}

/* What a grant keeps of the record before it. */
static void keep(struct hf__outcome *out, const struct hf__row *row)
{
    out->broken = row->broken;
    out->has_beside = row->has_beside;
    out->has_line = row->has_line;
}

static int handover(struct hf__sqlite *s, const struct hf__op *op,
                    struct hf__outcome *out)
{
    bool is_awaited = false;
    struct hf__row row;
    int rc = hf__row_get(s, &op->key, &row, NULL);

    if (rc != SQLITE_OK) {
        return rc;
    }
    /* DEAD with our token: won by a process that is no more. */
    if (!hf__token_equal(&row.token, &op->token) ||
        (row.standing != HF__STANDS_HELD && row.standing != HF__STANDS_DEAD)) {
        return lost(s, op, out);
    }
    if (row.has_line) {
        rc = hf__crowded_is_awaited(s, op, &is_awaited);
    }
    if (rc != SQLITE_OK || is_awaited) {
        out->result = HF_BUSY;
        return rc;
    }
    out->fence = hf__fence_next(s, row.fence);
    if (out->fence == 0) {
        return HF__SQLITE_RAISE_FIRST;
    }
    out->let_go = op->token;
    out->is_taken = true;
    keep(out, &row);
    return grant(s, op, &op->next_token, out);
}

static int raise_fence(struct hf__sqlite *s, const struct hf__op *op,
                       struct hf__outcome *out)
{
    struct hf__row row;
    int rc = hf__row_get(s, &op->key, &row, NULL);

    if (rc != SQLITE_OK) {
        return rc;
    }
    if (!hf__token_equal(&row.token, &op->token)) {
        return lost(s, op, out);
    }
    out->result = HF_OK;
    out->fence = row.fence;
    if (op->fence <= row.fence) {
        return SQLITE_OK;
    }
    if (!hf__fence_may_be(s, op->fence)) {
        return HF__SQLITE_RAISE_FIRST;
    }
    out->fence = op->fence;
    return hf__name_raise(s, &op->key, op->fence);
}

/* A second attempt of a claim whose first answer was lost. Once the lease has
 * run out it is a grant of its own, as others may have seen the name free. */
static bool is_ours_already(const struct hf__op *op, const struct hf__row *row)
{
    return hf__token_equal(&row->token, &op->token) &&
           (row->standing == HF__STANDS_HELD ||
            row->standing == HF__STANDS_DEAD);
}

bool hf__is_own_keeping(const struct hf__op *op, const struct hf__row *row)
{
    return row->standing == HF__STANDS_KEPT &&
           hf__token_equal(&row->token, &op->token);
}

/* The record is for who is in the way. */
static void forget_holder(const struct hf__op *op)
{
    if (op->ret_record != NULL) {
        *op->ret_record = (struct hf__record){
            .holder_lives = -1, .remaining_us = -1, .slot = -1};
    }
}

void hf__note_last_holder(const struct hf__op *op, const struct hf__row *row,
                          struct hf__outcome *out)
{
    if (!hf__token_equal(&row->token, &op->token)) {
        out->let_go = row->token;
        out->took_over |= !hf__token_is_zero(&row->token);
    }
}

/* Do those who stand beside, or in line, matter to the claim? */
static bool is_crowded(const struct hf__op *op, const struct hf__row *row)
{
    return row->has_beside || row->has_line ||
           op->manner.mode != HF__MODE_EXCLUSIVE ||
           (op->queueing == HF__QUEUE_ALWAYS && !hf__row_is_free(row) &&
            !hf__is_own_keeping(op, row));
}

static int acquire(struct hf__sqlite *s, const struct hf__op *op,
                   struct hf__outcome *out)
{
    struct hf__row row;
    int rc = hf__row_get(s, &op->key, &row, op->ret_record);

    if (rc != SQLITE_OK) {
        return rc;
    }
    keep(out, &row);
    if (is_ours_already(op, &row)) {
        forget_holder(op);
        out->fence = row.fence;
        return grant(s, op, &op->token, out);
    }
    if (is_crowded(op, &row)) {
        rc = hf__crowded_acquire(s, op, &row, out);
        if (rc != SQLITE_OK || out->result != HF_OK || out->fence != 0) {
            return rc;
        }
    } else if (!hf__row_is_free(&row) && !hf__is_own_keeping(op, &row)) {
        int r = hf__refuse(op, row.standing);

        out->result = r == HF_OK ? HF_BUSY : r;
        return SQLITE_OK;
    }
    out->fence = hf__fence_next(s, row.fence);
    if (out->fence == 0) {
        return HF__SQLITE_RAISE_FIRST;
    }
    forget_holder(op);
    hf__note_last_holder(op, &row, out);
    out->is_taken = true;
    return grant(s, op, &op->token, out);
}

int hf__apply(struct hf__sqlite *s, const struct hf__op *op,
              struct hf__outcome *out)
{
    switch (op->kind) {
    case HF__OP_RENEW:
        return renew(s, op, out);
    case HF__OP_RELEASE:
        return release(s, op, out);
    case HF__OP_HANDOVER:
        return handover(s, op, out);
    case HF__OP_RAISE:
        return raise_fence(s, op, out);
    case HF__OP_ACQUIRE:
        return acquire(s, op, out);
    case HF__OP_INSPECT:
        return hf__operate_inspect(s, op, out);
    case HF__OP_BREAK:
        return hf__operate_break(s, op, out);
    }
    return SQLITE_MISUSE;
}
