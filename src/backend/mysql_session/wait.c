/* SPDX-License-Identifier: MIT */
/*
 * wait(): a separate connection waits in the server's queue for the lock. When
 * the server grants the lock, that connection has it, and the claim that was
 * waited for takes over lock and connection. While the connection waits, its
 * reply is outstanding and it is used for nothing else. A waiter that gives up
 * ends the connection, and the server drops it from the queue. Called by the
 * session's thread.
 */
#include "src/backend/mysql_session/session.h"

#include "src/backend/mysql/errors.h"
#include "src/base/error.h"
#include "src/base/rand.h"

#include <string.h>

/* If several names are waited for at once, they are polled at such
 * intervals. */
#define POLL_LOW_MS  50
#define POLL_HIGH_MS 150
/* Pause after an answer that is NULL or a deadlock, as after a KILL QUERY. */
#define PAUSE_MS 20
/* ER_LOCK_WAIT_TIMEOUT: the server waited for the row as long as it may. */
#define LOCK_TIMEOUT 1205

/* ---- the connection that waits */

/* Take the waiting connection; NULL: there is none. Besides us only the
 * listener takes it, if it has seen its end and is ending it. The mutex is
 * held. */
static struct hf__ul_conn *take_asking(struct hf__ul_session *f)
{
    struct hf__ul_conn *conn = f->queue;

    if (conn == NULL || hf__ul_conn_try(f, conn)) {
        return conn;
    }
    conn->owner = NULL;
    f->queue = NULL;
    return NULL;
}

/* A server's thread that waits for a row does not notice that its client is
 * gone until it gets the row, so kill it by another connection. */
static void end_waiting(struct hf__ul_session *f, uint64_t connection)
{
    struct hf__ul_conn *conn = NULL;
    int r = hf__ul_conn_use(f, &conn);

    if (r == HF_OK) {
        hf__text_clear(&f->mysql.sql);
        hf__text_addf(&f->mysql.sql, "KILL %llu",
                      (unsigned long long)connection);
        r = hf__ul_conn_ask(f, conn);
        f->mysql.wire.is_dead |= r < 0;
        hf__ul_conn_give(f, conn);
    }
}

static void leave_conn(struct hf__ul_session *f)
{
    struct hf__ul_pool *pool = f->pool;
    struct hf__ul_conn *conn;

    if (f->scheme->is_dedicated && f->queue != NULL) {
        end_waiting(f, f->queue->connection_id);
    }
    hf__mutex_lock(&pool->mutex);
    conn = take_asking(f);
    if (conn != NULL) {
        conn->is_cut = true;
    }
    hf__mutex_unlock(&pool->mutex);
    if (conn != NULL) {
        hf__ul_conn_give(f, conn);
    }
}

/* Take the connection of a lock that this session was granted while no claim
 * came for it; NULL: none. */
static struct hf__ul_conn *take_won(struct hf__ul_session *f)
{
    struct hf__ul_pool *pool = f->pool;
    HF_SCOPED_LOCK(&pool->mutex);

    for (;;) {
        struct hf__ul_lock *lock =
            hf__ul_lock_named(pool, f->queue_key, f->queue_length);

        if (lock == NULL || lock->state != HF__UL_WON || lock->winner != f) {
            return NULL;
        }
        if (hf__ul_conn_try(f, lock->conn)) {
            lock->state = HF__UL_LEAVING;
            return lock->conn;
        }
        if (!hf__ul_conn_await(f)) {
            return NULL; /* its user releases it, or the server after the
                            lease */
        }
    }
}

/* Release the lock so that the connection can be used again. If a claim's reply
 * is outstanding it is taken first; if that does not come in time the
 * connection ends, which frees the lock. */
static void leave_lock(struct hf__ul_session *f)
{
    struct hf__ul_conn *conn = take_won(f);
    int r;

    if (conn == NULL) {
        return;
    }
    r = conn->owes ? hf__ul_conn_settle(f, conn) : hf__ul_conn_undo(f, conn);
    f->mysql.wire.is_dead |= r != HF_OK;
    hf__mutex_lock(&f->pool->mutex);
    if (f->home == NULL && !conn->is_dedicated) {
        f->home = conn;
        conn->owner = f;
    }
    hf__mutex_unlock(&f->pool->mutex);
    hf__ul_conn_give(f, conn);
}

