/* SPDX-License-Identifier: MIT */
/*
 * Drives libpq. Groups of statements go out in its pipeline, each with its own
 * Sync, at which the server commits it. A statement's reply is given once the
 * group is committed, for until then it may still be undone. A session whose
 * settings are lost, or which may get another connection for each group, sends
 * the settings before the group, in the same commit. Callers decide what is
 * sent. Called by the session's thread.
 */
#include "src/backend/postgres/wire.h"

#include "src/backend/postgres/errors.h"
#include "src/backend/postgres/target.h"
#include "src/base/error.h"
#include "src/base/fork.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>

int hf__pg_wire_init(struct hf__pg *s)
{
    s->wire.fd = -1;
    return hf__waker_init(&s->t.waker, s->t.err);
}

/* ---- the end */

static int dead(struct hf__pg *s)
{
    s->wire.is_dead = true;
    return hf__pg_dead(s, s->t.err);
}

/* Wait for the socket until the call's deadline. An answer that is late or
 * never comes ends the session; so does a server that goes on sending other
 * things after the deadline. */
static int await(struct hf__pg *s, short events)
{
    struct hf__pg_wire *w = &s->wire;
    bool is_over = !hf__before(hf__now(), s->t.deadline);
    short got = hf__table_sleep(&s->t, s->wire.fd, events, s->t.deadline);

    w->is_late = got == 0;
    if (got == 0 || ((got & ~POLLOUT) != 0 && !PQconsumeInput(w->handle))) {
        return dead(s);
    }
    w->is_late = is_over && (got & POLLOUT) == 0 &&
                 (events != POLLIN || PQisBusy(w->handle));
    return w->is_late ? dead(s) : HF_OK;
}

static void drop_reply(struct hf__pg *s)
{
    PQclear(s->reply.rows);
    s->reply = (struct hf__pg_reply){0};
}

static void drop_group(struct hf__pg_wire *w)
{
    for (int i = w->next_got; i < w->n_got; i++) {
        PQclear(w->got[i]);
    }
    PQclear(w->why);
    w->why = NULL;
    w->n_got = 0;
    w->next_got = 0;
    w->is_whole = false;
    w->sqlstate[0] = '\0';
}

void hf__pg_disconnect(struct hf__pg *s)
{
    struct hf__pg_wire *w = &s->wire;

    drop_reply(s);
    drop_group(w);
    if (w->handle == NULL) {
        return;
    }
    if (w->is_dead && PQsocket(w->handle) >= 0) {
        /* Nothing that is left in its buffers may still go out. */
        (void)shutdown(PQsocket(w->handle), SHUT_RDWR);
    }
    hf__fd_leave(&w->fd);
    PQfinish(w->handle);
    w->handle = NULL;
    w->is_dead = false;
    w->is_late = false;
    w->is_unanswered = false;
    w->is_set = false;
    w->prepared = 0;
    w->n_pending = 0;
    w->next_pending = 0;
}

void hf__pg_wire_fini(struct hf__pg *s)
{
    hf__pg_disconnect(s);
    hf__text_fini(&s->wire.values);
    hf__text_fini(&s->wire.text);
    hf__waker_fini(&s->t.waker);
}

/* ---- sending */

static bool is_pending(const struct hf__pg_wire *w)
{
    return w->next_got < w->n_got || w->next_pending < w->n_pending;
}

void hf__pg_begin_packet(struct hf__pg *s)
{
    struct hf__pg_wire *w = &s->wire;

    drop_reply(s);
    if (is_pending(w) || (w->failed != HF_OK && w->n_pending > 0)) {
        w->is_dead = true; /* old answers would be taken for its replies */
    }
    drop_group(w);
    w->statement = NULL;
    w->is_in_group = false;
    w->failed = w->is_dead ? HF_EUNAVAIL : HF_OK;
    w->n_pending = 0;
    w->next_pending = 0;
}

