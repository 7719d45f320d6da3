/* SPDX-License-Identifier: MIT */
/*
 * execute(): each operation goes to the connection that has its lock; a claim
 * of a name that this client does not have goes to the session's own. One
 * packet has all questions to a connection; then names that are not ours are
 * read, to report who has them. A batch never fails as a whole: one dead
 * connection must not close the session, since the others still have locks.
 * Called by the session's thread.
 */
#include "src/backend/mysql_session/session.h"

#include "src/base/alloc.h"
#include "src/base/error.h"

static enum hf__ul_stage first_stage(enum hf__op_kind kind)
{
    switch (kind) {
    case HF__OP_INSPECT:
        return HF__UL_TO_LOOK;
    case HF__OP_BREAK:
        return HF__UL_TO_BREAK;
    case HF__OP_HANDOVER:
        return HF__UL_OVER;
    case HF__OP_RENEW:
    case HF__OP_RELEASE:
    case HF__OP_RAISE:
    case HF__OP_ACQUIRE:
    default:
        return HF__UL_TO_ASK;
    }
}

static int begin(struct hf__ul_session *f, struct hf__op *ops[], int n)
{
    struct hf__ul_task *tasks =
        hf__resize(f->tasks, (size_t)n * sizeof *f->tasks);

    if (tasks == NULL) {
        return HF_ENOMEM;
    }
    f->tasks = tasks;
    f->n_tasks = n;
    for (int i = 0; i < n; i++) {
        tasks[i] = (struct hf__ul_task){
            .op = ops[i],
            .stage = first_stage(ops[i]->kind),
            .verdict = HF_OK,
        };
        if (tasks[i].stage == HF__UL_OVER) {
            ops[i]->result = hf__fail(ops[i]->err, HF_ENOTSUP,
                                      "a user lock can't be handed over");
        }
    }
    return HF_OK;
}

/* Find the task's connection in *ret_conn; NULL: its lock is on none yet.
 * False: the task is decided. */
static bool find_conn(struct hf__ul_session *f, struct hf__ul_task *t,
                      struct hf__ul_conn **ret_conn)
{
    const struct hf__key *key = &t->op->key;
    struct hf__ul_lock *lock = hf__ul_lock_of(f->pool, &t->op->token);

    *ret_conn = NULL;
    if (lock == NULL && t->op->kind == HF__OP_ACQUIRE) {
        lock = hf__ul_lock_named(f->pool, key->bytes, key->length);
        if (lock != NULL && hf__ul_conn_has_ended(lock->conn)) {
            lock->conn->is_cut = true; /* whoever takes it will end it: we, or
                                          its user */
        } else if (lock != NULL && lock->state == HF__UL_HELD) {
            t->stage = HF__UL_TO_LOOK;
            t->verdict = HF_BUSY;
            return false;
        }
    } else if (lock == NULL) {
        t->stage = HF__UL_TO_LOOK;
        t->verdict = HF_LOST;
        return false;
    }
    *ret_conn = lock == NULL ? NULL : lock->conn;
    return true;
}

/* Take the connection that the task needs. NULL: the task is decided, or
 * failed. */
static struct hf__ul_conn *pick_conn(struct hf__ul_session *f,
                                     struct hf__ul_task *t)
{
    struct hf__ul_conn *conn;
    int r;

    hf__mutex_lock(&f->pool->mutex);
    while (find_conn(f, t, &conn) && conn != NULL) {
        if (hf__ul_conn_try(f, conn)) {
            break;
        }
        if (!hf__ul_conn_await(f)) {
            (void)hf__fail(t->op->err, HF_EUNAVAIL,
                           "the lock's connection did not become free in time");
            t->stage = HF__UL_OVER;
            conn = NULL;
            break;
        }
    }
    hf__mutex_unlock(&f->pool->mutex);
    if (conn != NULL || t->stage != HF__UL_TO_ASK) {
        return conn;
    }
    r = f->scheme->is_dedicated ? hf__ul_conn_dedicated(f, &conn)
                                : hf__ul_conn_home(f, true, &conn);
    if (r != HF_OK) {
        hf__ul_fail(f, t->op, r);
        t->stage = HF__UL_OVER;
    }
    return r == HF_OK ? conn : NULL;
}

/* A renewal whose answer came after an earlier call had given up is over. That
 * is found out before the connection is asked, and before an outstanding reply
 * is waited for. */
static void take_late(struct hf__ul_session *f, const struct hf__ul_conn *conn)
{
    HF_SCOPED_LOCK(&f->pool->mutex);

    for (int i = 0; i < f->n_tasks; i++) {
        struct hf__ul_task *t = &f->tasks[i];
        struct hf__ul_lock *lock;

        if (t->stage != HF__UL_TO_ASK || t->op->kind != HF__OP_RENEW) {
            continue;
        }
        lock = hf__ul_lock_of(f->pool, &t->op->token);
        if (lock != NULL && lock->conn == conn && lock->heard.ns != 0 &&
            hf__wire_look(&f->mysql) == HF_OK) {
            t->op->sent = lock->heard;
            t->op->fence = lock->fence;
            t->op->result = HF_OK;
            t->stage = HF__UL_OVER;
            lock->heard = (hf__time){0};
        }
    }
}

static void ask(struct hf__ul_session *f, struct hf__ul_task *t)
{
    struct hf__ul_conn *conn = pick_conn(f, t);
    int r;

    if (conn == NULL) {
        return;
    }
    take_late(f, conn);
    if (t->stage != HF__UL_TO_ASK) {
        hf__ul_conn_give(f, conn); /* a reply may be outstanding on it */
        return;
    }
    r = hf__ul_conn_settle(f, conn);
    if (r == HF_OK) {
        take_late(f, conn);
        hf__ul_ask(f, conn);
    } else if (r == HF_BUSY) {
        t->op->result = HF_EUNAVAIL;
        (void)hf__fail(t->op->err, HF_EUNAVAIL,
                       "the server did not answer in time");
        t->stage = HF__UL_OVER;
    } else {
        f->mysql.wire.is_dead = true;
    }
    hf__ul_conn_give(f, conn);
}

static bool is_over(struct hf__ul_session *f)
{
    return hf__is_interrupted(&f->mysql.t.head) ||
           !hf__before(hf__now(), f->mysql.t.deadline);
}

int hf__ul_execute(void *state, struct hf__op *ops[], int n, hf__time deadline,
                   hf_error *err)
{
    struct hf__ul_session *f = state;

    hf__table_begin(&f->mysql.t, deadline, err);
    if (begin(f, ops, n) != HF_OK) {
        return hf__fail(err, HF_ENOMEM, "out of memory for a batch");
    }
    for (int i = 0; i < n; i++) {
        struct hf__ul_task *t = &f->tasks[i];

        while (t->stage == HF__UL_TO_ASK) {
            ask(f, t);
            if (t->stage == HF__UL_TO_ASK && is_over(f)) {
                t->stage = HF__UL_OVER; /* nothing was sent */
            }
        }
    }
    hf__ul_look(f);
    for (int i = 0; i < n; i++) {
        if (f->tasks[i].stage == HF__UL_TO_BREAK) {
            hf__ul_break(f, &f->tasks[i]);
        }
    }
    f->n_tasks = 0;
    return HF_OK;
}