void hf__ul_wait_leave(struct hf__ul_session *f)
{
    if (f->pool == NULL || f->queue_length == 0) {
        return;
    }
    leave_conn(f);
    leave_lock(f);
    f->queue_length = 0;
}

/* Take the session's own connection if it has no locks, else another. */
static int take_queue(struct hf__ul_session *f, struct hf__ul_conn **ret_conn)
{
    struct hf__ul_pool *pool = f->pool;
    struct hf__ul_conn *conn = NULL;
    int r = HF_OK;

    hf__mutex_lock(&pool->mutex);
    if (!f->scheme->is_dedicated && f->home != NULL && f->home->n_locks == 0 &&
        !f->home->is_busy && !f->home->owes && hf__ul_conn_try(f, f->home)) {
        conn = f->home;
        f->home = NULL;
    }
    hf__mutex_unlock(&pool->mutex);
    if (conn != NULL && hf__wire_look(&f->mysql) != HF_OK) {
        hf__ul_conn_give(f, conn);
        conn = NULL;
    }
    if (f->scheme->is_dedicated) {
        r = hf__ul_conn_dedicated(f, &conn);
    } else if (conn == NULL) {
        r = hf__ul_conn_new(f, &conn);
    }
    if (r == HF_OK) {
        HF_SCOPED_LOCK(&pool->mutex);
        conn->owner = f;
        f->queue = conn;
        *ret_conn = conn;
    }
    return r;
}

static int ask(struct hf__ul_session *f, struct hf__ul_conn *conn,
               bool is_missing)
{
    struct hf__mysql *s = &f->mysql;
    int r = f->scheme->stand == NULL ? (int)HF_OK
                                     : f->scheme->stand(f, conn, is_missing);

    if (r != HF_OK) {
        return r == HF_BUSY ? (int)HF_EUNAVAIL : r;
    }
    hf__text_clear(&s->sql);
    hf__text_add(&s->sql, "SELECT CONNECTION_ID(),GET_LOCK(");
    hf__ul_write_name(f, f->queue_key, f->queue_length);
    hf__text_add(&s->sql, ",");
    f->scheme->write_queue(f);
    f->asked = hf__now();
    r = hf__wire_begin(s);
    conn->owes = r == HF_OK;
    return r;
}

/* ---- answers */

static bool is_won(struct hf__ul_session *f)
{
    struct hf__ul_lock *lock;
    HF_SCOPED_LOCK(&f->pool->mutex);

    lock = hf__ul_lock_named(f->pool, f->queue_key, f->queue_length);
    return lock != NULL && lock->state == HF__UL_WON;
}

static int keep_lock(struct hf__ul_session *f, struct hf__ul_conn *conn)
{
    struct hf__ul_lock *lock;
    HF_SCOPED_LOCK(&f->pool->mutex);

    lock = hf__ul_lock_new(f->pool, conn, f->queue_key, f->queue_length);
    if (lock == NULL) {
        conn->is_cut = true;
        return hf__fail(f->mysql.t.err, HF_ENOMEM, "out of memory for a lock");
    }
    lock->state = HF__UL_WON;
    lock->winner = f;
    lock->sent = f->asked;
    conn->owner = NULL;
    f->queue = NULL;
    return HF_OK;
}

