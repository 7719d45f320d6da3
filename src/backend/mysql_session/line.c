/* SPDX-License-Identifier: MIT */
/*
 * A line: made, or taken from those without locks, of which a few are kept for
 * who wants one next; taken for a while by one front, asked, given back, lost.
 * What nobody uses for a lease, the server ends. An answer that does not come
 * in time does not end a line, for it has locks that others count on: it owes
 * the answer then, which whoever takes it next waits for first. Lines that are
 * for one lock alone are as many as the URL allows. Called by the fronts'
 * threads.
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

/* Larger ones are no faster. */
#define PACKET_MOST 65536
/* poll() takes an int. */
#define SLEEP_MAX_MS 3600000
/* An answer of a network that is not slow. */
#define WELL_MS 20

/* ---- taking and giving back */

static void lend(struct hf__ul_front *f, const struct hf__ul_line *line)
{
    f->mysql.wire.handle = line->handle;
    f->mysql.wire.fd = line->fd;
    f->mysql.wire.is_suspended = false;
    f->mysql.wire.is_dead = false;
    f->mysql.server.connection_id = line->connection_id;
}

bool hf__ul_line_try(struct hf__ul_front *f, struct hf__ul_line *line)
{
    if (line->is_busy) {
        return false;
    }
    line->is_busy = true;
    lend(f, line);
    return true;
}

bool hf__ul_line_await(struct hf__ul_front *f)
{
    struct hf__waker *waker = &f->mysql.t.waker;
    struct pollfd fd = {.fd = hf__waker_fd(waker), .events = POLLIN};
    int64_t ms = hf__ms_until(f->mysql.t.deadline, hf__now());

    f->is_waiting = true;
    hf__mutex_unlock(&f->link->mutex);
    if (!hf__is_interrupted(&f->mysql.t.head) &&
        poll(&fd, 1, (int)(ms < SLEEP_MAX_MS ? ms : SLEEP_MAX_MS)) > 0) {
        hf__waker_drain(waker);
    }
    hf__mutex_lock(&f->link->mutex);
    f->is_waiting = false;
    return !hf__is_interrupted(&f->mysql.t.head) &&
           hf__before(hf__now(), f->mysql.t.deadline);
}

/* Who holds one of its locks is told, by who listens. */
static void lose_locks(struct hf__ul_link *link, struct hf__ul_line *line)
{
    HF__LIST_EACH (it, &line->locks) {
        struct hf__ul_lock *lock = HF__ELEMENT(it, struct hf__ul_lock, in_line);

        if (lock->state == HF__UL_HELD) {
            hf__ul_lock_lose(link, lock);
        }
        hf__ul_lock_free(link, lock);
    }
}

static void forget(struct hf__ul_line *line)
{
    struct hf__ul_front *owner = line->owner;

    if (owner != NULL && owner->home == line) {
        owner->home = NULL;
    }
    if (owner != NULL && owner->queue == line) {
        owner->queue = NULL;
    }
    hf__list_remove(&line->in_link);
}

void hf__ul_line_lay(struct hf__ul_front *f)
{
    f->mysql.wire.handle = NULL;
    f->mysql.wire.fd = -1;
}

void hf__ul_line_lift(struct hf__ul_front *f, const struct hf__ul_line *line)
{
    lend(f, line);
}

void hf__ul_line_give(struct hf__ul_front *f, struct hf__ul_line *line)
{
    struct hf__ul_link *link = f->link;
    struct hf__wire *wire = &f->mysql.wire;
    bool is_over;

    hf__mutex_lock(&link->mutex);
    wire->is_dead |= wire->is_suspended || line->is_cut;
    is_over = wire->is_dead || hf__ul_line_is_needless(link, line);
    line->handle = wire->handle;
    line->fd = wire->fd;
    line->is_busy = false;
    if (is_over) {
        lose_locks(link, line);
        forget(line);
        link->n_apart -= line->is_apart;
    } else {
        hf__ul_line_lay(f);
    }
    hf__ul_stir(link);
    hf__mutex_unlock(&link->mutex);
    if (is_over) {
        hf__wire_disconnect(&f->mysql);
        hf__free(line);
    }
}

