/* SPDX-License-Identifier: MIT */
/*
 * execute(): a batch is one transaction. This file decides what is known of a
 * batch after each step that can fail, runs a batch that failed as a whole
 * again in halves, and wakes waiters when all is done. The engine decides what
 * an operation does. Called by the session's thread.
 */
#include "src/backend/sqlite/sqlite.h"

#include "src/backend/sqlite/transaction.h"
#include "src/base/error.h"

#include <string.h>

/* ---- after the answer */

static void settle(struct hf__sqlite *s, struct hf__op *ops[], int n)
{
    for (int i = 0; i < n; i++) {
        hf__outcome_tell(&s->outcome[i], ops[i]);
        if (ops[i]->result == HF_LOST) {
            hf__held_remove(&s->local.side->held, NULL, &ops[i]->token);
        }
    }
    hf__side_effects_do(s);
}

/* Give every operation the same status, each with its own text. */
static int fail_all(struct hf__sqlite *s, struct hf__op *ops[], int n,
                    const struct hf__txn *txn, int rc)
{
    for (int i = 0; i < n; i++) {
        ops[i]->result = hf__txn_tell(s, txn, rc, ops[i]->err);
    }
    return hf__txn_end(s, txn, rc);
}

/* ---- one transaction */

static int apply(struct hf__sqlite *s, struct hf__op *op,
                 struct hf__outcome *out)
{
    bool is_done = false;
    int rc = hf__sqlite_commit_fast(s, op, out, &is_done);
    int r;

    if (rc != SQLITE_OK || is_done) {
        return rc;
    }
    r = hf__engine_apply(&hf__sqlite_primitives, s, op, out);
    if (r == HF__ABORTED) {
        return s->rc;
    }
    if (r != HF_OK) {
        *out = (struct hf__outcome){.result = r, .slot = -1};
    }
    return SQLITE_OK;
}

/* Apply by kind, in the order that the contract (backend.h) names. */
static int apply_all(struct hf__sqlite *s, struct hf__op *ops[], int n)
{
    int rc = SQLITE_OK;

    for (int kind = HF__OP_RENEW; kind <= HF__OP_BREAK; kind++) {
        for (int i = 0; i < n && rc == SQLITE_OK; i++) {
            if ((int)ops[i]->kind == kind) {
                rc = apply(s, ops[i], &s->outcome[i]);
            }
        }
    }
    return rc;
}

struct batch {
    struct hf__op **ops;
    int n;
};

static int apply_batch(struct hf__sqlite *s, void *arg)
{
    const struct batch *b = arg;
    int rc = apply_all(s, b->ops, b->n);

    for (int i = 0; i < b->n && rc == SQLITE_OK; i++) {
        b->ops[i]->result = HF_EUNKNOWN; /* until the commit is answered */
    }
    return rc;
}

/* Do these operations only keep or end what is held, so that no new name comes
 * in? */
static bool is_modest(struct hf__op *const ops[], int n)
{
    for (int i = 0; i < n; i++) {
        if (ops[i]->kind == HF__OP_ACQUIRE) {
            return false;
        }
    }
    return true;
}

static int take_turn(struct hf__sqlite *s, struct hf__txn *txn)
{
    int rc = SQLITE_BUSY;

    s->is_hasty = s->has_no_queue;
    if (s->has_no_queue) {
        s->has_no_queue = false; /* others may queue by the next time */
        rc = hf__txn_once(s, txn);
    }
    return ((rc & 0xff) == SQLITE_BUSY || hf__sql_is_full(s, rc)) &&
                   !txn->is_unknown
               ? hf__txn_queue(s, txn)
               : rc;
}

/* ---- batches */

/* Halves of halves: the recursion is at most as deep as the number of bits in
 * the batch's length. */
/* NOLINTNEXTLINE(misc-no-recursion) */
static int run(struct hf__sqlite *s, struct hf__op *ops[], int n)
{
    struct batch batch = {ops, n};
    struct hf__txn txn = {
        .fn = apply_batch, .arg = &batch, .is_modest = is_modest(ops, n)};
    int rc = take_turn(s, &txn);
    int r;

    if (rc == SQLITE_OK) {
        settle(s, ops, n);
        return HF_OK;
    }
    /* Make room for the caller's next try: it asks again, as the outcome of
     * this one is unknown. */
    if (txn.is_unknown && txn.is_modest && hf__sql_is_full(s, rc)) {
        hf__side_drop_ballast(s->local.side);
    }
    /* Would halves fail too, because the database is the reason and not one of
     * the operations? */
    if (n == 1 || txn.is_unknown || rc == HF__SQLITE_RAISE_FIRST ||
        (rc & 0xff) == SQLITE_BUSY || hf__sql_is_fatal(s, rc)) {
        return fail_all(s, ops, n, &txn, rc);
    }
    r = run(s, ops, n / 2);
    return r == HF_OK ? run(s, ops + n / 2, n - n / 2) : r;
}

/* Inspect only: without the write lock and the write queue, all from one
 * state. */
static int look(struct hf__sqlite *s, struct hf__op *ops[], int n)
{
    int rc;

    rc = hf__sqlite_has_moved(s) ? SQLITE_READONLY_DBMOVED
                                 : hf__sql_run(s, HF__SQL_BEGIN_READ);
    if (rc == SQLITE_OK) {
        hf__sqlite_set_clock(s);
        rc = apply_all(s, ops, n);
    }
    hf__sql_undo(s);
    if (rc == SQLITE_OK && !sqlite3_get_autocommit(s->db->handle)) {
        rc = SQLITE_NOMEM;
    }
    if (rc != SQLITE_OK) {
        return fail_all(s, ops, n, &(struct hf__txn){.fn = NULL}, rc);
    }
    settle(s, ops, n);
    return HF_OK;
}

static bool is_looking_only(struct hf__op *const ops[], int n)
{
    for (int i = 0; i < n; i++) {
        if (ops[i]->kind != HF__OP_INSPECT) {
            return false;
        }
    }
    return true;
}

static bool has_no_queue(const struct hf__side_hot *seen)
{
    struct hf__write_queue_front front;

    memcpy(&front,
           seen->own + offsetof(struct hf__sqlite_side, write_queue.next),
           sizeof front);
    return hf__write_queue_is_empty(&front);
}

int hf__sqlite_execute(void *state, struct hf__op *ops[], int n,
                       hf__time deadline, hf_error *err)
{
    struct hf__sqlite *s = state;
    struct hf__side_hot seen;
    int r = HF_OK;
    int count;

    hf__sqlite_begin(s, deadline, err);
    (void)hf__side_look(s->local.side, &seen); /* see hf__sqlite_has_moved() */
    s->local.sleep_slot.summary = seen.summary;
    s->has_no_queue = !hf__sleep_slot_hold_back(
                          &s->local.sleep_slot, &s->local.engine_session.head,
                          &s->local.side->wake_view, ops, n,
                          s->local.engine_session.deadline) &&
                      has_no_queue(&seen);
    hf__pool_take(s);
    for (int i = 0; i < n && r == HF_OK; i += count) {
        count = n - i < HF__SQLITE_BATCH ? n - i : HF__SQLITE_BATCH;
        r = is_looking_only(ops + i, count) ? look(s, ops + i, count)
                                            : run(s, ops + i, count);
    }
    if (r == HF_OK) {
        hf__pool_give(s);
    }
    return r;
}
