/* SPDX-License-Identifier: MIT */
/*
 * A connection: it is new, or one of a few without locks that are kept as
 * spares; a session takes it, asks, and gives it back; it may get lost. The
 * server ends a connection that is unused for a lease. If a reply does not come
 * in time the connection lives on, since it has locks of other sessions: the
 * reply is outstanding then, and the next session that takes the connection
 * waits for it first. The URL limits the dedicated connections, which are for
 * one lock each. Called by the sessions' threads.
 */
#include "src/backend/mysql_session/session.h"

#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/row.h"
#include "src/backend/mysql/target.h"
#include "src/base/alloc.h"
#include "src/base/error.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

/* Bytes; larger packets are no faster. */
#define PACKET_MOST 65536
/* poll() takes an int. */
#define SLEEP_MAX_MS 3600000
/* Time for an answer, if the network is not slow. */
#define WELL_MS 20

/* ---- taking and giving back */

static void lend(struct hf__ul_session *f, const struct hf__ul_conn *conn)
{
    f->mysql.wire.handle = conn->handle;
    f->mysql.wire.fd = conn->fd;
    f->mysql.wire.is_suspended = false;
    f->mysql.wire.is_dead = false;
    f->mysql.server.connection_id = conn->connection_id;
}

bool hf__ul_conn_try(struct hf__ul_session *f, struct hf__ul_conn *conn)
{
    if (conn->is_busy) {
        return false;
    }
    conn->is_busy = true;
    lend(f, conn);
    return true;
}

bool hf__ul_conn_await(struct hf__ul_session *f)
{
    struct hf__waker *waker = &f->mysql.t.waker;
    struct pollfd fd = {.fd = hf__waker_fd(waker), .events = POLLIN};
    int64_t ms = hf__ms_until(f->mysql.t.deadline, hf__now());

    f->is_waiting = true;
    hf__mutex_unlock(&f->pool->mutex);
    if (!hf__is_interrupted(&f->mysql.t.head) &&
        poll(&fd, 1, (int)(ms < SLEEP_MAX_MS ? ms : SLEEP_MAX_MS)) > 0) {
        hf__waker_drain(waker);
    }
    hf__mutex_lock(&f->pool->mutex);
    f->is_waiting = false;
    return !hf__is_interrupted(&f->mysql.t.head) &&
           hf__before(hf__now(), f->mysql.t.deadline);
}

/* Lose all its locks; the listener tells their holders. */
static void lose_locks(struct hf__ul_pool *pool, struct hf__ul_conn *conn)
{
    HF__LIST_EACH (it, &conn->locks) {
        struct hf__ul_lock *lock = HF__ELEMENT(it, struct hf__ul_lock, in_conn);

        if (lock->state == HF__UL_HELD) {
            hf__ul_lock_lose(pool, lock);
        }
        hf__ul_lock_free(pool, lock);
    }
}

static void forget(struct hf__ul_conn *conn)
{
    struct hf__ul_session *owner = conn->owner;

    if (owner != NULL && owner->home == conn) {
        owner->home = NULL;
    }
    if (owner != NULL && owner->queue == conn) {
        owner->queue = NULL;
    }
    hf__list_remove(&conn->in_pool);
}

void hf__ul_conn_set_aside(struct hf__ul_session *f)
{
    f->mysql.wire.handle = NULL;
    f->mysql.wire.fd = -1;
}

void hf__ul_conn_resume(struct hf__ul_session *f,
                        const struct hf__ul_conn *conn)
{
    lend(f, conn);
}

void hf__ul_conn_give(struct hf__ul_session *f, struct hf__ul_conn *conn)
{
    struct hf__ul_pool *pool = f->pool;
    struct hf__wire *wire = &f->mysql.wire;
    bool is_over;

    hf__mutex_lock(&pool->mutex);
    wire->is_dead |= wire->is_suspended || conn->is_cut;
    is_over = wire->is_dead || hf__ul_conn_is_needless(pool, conn);
    conn->handle = wire->handle;
    conn->fd = wire->fd;
    conn->is_busy = false;
    if (is_over) {
        lose_locks(pool, conn);
        forget(conn);
        pool->n_dedicated -= conn->is_dedicated;
    } else {
        hf__ul_conn_set_aside(f);
    }
    hf__ul_notify(pool);
    hf__mutex_unlock(&pool->mutex);
    if (is_over) {
        hf__wire_disconnect(&f->mysql);
        hf__free(conn);
    }
}

