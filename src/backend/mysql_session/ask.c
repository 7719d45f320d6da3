/* SPDX-License-Identifier: MIT */
/*
 * The packet of a connection: one SELECT that renews locks by reading them,
 * releases them and tries to take them, for all tasks of a batch on that
 * connection. It also says which connection answers: if it is another than
 * before, all locks are gone. Called by the session's thread, which has taken
 * the connection.
 */
#include "src/backend/mysql_session/session.h"

#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/row.h"
#include "src/base/error.h"

#include <string.h>

/* Bytes of the part for one name, besides the name. */
#define PART_BYTES 96
/* Bytes of the packet besides these parts. */
#define REST_BYTES 1024
/* ER_LOCK_WAIT_TIMEOUT, ER_LOCK_NOWAIT: another holder has the row. */
#define LOCK_TIMEOUT 1205
#define LOCK_NOWAIT  3572

/* ---- choosing the tasks */

static void decide(struct hf__ul_task *t, int verdict)
{
    t->stage = HF__UL_TO_LOOK;
    t->verdict = verdict;
    t->lock = NULL;
}

static void finish(struct hf__ul_task *t, int result)
{
    t->op->result = result;
    t->stage = HF__UL_OVER;
    t->lock = NULL;
}

static bool is_claim(const struct hf__ul_task *t)
{
    return t->op->kind == HF__OP_ACQUIRE;
}

/* Does the task try to take its lock, rather than read it? */
static bool is_try(const struct hf__ul_task *t)
{
    return is_claim(t) && t->lock->state == HF__UL_WANTED;
}

/* Returns the lock that the claim may have: one that the server gave to a
 * waiter of this client, or a new one on the session's own connection. NULL:
 * none. */
static struct hf__ul_lock *lock_to_claim(struct hf__ul_session *f,
                                         struct hf__ul_conn *conn,
                                         struct hf__ul_task *t)
{
    const struct hf__key *key = &t->op->key;
    struct hf__ul_lock *lock =
        hf__ul_lock_named(f->pool, key->bytes, key->length);

    if (lock != NULL && (lock->state != HF__UL_WON || lock->conn != conn)) {
        return NULL;
    }
    if (lock == NULL && (conn->is_dedicated != f->scheme->is_dedicated ||
                         (!conn->is_dedicated && conn != f->home) ||
                         conn->n_locks >= f->pool->most)) {
        return NULL;
    }
    if (lock == NULL) {
        lock = hf__ul_lock_new(f->pool, conn, key->bytes, key->length);
        if (lock == NULL) {
            finish(t,
                   hf__fail(t->op->err, HF_ENOMEM, "out of memory for a lock"));
            return NULL;
        }
    }
    hf__ul_lock_claim(f->pool, lock, &t->op->token);
    return lock;
}

/* Find the locks of the tasks that this connection can answer. Returns their
 * number. */
static int gather(struct hf__ul_session *f, struct hf__ul_conn *conn)
{
    size_t bytes = REST_BYTES;
    int n = 0;
    HF_SCOPED_LOCK(&f->pool->mutex);

    for (int i = 0; i < f->n_tasks; i++) {
        struct hf__ul_task *t = &f->tasks[i];
        struct hf__ul_lock *lock;

        if (t->stage != HF__UL_TO_ASK) {
            continue;
        }
        bytes += PART_BYTES + 2 * (size_t)t->op->key.length +
                 2 * strlen(f->pool->database);
        if (n > 0 && bytes > f->pool->packet_most) {
            break;
        }
        lock = hf__ul_lock_of(f->pool, &t->op->token);
        if (lock == NULL && is_claim(t)) {
            lock = lock_to_claim(f, conn, t);
        }
        t->lock = lock != NULL && lock->conn == conn ? lock : NULL;
        if (t->lock != NULL && t->op->kind == HF__OP_RELEASE) {
            lock->state = HF__UL_LEAVING;
        }
        n += t->lock != NULL;
    }
    return n;
}

/* ---- asking */

/* A lock that a waiter was given a short while ago need not be read again, if
 * it needs no fence. */
