/* SPDX-License-Identifier: MIT */
/*
 * What each kind of operation does to a record. Transactions, results and
 * waking are batch.c's. Called by the session's thread, with SQLite's write
 * lock held (for inspecting: inside a read).
 */
#include "src/backend/sqlite/apply.h"

#include "src/backend/sqlite/fence.h"
#include "src/backend/sqlite/row.h"
#include "src/base/error.h"

/* The answers that are no outcome of any kind: HF_OK if there is none. */
static int refuse(const struct hf__op *op, const struct hf__row *row)
{
    if (row->standing == HF__STANDS_DAMAGED) {
        return hf__fail(op->err, HF_EPROTO,
                        "the record of this lock in holdfast_lock was changed "
                        "by somebody else and makes no sense; delete that row "
                        "when nobody uses the lock");
    }
    if (row->standing == HF__STANDS_FOREIGN) {
        return hf__fail(op->err, HF_EUNSAFE,
                        "the holder runs in another time namespace, or in a "
                        "container with a boot id of its own, so its lease "
                        "can't be judged by this one's clock; use the lock in "
                        "one of the two only");
    }
    return HF_OK;
}

/* The token does not own the record, or not any more. */
static int lost(struct hf__sqlite *s, const struct hf__op *op,
                struct hf__outcome *out)
{
    struct hf__row row;
    int rc = hf__row_get(s, &op->key, &row, op->ret_record);

    out->result = HF_LOST;
    if (row.standing == HF__STANDS_DAMAGED ||
        hf__token_equal(&row.token, &op->token)) {
        /* Ours: the lease has run out, or its clock is another one. */
        int r = refuse(op, &row);

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

/* The clock does not matter here: the owner may always let go. */
static int release(struct hf__sqlite *s, const struct hf__op *op,
                   struct hf__outcome *out)
{
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_FREE);
    int rc;

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    (void)sqlite3_bind_int(statement, 1, op->reopens);
    (void)sqlite3_bind_int64(statement, 2, s->wall_us);
    hf__bind_key(statement, 3, &op->key);
    hf__bind_token(statement, 4, &op->token);
    rc = hf__sql_run(s, HF__SQL_FREE);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (sqlite3_changes(s->db->handle) == 0) {
        return lost(s, op, out);
    }
    out->result = HF_OK;
    out->let_go = op->token;
    out->is_freed = true;
    return SQLITE_OK;
}

/* The grant dies with this process: it is remembered before the record can be
 * seen, and forgotten by batch.c if it never is. */
static bool bind_to_life(struct hf__sqlite *s, const struct hf__op *op,
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
    static const struct hf__owner nobody;
    const struct hf__owner *owner = op->owner != NULL ? op->owner : &nobody;
    sqlite3_stmt *statement = hf__sql(s, HF__SQL_PUT);
    bool is_bound;

    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    is_bound = bind_to_life(s, op, token, out);
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
    hf__bind_text(statement, 11, owner->label);
    hf__bind_text(statement, 12, owner->host);
    (void)sqlite3_bind_int64(statement, 13, owner->pid);
    hf__bind_text(statement, 14, owner->thread);
    hf__bind_text(statement, 15, owner->note);
    out->result = HF_OK;
    return hf__sql_run(s, HF__SQL_PUT);
}

static int handover(struct hf__sqlite *s, const struct hf__op *op,
                    struct hf__outcome *out)
{
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
    out->fence = hf__fence_next(s, row.fence);
    if (out->fence == 0) {
        return HF__SQLITE_RAISE_FIRST;
    }
    out->let_go = op->token;
    out->is_taken = true;
    out->broken = row.broken;
    return grant(s, op, &op->next_token, out);
}

static int raise_fence(struct hf__sqlite *s, const struct hf__op *op,
                       struct hf__outcome *out)
{
    sqlite3_stmt *statement;
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
    statement = hf__sql(s, HF__SQL_RAISE);
    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    out->fence = op->fence;
    (void)sqlite3_bind_int64(statement, 1, (int64_t)op->fence);
    hf__bind_key(statement, 2, &op->key);
    return hf__sql_run(s, HF__SQL_RAISE);
}

/* A second attempt of a claim whose first answer was lost. Once the lease has
 * run out it is a grant of its own, as others may have seen the name free. */
static bool is_ours_already(const struct hf__op *op, const struct hf__row *row)
{
    return hf__token_equal(&row->token, &op->token) &&
           (row->standing == HF__STANDS_HELD ||
            row->standing == HF__STANDS_DEAD);
}

/* The same, and its lease ran out: it kept the name closed for itself. */
static bool is_own_keeping(const struct hf__op *op, const struct hf__row *row)
{
    return row->standing == HF__STANDS_KEPT &&
           hf__token_equal(&row->token, &op->token);
}

/* The record is for who is in the way. */
static void forget_holder(const struct hf__op *op)
{
    if (op->ret_record != NULL) {
        *op->ret_record =
            (struct hf__record){.holder_lives = -1, .remaining_us = -1};
    }
}

static int acquire(struct hf__sqlite *s, const struct hf__op *op,
                   struct hf__outcome *out)
{
    struct hf__row row;
    int rc = hf__row_get(s, &op->key, &row, op->ret_record);