/* ---- making one */

/* The database's name is part of the locks' names, so it must be the same on
 * all connections. */
static int learn_database(struct hf__ul_session *f, const char *name)
{
    struct hf__ul_pool *pool = f->pool;
    HF_SCOPED_LOCK(&pool->mutex);

    if (pool->server_id == 0) {
        (void)snprintf(pool->database, sizeof pool->database, "%s", name);
    }
    return strncmp(pool->database, name, sizeof pool->database - 1) == 0
               ? (int)HF_OK
               : hf__fail(f->mysql.t.err, HF_EUNAVAIL,
                          "another server answers there than before, which "
                          "compares the names of databases otherwise");
}

/* The lease is the time that the server waits for the next packet. If the
 * server ignores case in a database's name, the name is put in lower case, so
 * that every spelling gives the same. */
static int set_lease(struct hf__ul_session *f)
{
    struct hf__mysql *s = &f->mysql;
    MYSQL_ROW row;
    int r;

    hf__text_clear(&s->sql);
    hf__text_addf(&s->sql,
                  "SET SESSION wait_timeout=%d;"
                  "SELECT @@SESSION.wait_timeout,IF(@@lower_case_table_names=0,"
                  "DATABASE(),LOWER(DATABASE()))",
                  f->pool->lease_s);
    r = hf__wire_run(s);
    if (r != HF_OK || s->reply.error != 0) {
        return r != HF_OK ? r : hf__mysql_refusal(s, s->t.err);
    }
    row = hf__ul_row(f, 2);
    if (row == NULL ||
        hf__column_u64(row[0]) != (uint64_t)(unsigned)f->pool->lease_s) {
        return hf__fail(s->t.err, HF_EUNSAFE,
                        "the session's wait_timeout can't be set to %d s: "
                        "connect to the server itself, not through a proxy "
                        "that changes it",
                        f->pool->lease_s);
    }
    return learn_database(f, row[1] == NULL ? "" : row[1]);
}

/* A lock belongs to its connection, so that must be one connection to one
 * server. */
static int judge(struct hf__ul_session *f)
{
    const struct hf__server *server = &f->mysql.server;

    if (server->is_galera) {
        return hf__fail(f->mysql.t.err, HF_EUNSAFE,
                        "scheme=%s: this server is a node of a Galera "
                        "cluster, and each node would grant the same %s; "
                        "leave scheme= out",
                        f->scheme->name, f->scheme->what);
    }
    return server->mark != 0
               ? (int)HF_OK
               : hf__fail(f->mysql.t.err, HF_EUNSAFE,
                          "scheme=%s: statements of one connection reach "
                          "several, so it is a proxy's: connect to the "
                          "server itself",
                          f->scheme->name);
}

/* While the client has locks on one server, no connection is made to
 * another. */
static int register_conn(struct hf__ul_session *f, struct hf__ul_conn *conn)
{
    struct hf__ul_pool *pool = f->pool;
    uint64_t server_id = f->mysql.server.server_id;
    HF_SCOPED_LOCK(&pool->mutex);

    if (pool->server_id != server_id && pool->tokens.count > 0) {
        return hf__fail(f->mysql.t.err, HF_EUNAVAIL,
                        "another server answers there than the one that has "
                        "this client's locks");
    }
    pool->server_id = server_id;
    if (!f->mysql.server.has_wake_locks) {
        pool->most = 1; /* a second lock would release the first */
    }
    atomic_store(&pool->packet_most, f->mysql.server.packet_max < PACKET_MOST
                                         ? (size_t)f->mysql.server.packet_max
                                         : (size_t)PACKET_MOST);
    conn->handle = f->mysql.wire.handle;
    conn->fd = f->mysql.wire.fd;
    conn->connection_id = f->mysql.server.connection_id;
    hf__list_push(&pool->conns, &conn->in_pool);
    pool->is_news = true;
    hf__ul_notify(pool);
    return HF_OK;
}