int hf__pg_send(struct hf__pg *s)
{
    struct hf__pg_wire *w = &s->wire;
    int left = 0;
    int r = hf__pg_target_check(s);

    if (r != HF_OK) {
        return r;
    }
    hf__pg_end_group(s);
    if (w->failed == HF_ENOMEM) {
        return hf__fail(s->t.err, HF_ENOMEM, "out of memory");
    }
    if (w->failed != HF_OK) {
        return dead(s);
    }
    left = PQflush(w->handle);
    while (left > 0 && r == HF_OK) {
        r = await(s, POLLIN | POLLOUT);
        left = r == HF_OK ? PQflush(w->handle) : left;
    }
    return r == HF_OK && left < 0 ? dead(s) : r;
}

/* ---- replies */

/* Prepared statements and settings are lost. */
static void forget(struct hf__pg_wire *w)
{
    w->prepared = 0;
    w->epoch++;
    w->is_set = false;
}

/* Note why the group was undone. */
static void note_refusal(struct hf__pg_wire *w, const PGresult *result)
{
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    if (sqlstate == NULL || strlen(sqlstate) != 5) {
        w->is_dead = true; /* the error is libpq's own */
    } else {
        memcpy(w->sqlstate, sqlstate, sizeof w->sqlstate);
    }
}

static void take_result(struct hf__pg_wire *w, PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    int what = w->pending[w->next_pending];
    bool is_well = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;

    if (status == PGRES_FATAL_ERROR) {
        note_refusal(w, result);
    } else if (!is_well && status != PGRES_PIPELINE_ABORTED) {
        w->is_dead = true;
    }
    w->has_set = w->has_set || (is_well && what == HF__PG_PENDING_SETTINGS);
    if (!is_well && what >= HF__PG_PENDING_PREPARED) {
        w->prepared &= ~(UINT64_C(1) << (what - HF__PG_PENDING_PREPARED));
    }
    if (what == HF__PG_PENDING_REPLY && w->why != NULL) {
        PQclear(result); /* the statement was not even tried */
        result = w->why;
        w->why = NULL;
    }
    if (what == HF__PG_PENDING_REPLY) {
        HF_ASSERT(w->n_got < HF__PG_STATEMENTS);
        w->got[w->n_got++] = result;
    } else if (status == PGRES_FATAL_ERROR && what != HF__PG_PENDING_SYNC) {
        PQclear(w->why);
        w->why = result;
    } else if (status == PGRES_FATAL_ERROR && w->n_got > 0) {
        /* The group could not be committed. */
        PQclear(w->got[w->n_got - 1]);
        w->got[w->n_got - 1] = result;
    } else {
        PQclear(result);
    }
}

static void end_of_group(struct hf__pg *s)
{
    struct hf__pg_wire *w = &s->wire;

    w->next_pending++;
    w->is_whole = true;
    /* On a pooler's connection the settings ended with the group. */
    w->is_set = w->is_set ||
                (w->has_set && w->sqlstate[0] == '\0' && !s->server.is_pooled);
    w->has_set = false;
    if (w->sqlstate[0] != '\0' &&
        hf__pg_error_class_of(w->sqlstate) == HF__PG_UNKNOWN_PREPARED) {
        forget(w);
    }
    w->is_dead = w->is_dead || w->is_unanswered;
}

/* Take what has come. True once the whole group has come, or never will. */
static bool has_group(struct hf__pg *s)
{
    struct hf__pg_wire *w = &s->wire;

    if (w->next_pending == w->n_pending) {
        w->is_dead = true; /* a reply is asked for, and none is pending */
    }
    while (!w->is_dead && !PQisBusy(w->handle)) {
        PGresult *result = PQgetResult(w->handle);

        w->n_silent = result == NULL ? w->n_silent + 1 : 0;
        if (result == NULL) {
            w->next_pending +=
                w->pending[w->next_pending] == HF__PG_PENDING_SYNC ? 0 : 1;
            w->is_dead = w->n_silent > 1;
        } else if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
            PQclear(result);
            end_of_group(s);
            return true;
        } else {
            take_result(w, result);
        }
    }
    return w->is_dead;
}