    if (rc != SQLITE_OK) {
        return rc;
    }
    out->broken = row.broken;
    if (is_ours_already(op, &row)) {
        forget_holder(op);
        out->fence = row.fence;
        return grant(s, op, &op->token, out);
    }
    if (!hf__row_is_free(&row) && !is_own_keeping(op, &row)) {
        int r = refuse(op, &row);

        out->result = r == HF_OK ? HF_BUSY : r;
        return SQLITE_OK;
    }
    out->fence = hf__fence_next(s, row.fence);
    if (out->fence == 0) {
        return HF__SQLITE_RAISE_FIRST;
    }
    forget_holder(op);
    /* Of a holder that is gone; ours only if its lease ran out here. */
    if (!hf__token_equal(&row.token, &op->token)) {
        out->let_go = row.token;
    }
    out->is_taken = true;
    return grant(s, op, &op->token, out);
}

static int inspect(struct hf__sqlite *s, const struct hf__op *op,
                   struct hf__outcome *out)
{
    struct hf__row row;
    int rc = hf__row_get(s, &op->key, &row, op->ret_record);

    out->result = HF_OK;
    if (row.standing == HF__STANDS_DAMAGED) {
        out->result = refuse(op, &row);
    }
    return rc;
}

/* Allowed also where the holder's clock is another: a person decides. */
static int break_lock(struct hf__sqlite *s, const struct hf__op *op,
                      struct hf__outcome *out)
{
    sqlite3_stmt *statement;
    struct hf__row row;
    int rc = hf__row_get(s, &op->key, &row, op->ret_record);

    if (rc != SQLITE_OK) {
        return rc;
    }
    if ((row.standing != HF__STANDS_HELD && row.standing != HF__STANDS_DEAD &&
         row.standing != HF__STANDS_FOREIGN &&
         row.standing != HF__STANDS_KEPT) ||
        (op->fence != 0 && op->fence != row.fence)) {
        out->result = HF_CONFLICT;
        return SQLITE_OK;
    }
    out->fence = hf__fence_next(s, row.fence);
    if (out->fence == 0) {
        return HF__SQLITE_RAISE_FIRST;
    }
    statement = hf__sql(s, HF__SQL_BREAK);
    if (statement == NULL) {
        return hf__sql_failure(s);
    }
    (void)sqlite3_bind_int64(statement, 1, (int64_t)out->fence);
    (void)sqlite3_bind_int64(statement, 2, s->wall_us);
    hf__bind_key(statement, 3, &op->key);
    out->result = HF_OK;
    out->is_freed = true;
    out->let_go = row.token;
    return hf__sql_run(s, HF__SQL_BREAK);
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
        return inspect(s, op, out);
    case HF__OP_BREAK:
        return break_lock(s, op, out);
    }
    return SQLITE_MISUSE;
}