/* ---- making one */

/* It is a part of the locks' names, so all lines say the same. */
static int learn_database(struct hf__ul_front *f, const char *name)
{
    struct hf__ul_link *link = f->link;
    HF_SCOPED_LOCK(&link->mutex);

    if (link->server_id == 0) {
        (void)snprintf(link->database, sizeof link->database, "%s", name);
    }
    return strncmp(link->database, name, sizeof link->database - 1) == 0
               ? (int)HF_OK
               : hf__fail(f->mysql.t.err, HF_EUNAVAIL,
                          "another server answers there than before, which "
                          "compares the names of databases otherwise");
}

/* Its lease is how long the server waits for a word of it. A database has one
 * name, however it is written. */
static int set_lease(struct hf__ul_front *f)
{
    struct hf__mysql *s = &f->mysql;
    MYSQL_ROW row;
    int r;

    hf__text_clear(&s->sql);
    hf__text_addf(&s->sql,
                  "SET SESSION wait_timeout=%d;"
                  "SELECT @@SESSION.wait_timeout,IF(@@lower_case_table_names=0,"
                  "DATABASE(),LOWER(DATABASE()))",
                  f->link->lease_s);
    r = hf__wire_run(s);
    if (r != HF_OK || s->reply.error != 0) {
        return r != HF_OK ? r : hf__mysql_refusal(s, s->t.err);
    }
    row = hf__ul_row(f, 2);
    if (row == NULL ||
        hf__column_u64(row[0]) != (uint64_t)(unsigned)f->link->lease_s) {
        return hf__fail(s->t.err, HF_EUNSAFE,
                        "the session's wait_timeout can't be set to %d s: "
                        "connect to the server itself, not through a proxy "
                        "that changes it",
                        f->link->lease_s);
    }
    return learn_database(f, row[1] == NULL ? "" : row[1]);
}