/* The answer has come. HF_OK, or the connection can't be used any more. */
static int hear(struct hf__ul_session *f, struct hf__ul_conn *conn,
                bool *ret_has_fired)
{
    struct hf__mysql *s = &f->mysql;
    MYSQL_ROW row;

    conn->owes = false;
    if (hf__ul_is_cut_short(s->reply.error) ||
        (f->scheme->is_dedicated &&
         hf__mysql_error_class(s->reply.error) == HF__ERROR_AGAIN)) {
        if (s->reply.error != LOCK_TIMEOUT) { /* a deadlock, or a KILL QUERY */
            hf__table_rest(&s->t, hf__after_ms(hf__now(), PAUSE_MS));
        }
        return ask(f, conn, false);
    }
    if (s->reply.error != 0) {
        s->wire.is_dead = true;
        return hf__mysql_refusal(s, s->t.err);
    }
    row = hf__ul_row(f, 2);
    if (row == NULL && f->scheme->is_dedicated && s->reply.rows != NULL) {
        return ask(f, conn, true);
    }
    if (row == NULL || !hf__ul_is_same(f, row)) {
        s->wire.is_dead = true;
        return hf__mysql_dead(s);
    }
    if (row[1] != NULL && *row[1] == '1') {
        *ret_has_fired = true;
        return keep_lock(f, conn);
    }
    if (row[1] == NULL) {
        hf__table_rest(&s->t, hf__after_ms(hf__now(), PAUSE_MS));
    }
    return ask(f, conn, false);
}

/* The server answers once a lease; if it does not, it is gone. */
static bool is_overdue(const struct hf__ul_session *f)
{
    int64_t ms = f->pool->lease_s * INT64_C(1000) + HF__UL_BRIEF_MS;

    return hf__before(hf__after_ms(f->asked, ms), hf__now());
}

static int listen_to(struct hf__ul_session *f, struct hf__ul_conn *conn,
                     bool *ret_has_fired)
{
    struct hf__mysql *s = &f->mysql;
    hf__time limit = s->t.deadline;
    int r = conn->owes ? (int)HF_OK : ask(f, conn, false);

    while (r == HF_OK && !*ret_has_fired) {
        bool is_there = false;

        s->t.deadline =
            hf__later(limit, hf__after_ms(hf__now(), HF__UL_BRIEF_MS));
        r = hf__wire_await(s, limit, &is_there);
        s->t.deadline = limit;
        if (r == HF_OK && !is_there && is_overdue(f)) {
            s->wire.is_dead = true;
            r = hf__mysql_dead(s);
        }
        if (r != HF_OK || !is_there) {
            break;
        }
        r = hear(f, conn, ret_has_fired);
    }
    return r;
}

static int wait_for(struct hf__ul_session *f, struct hf__watch *w)
{
    struct hf__ul_pool *pool = f->pool;
    struct hf__ul_conn *conn;
    int r = HF_OK;

    if (f->queue_length != w->key.length ||
        memcmp(f->queue_key, w->key.bytes, w->key.length) != 0) {
        hf__ul_wait_leave(f);
        memcpy(f->queue_key, w->key.bytes, w->key.length);
        f->queue_length = w->key.length;
    }
    w->has_fired = is_won(f);
    if (w->has_fired) {
        return HF_OK;
    }
    hf__mutex_lock(&pool->mutex);
    conn = take_asking(f);
    hf__mutex_unlock(&pool->mutex);
    r = conn == NULL ? take_queue(f, &conn) : r;
    if (r != HF_OK) {
        return r;
    }
    r = listen_to(f, conn, &w->has_fired);
    f->mysql.wire.is_dead |= r != HF_OK;
    hf__ul_conn_give(f, conn);
    return r;
}

int hf__ul_wait(void *state, struct hf__watch *w[], int n, hf__time deadline,
                hf_error *err)
{
    struct hf__ul_session *f = state;
    bool has_fired = false;
    int r = HF_OK;

    hf__table_begin(&f->mysql.t, deadline, err);
    if (n == 1) {
        return wait_for(f, w[0]);
    }
    hf__ul_wait_leave(f);
    while (n > 0 && r == HF_OK && !has_fired &&
           !hf__is_interrupted(&f->mysql.t.head) &&
           hf__before(hf__now(), deadline)) {
        int64_t ms = hf__random_between(POLL_LOW_MS, POLL_HIGH_MS);

        r = hf__ul_look_around(f, w, n, &has_fired);
        if (r == HF_OK && !has_fired) {
            hf__table_rest(&f->mysql.t,
                           hf__earlier(deadline, hf__after_ms(hf__now(), ms)));
        }
    }
    return r;
}
