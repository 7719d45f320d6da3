/* SPDX-License-Identifier: MIT */
/*
 * execute(): a batch is one transaction. Decides what is known of a batch
 * after each step that can fail, re-runs in halves what failed as a unit, and
 * wakes others when all is done. What an operation does is the engine's. Called
 * by the session's thread.
 */
#include "src/backend/sqlite/sqlite.h"

#include "src/backend/sqlite/change.h"
#include "src/base/error.h"

#include <string.h>

/* More raises in a row mean that the ceiling does not hold. */
#define RAISES_MAX 3

/* ---- after the answer */

static void settle(struct hf__sqlite *s, struct hf__op *ops[], int n)
{
    for (int i = 0; i < n; i++) {
        hf__outcome_tell(&s->outcome[i], ops[i]);
        if (ops[i]->result == HF_LOST) {
            hf__held_remove(&s->local.side->held, NULL, &ops[i]->token);
        }
    }
    hf__deeds_do(s);
}

/* Each operation gets the same answer, with its own text. */
static int fail_all(struct hf__sqlite *s, struct hf__op *ops[], int n, int rc)
{
    int r = HF_OK;

    for (int i = 0; i < n; i++) {
        r = s->moved_file >= 0
                ? hf__sqlite_fail_moved(s, s->moved_file, ops[i]->err)
                : hf__sql_status(s, rc, ops[i]->err);
        ops[i]->result = r;
    }
    if (s->moved_file >= 0) {
        return hf__sqlite_fail_moved(s, s->moved_file, s->err);
    }
    return hf__sql_is_fatal(s, rc) ? hf__sql_status(s, rc, s->err) : HF_OK;
}