/* A lock is its connection's, on its server. */
static int judge(struct hf__ul_front *f)
{
    const struct hf__server *server = &f->mysql.server;

    if (server->is_galera) {
        return hf__fail(f->mysql.t.err, HF_EUNSAFE,
                        "scheme=%s: this server is a node of a Galera "
                        "cluster, each of which grants the same %s anew; "
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

/* While a line has locks on one server, none is made to another. */
static int register_line(struct hf__ul_front *f, struct hf__ul_line *line)
{
    struct hf__ul_link *link = f->link;
    uint64_t server_id = f->mysql.server.server_id;
    HF_SCOPED_LOCK(&link->mutex);

    if (link->server_id != server_id && link->tokens.count > 0) {
        return hf__fail(f->mysql.t.err, HF_EUNAVAIL,
                        "another server answers there than the one that has "
                        "this client's locks");
    }
    link->server_id = server_id;
    if (!f->mysql.server.has_wake_locks) {
        link->most = 1; /* the next one would end the first */
    }
    atomic_store(&link->packet_most, f->mysql.server.packet_max < PACKET_MOST
                                         ? (size_t)f->mysql.server.packet_max
                                         : (size_t)PACKET_MOST);
    line->handle = f->mysql.wire.handle;
    line->fd = f->mysql.wire.fd;
    line->connection_id = f->mysql.server.connection_id;
    hf__list_push(&link->lines, &line->in_link);
    link->is_news = true;
    hf__ul_stir(link);
    return HF_OK;
}

int hf__ul_line_connect(struct hf__ul_front *f, struct hf__ul_line **ret_line)
{
    struct hf__mysql *s = &f->mysql;
    struct hf__ul_line *line = hf__alloc(sizeof *line);
    int r;

    if (line == NULL) {
        return hf__fail(s->t.err, HF_ENOMEM, "out of memory for a connection");
    }
    hf__list_init(&line->locks);
    hf__list_init(&line->in_link);
    line->is_busy = true;
    r = hf__mysql_target_connect(s, f->link->url, f->link->allow,
                                 s->t.deadline);
    r = r == HF_OK ? judge(f) : r;
    r = r == HF_OK ? set_lease(f) : r;
    r = r == HF_OK ? register_line(f, line) : r;
    if (r != HF_OK) {
        s->wire.is_dead = true;
        hf__wire_disconnect(s);
        hf__free(line);
        return r == HF_EUNKNOWN ? (int)HF_EUNAVAIL : r;
    }
    *ret_line = line;
    return HF_OK;
}

/* ---- without locks */

static struct hf__ul_line *take_spare(struct hf__ul_front *f, bool is_apart)
{
    HF_SCOPED_LOCK(&f->link->mutex);

    HF__LIST_EACH (it, &f->link->lines) {
        struct hf__ul_line *line = HF__ELEMENT(it, struct hf__ul_line, in_link);

        if (hf__ul_line_is_spare(line) && line->is_apart == is_apart &&
            hf__ul_line_try(f, line)) {
            return line;
        }
    }
    return NULL;
}

/* HF_BUSY: there is none. */
static int find_spare(struct hf__ul_front *f, bool is_apart,
                      struct hf__ul_line **ret_line)
{
    while ((*ret_line = take_spare(f, is_apart)) != NULL) {
        if (hf__wire_look(&f->mysql) == HF_OK) {
            return HF_OK;
        }
        hf__ul_line_give(f, *ret_line); /* the server has closed it */
    }
    return HF_BUSY;
}

int hf__ul_line_new(struct hf__ul_front *f, struct hf__ul_line **ret_line)
{
    int r = find_spare(f, false, ret_line);

    return r == HF_BUSY ? hf__ul_line_connect(f, ret_line) : r;
}

/* There may be one more. */
static int reserve(struct hf__ul_front *f)
{
    struct hf__ul_link *link = f->link;
    HF_SCOPED_LOCK(&link->mutex);

    if (link->n_apart >= link->apart_most) {
        return hf__fail(f->mysql.t.err, HF_EUNAVAIL,
                        "max_connections: this client has %d connections that "
                        "hold a lock or wait for one, one for each; raise it "
                        "in the URL",
                        link->apart_most);
    }
    link->n_apart++;
    return HF_OK;
}

int hf__ul_line_apart(struct hf__ul_front *f, struct hf__ul_line **ret_line)
{
    int r = find_spare(f, true, ret_line);

    if (r == HF_OK) {
        return r;
    }
    r = reserve(f);
    if (r != HF_OK) {
        return r;
    }
    r = hf__ul_line_connect(f, ret_line);
    if (r != HF_OK) {
        HF_SCOPED_LOCK(&f->link->mutex);
        f->link->n_apart--;
        return r;
    }
    (*ret_line)->is_apart = true;
    r = f->scheme->fit(f);
    if (r != HF_OK) {
        f->mysql.wire.is_dead = true;
        hf__ul_line_give(f, *ret_line);
    }
    return r == HF_EUNKNOWN ? (int)HF_EUNAVAIL : r;
}

/* ---- a front's own */

/* HF_BUSY: there is none that will do. */
static int take_home(struct hf__ul_front *f, bool needs_room)
{
    struct hf__ul_link *link = f->link;
    HF_SCOPED_LOCK(&link->mutex);

    while (f->home != NULL) {
        if (needs_room && f->home->n_locks >= link->most) {
            f->home->owner = NULL; /* it lives as long as its lock */
            f->home = NULL;
        } else if (hf__ul_line_try(f, f->home)) {
            return HF_OK;
        } else if (!hf__ul_line_await(f)) {
            return hf__fail(f->mysql.t.err, HF_EUNAVAIL,
                            "the connection did not become free in time");
        }
    }
    return HF_BUSY;
}

int hf__ul_line_home(struct hf__ul_front *f, bool needs_room,
                     struct hf__ul_line **ret_line)
{
    int r = take_home(f, needs_room);

    while (r == HF_OK) {
        struct hf__ul_line *line = f->home;

        /* What the server has closed meanwhile is no news without locks. */
        if (line->owes || hf__wire_look(&f->mysql) == HF_OK) {
            *ret_line = line;
            return HF_OK;
        }
        hf__ul_line_give(f, line);
        r = take_home(f, needs_room);
    }
    r = r == HF_BUSY ? hf__ul_line_new(f, ret_line) : r;
    if (r == HF_OK) {
        HF_SCOPED_LOCK(&f->link->mutex);
        (*ret_line)->owner = f;
        f->home = *ret_line;
    }
    return r;
}

/* ---- answers that come when nobody waits for them any more: what one says of
 * the locks that are held is true as of when it was asked for, and renews them
 * as of then. One answer of a line is under way at a time, so each is about all
 * its locks there. */

/* A line apart has its lock as long as its transaction goes on, too. */
static bool is_alive(struct hf__ul_front *f, const struct hf__ul_line *line,
                     MYSQL_ROW row)
{
    return hf__ul_is_same(f, row) &&
           (!line->is_apart || (f->mysql.wire.handle->server_status &
                                SERVER_STATUS_IN_TRANS) != 0);
}

static void hear_late(struct hf__ul_front *f, const struct hf__ul_line *line)
{
    MYSQL_RES *rows = f->mysql.reply.rows;
    unsigned n = rows == NULL ? 0 : mysql_num_fields(rows);
    MYSQL_ROW row = n == 0 ? NULL : hf__ul_row(f, n);
    HF_SCOPED_LOCK(&f->link->mutex);

    if (row == NULL || !is_alive(f, line, row)) {
        return;
    }
    HF__LIST_EACH (it, &line->locks) {
        struct hf__ul_lock *lock = HF__ELEMENT(it, struct hf__ul_lock, in_line);

        if (lock->state == HF__UL_HELD && lock->question == line->question &&
            lock->column < n &&
            hf__column_u64(row[lock->column]) == line->connection_id) {
            lock->heard = line->asked;
        }
    }
}

static bool renews_only(const struct hf__ul_front *f)
{
    for (int i = 0; i < f->n_tasks; i++) {
        if (f->tasks[i].op->kind != HF__OP_RENEW) {
            return false;
        }
    }
    return f->n_tasks > 0;
}

/* A renewal that would wait in vain, going by the answer before, gives up at
 * once, unless the network is well again, and is tried again soon: so it keeps
 * no other from what has come for that. */
static hf__time late_until(const struct hf__ul_front *f,
                           const struct hf__ul_line *line, hf__time limit)
{
    hf__time expected =
        hf__after_ns(line->asked, atomic_load(&f->link->took_ns));
    bool is_vain = renews_only(f) && hf__before(limit, expected);

    return is_vain ? hf__earlier(limit, hf__after_ms(hf__now(), WELL_MS))
                   : limit;
}

/* ---- asking */

/* The reply to what was sent. Its first part may be long in coming; the rest
 * follows it. */
static int take_answer(struct hf__ul_front *f, struct hf__ul_line *line)
{
    struct hf__mysql *s = &f->mysql;
    hf__time limit = s->t.deadline;
    bool is_there = false;
    int r;

    s->t.deadline = hf__later(limit, hf__after_ms(hf__now(), HF__UL_BRIEF_MS));
    r = hf__wire_await(s, late_until(f, line, limit), &is_there);
    s->t.deadline = limit;
    line->owes = r == HF_OK && !is_there;
    if (line->owes) {
        (void)hf__fail(s->t.err, HF_EUNKNOWN,
                       "the server did not answer in time");
        return HF_BUSY;
    }
    atomic_store(&f->link->took_ns, hf__between_ns(line->asked, hf__now()));
    return r;
}

int hf__ul_line_skip(struct hf__ul_front *f)
{
    struct hf__mysql *s = &f->mysql;
    hf__time limit = s->t.deadline;
    int r;

    s->t.deadline = hf__later(limit, hf__after_ms(hf__now(), HF__UL_BRIEF_MS));
    r = hf__wire_skip(s);
    s->t.deadline = limit;
    return r;
}

/* The connection that answered is that of the locks. */
static int see_same(struct hf__ul_front *f, unsigned n)
{
    struct hf__mysql *s = &f->mysql;
    MYSQL_ROW row = s->reply.error == 0 ? hf__ul_row(f, n) : NULL;

    if (row != NULL && hf__ul_is_same(f, row)) {
        return HF_OK;
    }
    s->wire.is_dead = true;
    return hf__mysql_refusal(s, s->t.err);
}

/* What nobody knows whether it is held, is not; nor is a transaction whose
 * fences have no answer. */
int hf__ul_line_undo(struct hf__ul_front *f, struct hf__ul_line *line)
{
    struct hf__mysql *s = &f->mysql;
    int tries = 4; /* somebody may end just that statement */
    int n = 0;
    int r;

    hf__text_clear(&s->sql);
    hf__text_add(&s->sql, "ROLLBACK;SELECT CONNECTION_ID()");
    HF__LIST_EACH (it, &line->locks) {
        struct hf__ul_lock *lock = HF__ELEMENT(it, struct hf__ul_lock, in_line);

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
        r = hf__ul_line_ask(f, line);
        r = r == HF_OK ? hf__ul_line_skip(f) : r;
    } while (r == HF_OK && hf__ul_is_cut_short(s->reply.error) && --tries > 0);
    r = r == HF_OK ? see_same(f, (unsigned)n + 1) : r;
    if (r != HF_OK) {
        return r;
    }
    HF_SCOPED_LOCK(&f->link->mutex);
    HF__LIST_EACH (it, &line->locks) {
        struct hf__ul_lock *lock = HF__ELEMENT(it, struct hf__ul_lock, in_line);

        if (lock->state == HF__UL_WANTED || lock->state == HF__UL_LEAVING) {
            hf__ul_lock_free(f->link, lock);
        }
    }
    return HF_OK;
}

int hf__ul_line_settle(struct hf__ul_front *f, struct hf__ul_line *line)
{
    int r;

    if (!line->owes) {
        return HF_OK;
    }
    r = take_answer(f, line);
    if (r == HF_OK) {
        hear_late(f, line);
        r = hf__ul_line_skip(f);
    }
    return r == HF_OK ? hf__ul_line_undo(f, line) : r;
}

int hf__ul_line_use(struct hf__ul_front *f, struct hf__ul_line **ret_line)
{
    int r = hf__ul_line_home(f, false, ret_line);

    if (r == HF_OK) {
        r = hf__ul_line_settle(f, *ret_line);
        f->mysql.wire.is_dead |= r < 0;
        if (r != HF_OK) {
            hf__ul_line_give(f, *ret_line);
        }
    }
    return r;
}

int hf__ul_line_ask(struct hf__ul_front *f, struct hf__ul_line *line)
{
    int r;

    HF_ASSERT(!line->owes);
    line->question++;
    line->asked = hf__now();
    r = hf__wire_begin(&f->mysql);
    return r == HF_OK ? take_answer(f, line) : r;
}

int hf__ul_line_run(struct hf__ul_front *f, struct hf__ul_line *line,
                    int if_late)
{
    int r = hf__ul_line_ask(f, line);

    if (r == HF_OK && f->mysql.reply.error != 0) {
        r = hf__mysql_refusal(&f->mysql, f->mysql.t.err);
    }
    return r == HF_BUSY ? if_late : r;
}
