/* SPDX-License-Identifier: MIT */
/*
 * Driving libmariadb. When a call of it would block, it says what it waits for;
 * we sleep in poll() until that has come, or the deadline, or an interrupt.
 * Other files decide what is sent. Called by the session's thread.
 */
#include "src/backend/mysql/wire.h"

#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/mysql.h"
#include "src/base/error.h"
#include "src/base/fork.h"

#include <poll.h>
#include <sys/socket.h>

int hf__wire_init(struct hf__mysql *s)
{
    s->wire.fd = -1;
    return hf__waker_init(&s->t.waker, s->t.err);
}

/* ---- sleeping */

static short events_of(int status)
{
    return (short)(((status & MYSQL_WAIT_READ) != 0 ? POLLIN : 0) |
                   ((status & MYSQL_WAIT_WRITE) != 0 ? POLLOUT : 0) |
                   ((status & MYSQL_WAIT_EXCEPT) != 0 ? POLLPRI : 0));
}

static int status_of(short events)
{
    return ((events & (POLLIN | POLLHUP | POLLERR)) != 0 ? MYSQL_WAIT_READ
                                                         : 0) |
           ((events & (POLLOUT | POLLERR)) != 0 ? MYSQL_WAIT_WRITE : 0) |
           ((events & POLLPRI) != 0 ? MYSQL_WAIT_EXCEPT : 0);
}

int hf__wire_sleep_for(struct hf__mysql *s, int status, hf__time until)
{
    return status_of(hf__table_sleep(&s->t,
                                     (int)mysql_get_socket(s->wire.handle),
                                     events_of(status), until));
}

/* Wait for the running library call. 0: the call is given up, and the
 * connection with it. */
static int await(struct hf__mysql *s, int status)
{
    int got = hf__wire_sleep_for(s, status, s->t.deadline);

    s->wire.is_suspended = got == 0;
    return got;
}

static int dead(struct hf__mysql *s)
{
    s->wire.is_dead = true;
    return hf__mysql_dead(s);
}

/* ---- the end */

static void drop_rows(struct hf__mysql *s)
{
    if (s->reply.rows != NULL) {
        mysql_free_result(s->reply.rows);
    }
    s->reply = (struct hf__reply){0};
}

void hf__wire_disconnect(struct hf__mysql *s)
{
    struct hf__wire *w = &s->wire;

    drop_rows(s);
    if (w->handle == NULL) {
        return;
    }
    hf__fd_leave(&w->fd);
    if (w->is_suspended || w->is_dead) {
        /* No answer is to be expected, so do not wait to say goodbye. */
        (void)shutdown((int)mysql_get_socket(w->handle), SHUT_RDWR);
    }
    mysql_close(w->handle);
    w->handle = NULL;
    w->is_suspended = false;
    w->is_dead = false;
}

void hf__wire_fini(struct hf__mysql *s)
{
    hf__wire_disconnect(s);
    hf__waker_fini(&s->t.waker);
}

/* ---- statements and replies */

int hf__wire_look(struct hf__mysql *s)
{
    struct pollfd fd = {.fd = s->wire.fd, .events = POLLRDHUP};

    if (poll(&fd, 1, 0) == 0) {
        return HF_OK;
    }
    s->wire.is_dead = true;
    return hf__fail(s->t.err, HF_EUNAVAIL,
                    "the server has closed the connection");
}

/* Errors from 2000 on are the client library's: the connection can't be used
 * any more. */
static int refused(struct hf__mysql *s)
{
    s->reply.error = mysql_errno(s->wire.handle);
    s->reply.is_last = true;
    return s->reply.error >= 2000 && s->reply.error < 3000 ? dead(s) : HF_OK;
}

static int take_rows(struct hf__mysql *s)
{
    MYSQL *h = s->wire.handle;
    int status = mysql_store_result_start(&s->reply.rows, h);

    while (status != 0) {
        status = await(s, status);
        if (status == 0) {
            return dead(s);
        }
        status = mysql_store_result_cont(&s->reply.rows, h, status);
    }
    if (s->reply.rows == NULL && mysql_errno(h) != 0) {
        return refused(s);
    }
    return HF_OK;
}