static int say_unknown(struct hf__sqlite *s, struct hf__op *ops[], int n,
                       int rc)
{
    for (int i = 0; i < n; i++) {
        ops[i]->result =
            hf__fail_native(ops[i]->err, HF_EUNKNOWN, rc, HF__SQLITE_PERHAPS,
                            s->place.path[HF__FILE_DB], sqlite3_errstr(rc));
    }
    return hf__fail_native(s->err, HF_EUNAVAIL, rc, "cannot write %s: %s",
                           s->place.path[HF__FILE_DB], sqlite3_errstr(rc));
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

/* In the order of kinds that the contract names. */
static int apply_all(struct hf__sqlite *s, struct hf__op *ops[], int n)
{
    int rc = SQLITE_OK;

    s->deeds.n = 0;
    for (int kind = HF__OP_RENEW; kind <= HF__OP_BREAK; kind++) {
        for (int i = 0; i < n && rc == SQLITE_OK; i++) {
            if ((int)ops[i]->kind == kind) {
                rc = apply(s, ops[i], &s->outcome[i]);
            }
        }
    }
    return rc;
}

static int commit(struct hf__sqlite *s, struct hf__op *ops[], int n,
                  bool *ret_is_unknown)
{
    int rc;

    for (int i = 0; i < n; i++) {
        ops[i]->result = HF_EUNKNOWN;
    }
    rc = hf__space_commit(s);
    *ret_is_unknown = hf__sqlite_may_last(s, rc);
    return rc;
}

static int transact(struct hf__sqlite *s, struct hf__op *ops[], int n,
                    bool *ret_is_unknown)
{
    int rc = hf__sqlite_begin_write(s);

    *ret_is_unknown = false;
    s->fence_wanted = 0;
    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = apply_all(s, ops, n);
    if (rc == SQLITE_OK) {
        rc = commit(s, ops, n, ret_is_unknown);
    }
    hf__sql_undo(s);
    if (rc != SQLITE_OK && !*ret_is_unknown) {
        hf__deeds_undo(s);
    }
    return rc;
}

/* A transaction, with the ceiling raised where that helps. */
static int transact_below(struct hf__sqlite *s, struct hf__op *ops[], int n,
                          bool *ret_is_unknown)
{
    int rc = transact(s, ops, n, ret_is_unknown);

    for (int raises = 0; rc == HF__SQLITE_RAISE_FIRST && s->fence_wanted != 0 &&
                         raises < RAISES_MAX;
         raises++) {
        rc = hf__fence_raise(s);
        if (rc == SQLITE_OK) {
            rc = transact(s, ops, n, ret_is_unknown);
        }
    }
    return rc;
}

/* Does it only go on with what is held, and takes no new name in? */
static bool is_modest(struct hf__op *const ops[], int n)
{
    for (int i = 0; i < n; i++) {
        if (ops[i]->kind == HF__OP_ACQUIRE) {
            return false;
        }
    }
    return true;
}

/* Stand in the queue for it. In one turn: what was made room for, nobody else
 * in the queue may use. */
static int queue_up(struct hf__sqlite *s, struct hf__op *ops[], int n,
                    bool *ret_is_unknown)
{
    struct hf__gate_at gate = hf__side_gate(s->local.side);
    unsigned ticket;
    int rc;

    if (hf__gate_enter(gate, &s->local.plain.head, s->local.plain.deadline,
                       &ticket)) {
        return SQLITE_BUSY;
    }
    rc = transact_below(s, ops, n, ret_is_unknown);
    if (hf__sql_is_full(s, rc) && !*ret_is_unknown) {
        hf__space_merge(s);
        rc = transact_below(s, ops, n, ret_is_unknown);
    }
    if (hf__sql_is_full(s, rc) && !*ret_is_unknown && is_modest(ops, n)) {
        hf__side_drop_ballast(s->local.side);
        hf__space_merge(s);
        rc = transact_below(s, ops, n, ret_is_unknown);
    }
    hf__gate_leave(gate, ticket);
    return rc;
}

static int take_turn(struct hf__sqlite *s, struct hf__op *ops[], int n,
                     bool *ret_is_unknown)
{
    int rc = SQLITE_BUSY;

    *ret_is_unknown = false;
    s->is_hasty = s->has_no_queue;
    if (s->has_no_queue) {
        s->has_no_queue = false; /* it may differ the next time */
        rc = transact_below(s, ops, n, ret_is_unknown);
    }
    if (((rc & 0xff) == SQLITE_BUSY || hf__sql_is_full(s, rc)) &&
        !*ret_is_unknown) {
        rc = queue_up(s, ops, n, ret_is_unknown);
    }
    if (rc == SQLITE_OK) {
        settle(s, ops, n);
    }
    return rc;
}

/* ---- batches */

/* For the next try: one that asks anew, for what became of this is not known.
 */
static void make_room(struct hf__sqlite *s, struct hf__op *const ops[], int n,
                      int rc)
{
    if (hf__sql_is_full(s, rc) && is_modest(ops, n)) {
        hf__side_drop_ballast(s->local.side);
    }
}

/* Failed for what is in it, not for where it goes? */
static bool is_divisible(const struct hf__sqlite *s, int rc)
{
    return rc != HF__SQLITE_RAISE_FIRST && (rc & 0xff) != SQLITE_BUSY &&
           !hf__sql_is_fatal(s, rc);
}

/* Halves of halves: at most as deep as the batch has bits. */
/* NOLINTNEXTLINE(misc-no-recursion) */
static int run(struct hf__sqlite *s, struct hf__op *ops[], int n)
{
    bool is_unknown = false;
    int rc = take_turn(s, ops, n, &is_unknown);
    int r;

    if (rc == SQLITE_OK) {
        return HF_OK;
    }
    if (is_unknown) {
        make_room(s, ops, n, rc);
        return say_unknown(s, ops, n, rc);
    }
    if (n == 1 || !is_divisible(s, rc)) {
        return fail_all(s, ops, n, rc);
    }
    r = run(s, ops, n / 2);
    return r == HF_OK ? run(s, ops + n / 2, n - n / 2) : r;
}

/* Only looking: no write lock, no gate, all from one state. */
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
        return fail_all(s, ops, n, rc);
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

static bool has_no_queue(const struct hf__threshold *seen)
{
    struct hf__gate_front front;

    memcpy(&front, seen->own + offsetof(struct hf__sqlite_board, gate.next),
           sizeof front);
    return hf__gate_is_empty(&front);
}

int hf__sqlite_execute(void *state, struct hf__op *ops[], int n,
                       hf__time deadline, hf_error *err)
{
    struct hf__sqlite *s = state;
    struct hf__threshold seen;
    int r = HF_OK;
    int count;

    hf__sqlite_begin(s, deadline, err);
    (void)hf__side_look(s->local.side, &seen); /* see hf__sqlite_has_moved() */
    s->local.nap.lobby = seen.lobby;
    s->has_no_queue = !hf__nap_hold_back(&s->local.nap, &s->local.plain.head,
                                         &s->local.side->bells, ops, n,
                                         s->local.plain.deadline) &&
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