/* Make a connection, which f has then taken. */
static int conn_connect(struct hf__ul_session *f, struct hf__ul_conn **ret_conn)
{
    struct hf__mysql *s = &f->mysql;
    struct hf__ul_conn *conn = hf__alloc(sizeof *conn);
    int r;

    if (conn == NULL) {
        return hf__fail(s->t.err, HF_ENOMEM, "out of memory for a connection");
    }
    hf__list_init(&conn->locks);
    hf__list_init(&conn->in_pool);
    conn->is_busy = true;
    r = hf__mysql_target_connect(s, f->pool->url, f->pool->allow,
                                 s->t.deadline);
    r = r == HF_OK ? judge(f) : r;
    r = r == HF_OK ? set_lease(f) : r;
    r = r == HF_OK ? register_conn(f, conn) : r;
    if (r != HF_OK) {
        s->wire.is_dead = true;
        hf__wire_disconnect(s);
        hf__free(conn);
        return r == HF_EUNKNOWN ? (int)HF_EUNAVAIL : r;
    }
    *ret_conn = conn;
    return HF_OK;
}

/* ---- connections without locks */

static struct hf__ul_conn *take_spare(struct hf__ul_session *f,
                                      bool is_dedicated)
{
    HF_SCOPED_LOCK(&f->pool->mutex);

    HF__LIST_EACH (it, &f->pool->conns) {
        struct hf__ul_conn *conn = HF__ELEMENT(it, struct hf__ul_conn, in_pool);

        if (hf__ul_conn_is_spare(conn) && conn->is_dedicated == is_dedicated &&
            hf__ul_conn_try(f, conn)) {
            return conn;
        }
    }
    return NULL;
}

/* HF_BUSY: there is none. */
static int find_spare(struct hf__ul_session *f, bool is_dedicated,
                      struct hf__ul_conn **ret_conn)
{
    while ((*ret_conn = take_spare(f, is_dedicated)) != NULL) {
        if (hf__wire_look(&f->mysql) == HF_OK) {
            return HF_OK;
        }
        hf__ul_conn_give(f, *ret_conn); /* the server has closed it */
    }
    return HF_BUSY;
}

int hf__ul_conn_new(struct hf__ul_session *f, struct hf__ul_conn **ret_conn)
{
    int r = find_spare(f, false, ret_conn);

    return r == HF_BUSY ? conn_connect(f, ret_conn) : r;
}

/* Reserve one more dedicated connection, if the URL allows it. */
static int reserve(struct hf__ul_session *f)
{
    struct hf__ul_pool *pool = f->pool;
    HF_SCOPED_LOCK(&pool->mutex);

    if (pool->n_dedicated >= pool->dedicated_most) {
        return hf__fail(f->mysql.t.err, HF_EUNAVAIL,
                        "max_connections: this client has %d connections that "
                        "hold a lock or wait for one, one for each; raise it "
                        "in the URL",
                        pool->dedicated_most);
    }
    pool->n_dedicated++;
    return HF_OK;
}

int hf__ul_conn_dedicated(struct hf__ul_session *f,
                          struct hf__ul_conn **ret_conn)
{
    int r = find_spare(f, true, ret_conn);

    if (r == HF_OK) {
        return r;
    }
    r = reserve(f);
    if (r != HF_OK) {
        return r;
    }
    r = conn_connect(f, ret_conn);
    if (r != HF_OK) {
        HF_SCOPED_LOCK(&f->pool->mutex);
        f->pool->n_dedicated--;
        return r;
    }
    (*ret_conn)->is_dedicated = true;
    r = f->scheme->fit(f);
    if (r != HF_OK) {
        f->mysql.wire.is_dead = true;
        hf__ul_conn_give(f, *ret_conn);
    }
    return r == HF_EUNKNOWN ? (int)HF_EUNAVAIL : r;
}

/* ---- a session's own connection */

/* HF_BUSY: there is none with enough room. */
static int take_home(struct hf__ul_session *f, bool needs_room)
{
    struct hf__ul_pool *pool = f->pool;
    HF_SCOPED_LOCK(&pool->mutex);

    while (f->home != NULL) {
        if (needs_room && f->home->n_locks >= pool->most) {
            f->home->owner = NULL; /* it lives on as long as its locks */
            f->home = NULL;
        } else if (hf__ul_conn_try(f, f->home)) {
            return HF_OK;
        } else if (!hf__ul_conn_await(f)) {
            return hf__fail(f->mysql.t.err, HF_EUNAVAIL,
                            "the connection did not become free in time");
        }
    }
    return HF_BUSY;
}