static bool is_fresh(struct hf__ul_session *f, const struct hf__ul_task *t)
{
    int64_t half_ns = f->pool->lease_s * (1000 * HF__MS / 2);

    return is_claim(t) && t->lock->state == HF__UL_WON &&
           !f->pool->has_database &&
           hf__before(t->op->sent, hf__after_ns(t->lock->sent, half_ns)) &&
           hf__wire_look(&f->mysql) == HF_OK;
}

static int take_fresh(struct hf__ul_session *f)
{
    int n = 0;
    HF_SCOPED_LOCK(&f->pool->mutex);

    for (int i = 0; i < f->n_tasks; i++) {
        struct hf__ul_task *t = &f->tasks[i];

        if (t->lock != NULL && is_fresh(f, t)) {
            t->lock->state = HF__UL_HELD;
            t->op->sent = t->lock->sent;
            finish(t, HF_OK);
            n++;
        }
    }
    return n;
}

void hf__ul_write_packet(struct hf__ul_session *f,
                         const struct hf__ul_conn *conn)
{
    struct hf__text *sql = &f->mysql.sql;
    unsigned column = 0;

    hf__text_clear(sql);
    hf__text_add(sql, "SELECT CONNECTION_ID()");
    for (int i = 0; i < f->n_tasks; i++) {
        struct hf__ul_task *t = &f->tasks[i];

        if (t->lock == NULL) {
            continue;
        }
        t->op->result = HF_EUNKNOWN;
        t->lock->question = conn->question + 1; /* the number of this packet */
        t->lock->column = ++column;
        hf__text_add(sql, t->op->kind == HF__OP_RELEASE ? ",RELEASE_LOCK("
                          : is_try(t)                   ? ",GET_LOCK("
                                                        : ",IS_USED_LOCK(");
        hf__ul_write_name(f, t->lock->key, t->lock->length);
        hf__text_addf(sql, is_try(t) ? ",%s)" : ")", f->scheme->patience);
    }
}

/* There was no answer: the question goes on, and each task may be asked
 * again. */
static void give_up(struct hf__ul_session *f, int result)
{
    for (int i = 0; i < f->n_tasks; i++) {
        struct hf__op *op = f->tasks[i].op;
        /* The undo releases the lock, so a release must not be asked again. */
        int own = result == HF__AGAIN && op->kind == HF__OP_RELEASE
                      ? (int)HF_EUNKNOWN
                      : result;

        if (f->tasks[i].lock != NULL) {
            hf__ul_fail(f, op, own);
            finish(&f->tasks[i], own);
        }
    }
}

/* The connection is dead or another: its locks are no longer ours, and claims
 * failed. */
static void lose(struct hf__ul_session *f)
{
    f->mysql.wire.is_dead = true;
    for (int i = 0; i < f->n_tasks; i++) {
        struct hf__ul_task *t = &f->tasks[i];

        if (t->lock == NULL) {
            continue;
        }
        if (is_claim(t)) {
            finish(t, t->op->result == HF_EUNAVAIL ? HF_EUNAVAIL : HF_EUNKNOWN);
        } else {
            decide(t, HF_LOST);
        }
    }
}

/* ---- answers */

static void take_check(struct hf__ul_session *f, struct hf__ul_task *t,
                       const char *cell)
{
    struct hf__ul_lock *lock = t->lock;

    if (hf__column_u64(cell) != f->mysql.server.connection_id) {
        hf__ul_lock_free(f->pool, lock);
        f->mysql.wire.is_dead |= f->scheme->is_dedicated; /* useless without its
                                                             lock */
        decide(t, is_claim(t) ? HF_BUSY : HF_LOST);
    } else if (is_claim(t) && lock->state != HF__UL_HELD) {
        lock->state = HF__UL_WANTED; /* until it has its fence */
        t->is_stamped = !f->pool->has_database;
    } else if (t->op->kind == HF__OP_RAISE && t->op->fence > lock->fence) {
        finish(t, hf__fail(t->op->err, HF_ENOTSUP,
                           "the fences of this store can't be raised"));
    } else {
        t->op->fence = lock->fence;
        finish(t, HF_OK);
    }
}

/* 0: another has the lock. NULL: an error or a KILL QUERY, so we do not have
 * it. */