static void give_reply(struct hf__pg *s)
{
    struct hf__pg_wire *w = &s->wire;
    PGresult *rows = w->got[w->next_got++];

    s->reply = (struct hf__pg_reply){.rows = rows};
    memcpy(s->reply.sqlstate, w->sqlstate, sizeof w->sqlstate);
    if (w->sqlstate[0] != '\0') {
        s->reply.is_refused = PQresultStatus(rows) == PGRES_FATAL_ERROR;
    } else {
        s->reply.n_rows = PQntuples(rows);
    }
}

/* Is there a group whose replies were not all given? */
static bool has_replies(struct hf__pg *s)
{
    struct hf__pg_wire *w = &s->wire;

    if (w->is_whole && w->next_got == w->n_got) {
        drop_group(w);
    }
    return w->is_whole || has_group(s);
}

int hf__pg_await(struct hf__pg *s, hf__time until, bool *ret_has_reply)
{
    bool is_over = false; /* the time is over, and one more look was taken */

    *ret_has_reply = true;
    while (!has_replies(s)) {
        if (hf__table_sleep(&s->t, s->wire.fd, POLLIN, until) == 0 || is_over) {
            *ret_has_reply = false;
            return HF_OK;
        }
        if (!PQconsumeInput(s->wire.handle)) {
            return dead(s);
        }
        is_over = !hf__before(hf__now(), until);
    }
    return s->wire.is_dead ? dead(s) : HF_OK;
}

int hf__pg_next(struct hf__pg *s)
{
    struct hf__pg_wire *w = &s->wire;
    int r = HF_OK;

    drop_reply(s);
    while (r == HF_OK && !has_replies(s)) {
        r = await(s, POLLIN);
    }
    r = r == HF_OK && (w->is_dead || w->n_got == 0) ? dead(s) : r;
    if (r == HF_OK) {
        give_reply(s);
    }
    return r;
}

int hf__pg_skip(struct hf__pg *s)
{
    struct hf__pg_reply first = {0};
    int r = HF_OK;

    while (r == HF_OK && is_pending(&s->wire)) {
        r = hf__pg_next(s);
        if (r == HF_OK && s->reply.is_refused && !first.is_refused) {
            first = s->reply;
            s->reply.rows = NULL;
        }
    }
    if (first.is_refused && r == HF_OK) {
        drop_reply(s);
        s->reply = first;
    } else {
        PQclear(first.rows);
    }
    return r;
}

int hf__pg_run(struct hf__pg *s)
{
    struct hf__pg_wire *w = &s->wire;
    int r = hf__pg_send(s);

    r = r == HF_OK ? hf__pg_next(s) : r;
    if (r == HF_OK && s->reply.sqlstate[0] != '\0' &&
        hf__pg_error_class(s) == HF__PG_UNKNOWN_PREPARED) {
        w->n_pending = 0;
        w->next_pending = 0;
        w->is_handed = false;
        r = hf__pg_send(s);
        r = r == HF_OK ? hf__pg_next(s) : r;
    }
    return r;
}

int hf__pg_run_well(struct hf__pg *s)
{
    int r = hf__pg_run(s);

    return r == HF_OK && s->reply.sqlstate[0] != '\0'
               ? hf__pg_refusal(s, s->t.err)
               : r;
}

int hf__pg_look(struct hf__pg *s)
{
    struct hf__pg_wire *w = &s->wire;
    struct pollfd fd = {.fd = w->fd, .events = POLLIN | POLLRDHUP};
    const char *standby = NULL;

    if (hf__pg_target_check(s) != HF_OK) {
        return HF_EUNAVAIL;
    }
    if (poll(&fd, 1, 0) == 0) {
        return HF_OK;
    }
    if (fd.revents == POLLIN && PQconsumeInput(w->handle)) {
        (void)PQisBusy(w->handle); /* parses what has come */
        standby = PQparameterStatus(w->handle, "in_hot_standby");
        if (PQstatus(w->handle) == CONNECTION_OK &&
            (standby == NULL || strcmp(standby, "on") != 0)) {
            return HF_OK;
        }
    }
    w->is_dead = true;
    return standby != NULL && strcmp(standby, "on") == 0
               ? hf__fail(s->t.err, HF_EUNAVAIL,
                          "the server is a standby, and no primary any more")
               : hf__fail(s->t.err, HF_EUNAVAIL,
                          "the server has closed the connection");
}