static int take_reply(struct hf__mysql *s)
{
    MYSQL *h = s->wire.handle;

    s->reply.is_last = !mysql_more_results(h);
    if (mysql_field_count(h) > 0) {
        int r = take_rows(s);

        s->reply.is_last = s->reply.error != 0 || !mysql_more_results(h);
        return r;
    }
    s->reply.affected = mysql_affected_rows(h);
    s->reply.insert_id = mysql_insert_id(h);
    return HF_OK;
}

static bool is_sendable(struct hf__mysql *s)
{
    drop_rows(s);
    return !s->sql.is_broken && !s->wire.is_dead;
}

static int unsendable(struct hf__mysql *s)
{
    return s->sql.is_broken ? hf__fail(s->t.err, HF_ENOMEM, "out of memory")
                            : hf__mysql_dead(s);
}

int hf__wire_send(struct hf__mysql *s)
{
    MYSQL *h = s->wire.handle;
    int failed = 0;
    int status;

    if (!is_sendable(s)) {
        return unsendable(s);
    }
    status = mysql_real_query_start(&failed, h, s->sql.bytes, s->sql.length);
    while (status != 0) {
        status = await(s, status);
        if (status == 0) {
            return dead(s);
        }
        status = mysql_real_query_cont(&failed, h, status);
    }
    return failed ? refused(s) : take_reply(s);
}

int hf__wire_next(struct hf__mysql *s)
{
    MYSQL *h = s->wire.handle;
    int failed = 0;
    int status;

    drop_rows(s);
    status = mysql_next_result_start(&failed, h);
    while (status != 0) {
        status = await(s, status);
        if (status == 0) {
            return dead(s);
        }
        status = mysql_next_result_cont(&failed, h, status);
    }
    return failed > 0 ? refused(s) : take_reply(s);
}

int hf__wire_skip(struct hf__mysql *s)
{
    int r = HF_OK;

    while (r == HF_OK && !s->reply.is_last) {
        r = hf__wire_next(s);
    }
    return r;
}

int hf__wire_run(struct hf__mysql *s)
{
    int r = hf__wire_send(s);

    return r == HF_OK ? hf__wire_skip(s) : r;
}

int hf__mysql_run(struct hf__mysql *s)
{
    int r = hf__wire_run(s);

    return r == HF_OK && s->reply.error != 0 ? hf__mysql_fail(s, s->t.err) : r;
}

/* ---- a reply that may take long */

int hf__wire_begin(struct hf__mysql *s)
{
    int failed = 0;
    int status;

    if (!is_sendable(s)) {
        return unsendable(s);
    }
    status = mysql_send_query_start(&failed, s->wire.handle, s->sql.bytes,
                                    s->sql.length);
    while (status != 0) {
        status = await(s, status);
        if (status == 0) {
            return dead(s);
        }
        status = mysql_send_query_cont(&failed, s->wire.handle, status);
    }
    return failed ? refused(s) : HF_OK;
}

static int read_reply(struct hf__mysql *s)
{
    MYSQL *h = s->wire.handle;
    my_bool failed = 0;
    int status = mysql_read_query_result_start(&failed, h);

    while (status != 0) {
        status = await(s, status);
        if (status == 0) {
            return dead(s);
        }
        status = mysql_read_query_result_cont(&failed, h, status);
    }
    return failed ? refused(s) : take_reply(s);
}

int hf__wire_await(struct hf__mysql *s, hf__time until, bool *ret_has_reply)
{
    *ret_has_reply = hf__wire_sleep_for(s, MYSQL_WAIT_READ, until) != 0;
    return *ret_has_reply ? read_reply(s) : HF_OK;
}

MYSQL_ROW hf__wire_row(struct hf__mysql *s)
{
    return s->reply.rows == NULL ? NULL : mysql_fetch_row(s->reply.rows);
}

const unsigned long *hf__wire_lengths(struct hf__mysql *s)
{
    return mysql_fetch_lengths(s->reply.rows);
}
