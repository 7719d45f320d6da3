/* SPDX-License-Identifier: MIT */
/*
 * Connecting, up to the server's yes. The greeting is judged before the
 * library answers it; what the library may do then is said in login.c. Called
 * by the session's thread.
 */
#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/greeting.h"
#include "src/backend/mysql/login.h"
#include "src/backend/mysql/mysql.h"
#include "src/base/error.h"
#include "src/base/fork.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

/* The library's: a certificate that is not trusted, or no TLS. */
#define TLS_ERROR 2026

/* Its descriptor is ours to keep from other programs: the library opens it
 * without the flag. */
static int adopt_socket(struct hf__mysql *s)
{
    s->wire.fd = (int)mysql_get_socket(s->wire.handle);
    (void)fcntl(s->wire.fd, F_SETFD, FD_CLOEXEC);
    return hf__fd_register(s->wire.fd);
}

/* The library's copy, which it keeps to connect anew: we never ask it to. */
static void forget_password(MYSQL *handle)
{
    if (handle->passwd != NULL) {
        explicit_bzero(handle->passwd, strlen(handle->passwd));
    }
}

static bool wants_tls(const struct hf__wire_target *t)
{
    return t->tls != NULL && !hf__login_is_tls(t, "off");
}

static int late(struct hf__mysql *s, const struct hf__wire_target *t)
{
    s->wire.is_suspended = true;
    return hf__fail(s->err, HF_EUNAVAIL, "the server %s did not answer in time",
                    t->shown);
}

static int has_no_tls(struct hf__mysql *s, const struct hf__wire_target *t)
{
    return hf__fail(s->err, HF_EUNSAFE,
                    "the server %s has no TLS, and tls=%s was asked for: set "
                    "it up there",
                    t->shown, t->tls);
}

static int judge_greeting(struct hf__mysql *s, const struct hf__wire_target *t,
                          enum hf__greeting greeting)
{
    switch (greeting) {
    case HF__GREETING_NONE:
        return hf__fail(s->err, HF_EPROTO,
                        "what %s says is no greeting of MySQL 4.1 or later: is "
                        "the port right?",
                        t->shown);
    case HF__GREETING_END:
        return hf__fail(s->err, HF_EUNAVAIL,
                        "the server %s has closed the connection", t->shown);
    case HF__GREETING_PLAIN:
        return wants_tls(t) ? has_no_tls(s, t) : HF_OK;
    case HF__GREETING_PART:
    case HF__GREETING_TLS:
    case HF__GREETING_ERROR:
    default:
        return HF_OK;
    }
}

/* The socket is connected: the greeting is looked at before the library sees
 * it, and answers. */
static int await_greeting(struct hf__mysql *s, const struct hf__wire_target *t,
                          hf__time deadline)
{
    enum hf__greeting greeting = HF__GREETING_PART;
    int fd = (int)mysql_get_socket(s->wire.handle);
    size_t n_seen = 0;

    while (greeting == HF__GREETING_PART) {
        if (hf__wire_sleep_for(s, MYSQL_WAIT_READ, deadline) == 0) {
            return late(s, t);
        }
        greeting = hf__greeting_peek(fd, &n_seen);
    }
    return judge_greeting(s, t, greeting);
}

static bool is_connected(MYSQL *handle)
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;

    return getpeername((int)mysql_get_socket(handle), (struct sockaddr *)&peer,
                       &size) == 0;
}

/* It may look up a name, for long: others may fork meanwhile. */
static int start(struct hf__mysql *s, const struct hf__wire_target *t,
                 MYSQL **ret_connected)
{
    return mysql_real_connect_start(
        ret_connected, s->wire.handle, t->host, t->user, t->password,
        t->database, (unsigned)t->port, t->socket,
        CLIENT_MULTI_STATEMENTS | CLIENT_FOUND_ROWS);
}

/* It does not block; what it has locked a child would find locked for ever. */
static int go_on(struct hf__mysql *s, int got, MYSQL **ret_connected)
{
    int status;

    hf__fork_forbid();
    status = mysql_real_connect_cont(ret_connected, s->wire.handle, got);
    hf__fork_allow();
    return status;
}

/* By TCP the library waits for its connection before it reads. A unix socket
 * it may have read from already; nobody stands between there. */
static int drive(struct hf__mysql *s, const struct hf__wire_target *t,
                 hf__time deadline, MYSQL **ret_connected)
{
    bool is_greeted = t->socket != NULL;
    int status = start(s, t, ret_connected);

    while (status != 0) {
        int got = hf__wire_sleep_for(s, status, deadline);

        if (got == 0) {
            return late(s, t);
        }
        if (!is_greeted && is_connected(s->wire.handle)) {
            int r = await_greeting(s, t, deadline);

            if (r != HF_OK) {
                s->wire.is_suspended = true;
                return r;
            }
            is_greeted = true;
        }
        status = go_on(s, got, ret_connected);
    }
    return HF_OK;
}

/* Why the library gave up. */
static int refuse(struct hf__mysql *s, const struct hf__wire_target *t)
{
    MYSQL *h = s->wire.handle;
    int r = hf__login_judge(h, t, s->err);

    if (r != HF_OK) {
        return r;
    }
    return mysql_errno(h) == TLS_ERROR
               ? hf__fail_native(s->err, HF_EUNSAFE, TLS_ERROR,
                                 "%s: %s (see tls= and ca= of the url)",
                                 t->shown, mysql_error(h))
               : hf__mysql_fail(s, s->err);
}

int hf__wire_connect(struct hf__mysql *s, const struct hf__wire_target *t,
                     hf__time deadline)
{
    MYSQL *connected = NULL;
    int r;

    hf__wire_disconnect(s);
    s->wire.handle = hf__login_prepare(t, s->err);
    if (s->wire.handle == NULL) {
        return HF_ENOMEM;
    }
    r = drive(s, t, deadline, &connected);
    forget_password(s->wire.handle);
    if (r == HF_OK && connected == NULL) {
        r = refuse(s, t);
    }
    if (r != HF_OK) {
        s->wire.is_dead = true;
        return r;
    }
    s->server.is_verified = hf__login_is_tls(t, "verify");
    r = adopt_socket(s);
    /* By a unix socket the library may have gone on without. */
    return r == HF_OK && wants_tls(t) &&
                   mysql_get_ssl_cipher(s->wire.handle) == NULL
               ? has_no_tls(s, t)
               : r;
}