static void take_try(struct hf__ul_session *f, struct hf__ul_task *t,
                     const char *cell)
{
    if (cell != NULL && *cell == '1') {
        t->is_stamped = !f->pool->has_database;
        return;
    }
    if (!f->scheme->is_dedicated) {
        hf__ul_lock_free(f->pool, t->lock);
    }
    if (cell != NULL) {
        decide(t, HF_BUSY);
    } else {
        finish(t, HF__AGAIN);
    }
}

/* 0: another has the lock; NULL: nobody has it. In both cases it was lost
 * before. */
static void take_release(struct hf__ul_session *f, struct hf__ul_task *t,
                         const char *cell)
{
    hf__ul_lock_free(f->pool, t->lock);
    if (cell != NULL && *cell == '1') {
        finish(t, HF_OK);
    } else {
        decide(t, HF_LOST);
    }
}

static void take_answers(struct hf__ul_session *f, MYSQL_ROW row)
{
    int column = 1;
    HF_SCOPED_LOCK(&f->pool->mutex);

    for (int i = 0; i < f->n_tasks; i++) {
        struct hf__ul_task *t = &f->tasks[i];

        if (t->lock == NULL) {
            continue;
        }
        if (t->op->kind == HF__OP_RELEASE) {
            take_release(f, t, row[column++]);
        } else if (is_try(t)) {
            take_try(f, t, row[column++]);
        } else {
            take_check(f, t, row[column++]);
        }
        if (t->lock != NULL && t->lock->state == HF__UL_WANTED) {
            t->lock->sent = t->op->sent;
        }
    }
}

/* End the claims that need no fence, or have one. */
static void end_claims(struct hf__ul_session *f)
{
    HF_SCOPED_LOCK(&f->pool->mutex);

    for (int i = 0; i < f->n_tasks; i++) {
        struct hf__ul_task *t = &f->tasks[i];

        if (t->lock != NULL && t->is_stamped) {
            t->lock->state = HF__UL_HELD;
            t->op->fence = t->lock->fence;
            finish(t, HF_OK);
        }
    }
}

/* Give up the tasks after a refusal. By these two errors another holder has the
 * row, so a claim is busy. */
static void give_up_refused(struct hf__ul_session *f, unsigned error,
                            int result)
{
    bool is_busy = error == LOCK_TIMEOUT || error == LOCK_NOWAIT;

    for (int i = 0; i < f->n_tasks && is_busy; i++) {
        if (f->tasks[i].lock != NULL && is_claim(&f->tasks[i])) {
            decide(&f->tasks[i], HF_BUSY);
        }
    }
    give_up(f, result);
}

/* The server refused the whole packet. If only the statement was ended, or
 * something was lacking, the connection goes on. */
static void take_refusal(struct hf__ul_session *f, struct hf__ul_conn *conn)
{
    unsigned error = f->mysql.reply.error;
    int r = hf__mysql_refusal(&f->mysql, f->mysql.t.err);
    enum hf__error_class class = hf__mysql_error_class(error);

    if (class == HF__ERROR_UNKNOWN && !hf__ul_is_cut_short(error)) {
        lose(f);
        return;
    }
    give_up_refused(f, error, class == HF__ERROR_SERVER ? r : (int)HF__AGAIN);
    if (hf__ul_conn_undo(f, conn) < 0) {
        f->mysql.wire.is_dead = true;
    }
}

void hf__ul_ask(struct hf__ul_session *f, struct hf__ul_conn *conn)
{
    MYSQL_ROW row;
    int n = gather(f, conn);
    int r;

    n -= take_fresh(f);
    if (n == 0) {
        return;
    }
    r = f->scheme->ask(f, conn);
    if (r != HF_OK) {
        if (r == HF_BUSY) {
            give_up(f, HF_EUNKNOWN);
        } else {
            lose(f);
        }
        return;
    }
    if (f->mysql.reply.error != 0) {
        take_refusal(f, conn);
        return;
    }
    row = hf__ul_row(f, (unsigned)n + 1);
    if (row == NULL || !hf__ul_is_same(f, row)) {
        lose(f);
        return;
    }
    take_answers(f, row);
    if (f->pool->has_database) {
        hf__ul_write_fences(f, conn);
    }
    end_claims(f);
    /* Release what was not granted, or got no fence. */
    if (f->scheme->is_dedicated && !f->mysql.wire.is_dead &&
        hf__ul_conn_undo(f, conn) < 0) {
        f->mysql.wire.is_dead = true;
    }
}