int hf__ul_conn_home(struct hf__ul_session *f, bool needs_room,
                     struct hf__ul_conn **ret_conn)
{
    int r = take_home(f, needs_room);

    while (r == HF_OK) {
        struct hf__ul_conn *conn = f->home;

        /* Without locks it does no harm that the server has closed it: make
         * another. */
        if (conn->owes || hf__wire_look(&f->mysql) == HF_OK) {
            *ret_conn = conn;
            return HF_OK;
        }
        hf__ul_conn_give(f, conn);
        r = take_home(f, needs_room);
    }
    r = r == HF_BUSY ? hf__ul_conn_new(f, ret_conn) : r;
    if (r == HF_OK) {
        HF_SCOPED_LOCK(&f->pool->mutex);
        (*ret_conn)->owner = f;
        f->home = *ret_conn;
    }
    return r;
}

/* ---- late answers, which come after the caller had given up. What one says
 * about held locks was true when it was asked for, and renews them as of then.
 * One answer of a connection is under way at a time, so each is about all its
 * locks there. */

/* A dedicated connection has its lock only while its transaction is open. */
static bool is_alive(struct hf__ul_session *f, const struct hf__ul_conn *conn,
                     MYSQL_ROW row)
{
    return hf__ul_is_same(f, row) &&
           (!conn->is_dedicated || (f->mysql.wire.handle->server_status &
                                    SERVER_STATUS_IN_TRANS) != 0);
}

static void hear_late(struct hf__ul_session *f, const struct hf__ul_conn *conn)
{
    MYSQL_RES *rows = f->mysql.reply.rows;
    unsigned n = rows == NULL ? 0 : mysql_num_fields(rows);
    MYSQL_ROW row = n == 0 ? NULL : hf__ul_row(f, n);
    HF_SCOPED_LOCK(&f->pool->mutex);

    if (row == NULL || !is_alive(f, conn, row)) {
        return;
    }
    HF__LIST_EACH (it, &conn->locks) {
        struct hf__ul_lock *lock = HF__ELEMENT(it, struct hf__ul_lock, in_conn);

        if (lock->state == HF__UL_HELD && lock->question == conn->question &&
            lock->column < n &&
            hf__column_u64(row[lock->column]) == conn->connection_id) {
            lock->heard = conn->asked;
        }
    }
}

static bool renews_only(const struct hf__ul_session *f)
{
    for (int i = 0; i < f->n_tasks; i++) {
        if (f->tasks[i].op->kind != HF__OP_RENEW) {
            return false;
        }
    }
    return f->n_tasks > 0;
}

/* A renewal that would wait in vain, going by the time that the last answer
 * took, gives up after WELL_MS and is tried again soon; a network that is well
 * again answers in that time. So it does not delay other renewals whose answers
 * have come. */
static hf__time late_until(const struct hf__ul_session *f,
                           const struct hf__ul_conn *conn, hf__time limit)
{
    hf__time expected =
        hf__after_ns(conn->asked, atomic_load(&f->pool->took_ns));
    bool is_vain = renews_only(f) && hf__before(limit, expected);

    return is_vain ? hf__earlier(limit, hf__after_ms(hf__now(), WELL_MS))
                   : limit;
}

/* ---- asking */

/* Take the reply to the packet that was sent. Its first part may take long; the
 * rest follows at once. */
static int take_answer(struct hf__ul_session *f, struct hf__ul_conn *conn)
{
    struct hf__mysql *s = &f->mysql;
    hf__time limit = s->t.deadline;
    bool is_there = false;
    int r;

    s->t.deadline = hf__later(limit, hf__after_ms(hf__now(), HF__UL_BRIEF_MS));
    r = hf__wire_await(s, late_until(f, conn, limit), &is_there);
    s->t.deadline = limit;
    conn->owes = r == HF_OK && !is_there;
    if (conn->owes) {
        (void)hf__fail(s->t.err, HF_EUNKNOWN,
                       "the server did not answer in time");
        return HF_BUSY;
    }
    atomic_store(&f->pool->took_ns, hf__between_ns(conn->asked, hf__now()));
    return r;
}

int hf__ul_conn_skip(struct hf__ul_session *f)
{
    struct hf__mysql *s = &f->mysql;
    hf__time limit = s->t.deadline;
    int r;

    s->t.deadline = hf__later(limit, hf__after_ms(hf__now(), HF__UL_BRIEF_MS));
    r = hf__wire_skip(s);
    s->t.deadline = limit;
    return r;
}

/* Was it the locks' connection that answered? */
static int see_same(struct hf__ul_session *f, unsigned n)
{
    struct hf__mysql *s = &f->mysql;
    MYSQL_ROW row = s->reply.error == 0 ? hf__ul_row(f, n) : NULL;

    if (row != NULL && hf__ul_is_same(f, row)) {
        return HF_OK;
    }
    s->wire.is_dead = true;
    return hf__mysql_refusal(s, s->t.err);
}

/* Release the locks of which it is unknown whether we have them, and roll back
 * a transaction whose fences got no answer. */
int hf__ul_conn_undo(struct hf__ul_session *f, struct hf__ul_conn *conn)
{
    struct hf__mysql *s = &f->mysql;
    int tries = 4; /* somebody may end just that statement */
    int n = 0;
    int r;

    hf__text_clear(&s->sql);
    hf__text_add(&s->sql, "ROLLBACK;SELECT CONNECTION_ID()");
    HF__LIST_EACH (it, &conn->locks) {
        struct hf__ul_lock *lock = HF__ELEMENT(it, struct hf__ul_lock, in_conn);

        if (lock->state == HF__UL_WANTED || lock->state == HF__UL_LEAVING) {
            hf__text_add(&s->sql, ",RELEASE_LOCK(");
            hf__ul_write_name(f, lock->key, lock->length);
            hf__text_add(&s->sql, ")");
            n++;
        }
    }
    if (n == 0) {
        return HF_OK;
    }
    do {
        r = hf__ul_conn_ask(f, conn);
        r = r == HF_OK ? hf__ul_conn_skip(f) : r;
    } while (r == HF_OK && hf__ul_is_cut_short(s->reply.error) && --tries > 0);
    r = r == HF_OK ? see_same(f, (unsigned)n + 1) : r;
    if (r != HF_OK) {
        return r;
    }
    HF_SCOPED_LOCK(&f->pool->mutex);
    HF__LIST_EACH (it, &conn->locks) {
        struct hf__ul_lock *lock = HF__ELEMENT(it, struct hf__ul_lock, in_conn);

        if (lock->state == HF__UL_WANTED || lock->state == HF__UL_LEAVING) {
            hf__ul_lock_free(f->pool, lock);
        }
    }
    return HF_OK;
}

int hf__ul_conn_settle(struct hf__ul_session *f, struct hf__ul_conn *conn)
{
    int r;

    if (!conn->owes) {
        return HF_OK;
    }
    r = take_answer(f, conn);
    if (r == HF_OK) {
        hear_late(f, conn);
        r = hf__ul_conn_skip(f);
    }
    return r == HF_OK ? hf__ul_conn_undo(f, conn) : r;
}

int hf__ul_conn_use(struct hf__ul_session *f, struct hf__ul_conn **ret_conn)
{
    int r = hf__ul_conn_home(f, false, ret_conn);

    if (r == HF_OK) {
        r = hf__ul_conn_settle(f, *ret_conn);
        f->mysql.wire.is_dead |= r < 0;
        if (r != HF_OK) {
            hf__ul_conn_give(f, *ret_conn);
        }
    }
    return r;
}

int hf__ul_conn_ask(struct hf__ul_session *f, struct hf__ul_conn *conn)
{
    int r;

    HF_ASSERT(!conn->owes);
    conn->question++;
    conn->asked = hf__now();
    r = hf__wire_begin(&f->mysql);
    return r == HF_OK ? take_answer(f, conn) : r;
}

int hf__ul_conn_run(struct hf__ul_session *f, struct hf__ul_conn *conn,
                    int if_late)
{
    int r = hf__ul_conn_ask(f, conn);

    if (r == HF_OK && f->mysql.reply.error != 0) {
        r = hf__mysql_refusal(&f->mysql, f->mysql.t.err);
    }
    return r == HF_BUSY ? if_late : r;
}
