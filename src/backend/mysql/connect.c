/* SPDX-License-Identifier: MIT */
/*
 * Connecting, until the server accepts the login. The greeting, a server's
 * first packet, is examined before the library answers it, and more strictly
 * than libmariadb does: a greeting that passes here as one with TLS must count
 * as one with TLS there. Else the library would log in at a server without TLS,
 * although the URL asks for TLS. auth.c says what the library may do for a
 * connection. Called by the session's thread.
 */
#include "src/backend/mysql/wire.h"

#include "src/backend/mysql/auth.h"
#include "src/backend/mysql/errors.h"
#include "src/backend/mysql/mysql.h"
#include "src/base/error.h"
#include "src/base/fork.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ma_pvio.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#define PORT 3306

/* ---- the greeting */

enum hf__handshake {
    HF__HANDSHAKE_PART,  /* more of it is to come */
    HF__HANDSHAKE_TLS,   /* the server has TLS */
    HF__HANDSHAKE_PLAIN, /* the server has no TLS */
    HF__HANDSHAKE_ERROR, /* the server refuses everybody, and says why */
    HF__HANDSHAKE_NONE,  /* it is no greeting, or is ambiguous */
    HF__HANDSHAKE_MORE,  /* more bytes follow it, before anybody has answered */
    HF__HANDSHAKE_END,   /* the connection ended before it was complete */
};

enum {
    HEAD = 4,
    BEFORE_CAPABILITIES = 13,
    AFTER_CAPABILITIES = 16,
    VERSION_MAX = 255,
    PROTOCOL = 10,
    REFUSAL = 0xff,
    PROGRESS = 0xffff, /* this error number means progress, and more follows */
    CAN_SSL = 0x800,
    LENGTH_MAX = 1024, /* bytes: twice the longest text of an error */
    PEEK_MAX = HEAD + LENGTH_MAX + 1,
};

static unsigned number(const unsigned char *at)
{
    return at[0] | (unsigned)at[1] << 8;
}

static enum hf__handshake read_refusal(const unsigned char *payload, size_t n,
                                       size_t length)
{
    if (length < 3) {
        return HF__HANDSHAKE_NONE;
    }
    if (n < 3) {
        return HF__HANDSHAKE_PART;
    }
    return number(payload + 1) == PROGRESS ? HF__HANDSHAKE_NONE
                                           : HF__HANDSHAKE_ERROR;
}

/* The first `n` of `length` bytes have arrived. */
static enum hf__handshake read_payload(const unsigned char *payload, size_t n,
                                       size_t length)
{
    const unsigned char *end = memchr(payload + 1, '\0', n - 1);
    size_t at;

    if (payload[0] != PROTOCOL) {
        return HF__HANDSHAKE_NONE;
    }
    if (end == NULL) {
        return n < length && n <= VERSION_MAX ? HF__HANDSHAKE_PART
                                              : HF__HANDSHAKE_NONE;
    }
    at = (size_t)(end - payload) + 1 + BEFORE_CAPABILITIES;
    if (end - payload > VERSION_MAX || at + 2 + AFTER_CAPABILITIES > length) {
        return HF__HANDSHAKE_NONE;
    }
    if (n < at + 2) {
        return HF__HANDSHAKE_PART;
    }
    return (number(payload + at) & CAN_SSL) != 0 ? HF__HANDSHAKE_TLS
                                                 : HF__HANDSHAKE_PLAIN;
}

/* `n` bytes have arrived, perhaps more than the packet's: that is HEAD and
 * `length` bytes long. */
static enum hf__handshake await_end(enum hf__handshake found, size_t n,
                                    size_t length)
{
    if (found == HF__HANDSHAKE_NONE || n == HEAD + length) {
        return found;
    }
    return n < HEAD + length ? HF__HANDSHAKE_PART : HF__HANDSHAKE_MORE;
}

static enum hf__handshake handshake_read(const unsigned char *bytes, size_t n)
{
    enum hf__handshake found;
    size_t length;
    size_t seen;

    if (n < HEAD) {
        return HF__HANDSHAKE_PART;
    }
    length = number(bytes) | (size_t)bytes[2] << 16;
    if (length == 0 || length > LENGTH_MAX || bytes[3] != 0) {
        return HF__HANDSHAKE_NONE;
    }
    seen = n - HEAD < length ? n - HEAD : length;
    if (seen == 0) {
        return HF__HANDSHAKE_PART;
    }
    found = bytes[HEAD] == REFUSAL ? read_refusal(bytes + HEAD, seen, length)
                                   : read_payload(bytes + HEAD, seen, length);
    return await_end(found, n, length);
}

/* From now on the socket is readable when it has `n` bytes. */
static void wake_from(int fd, size_t n)
{
    int least = (int)n;

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
}

/* Read the greeting without taking it from the socket. *n_seen is the number of
 * bytes seen so far, 0 at first. After HF__HANDSHAKE_PART the socket becomes
 * readable when more bytes or the end have come. */
static enum hf__handshake handshake_peek(int fd, size_t *n_seen)
{
    unsigned char bytes[PEEK_MAX];
    ssize_t n = recv(fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    enum hf__handshake found = HF__HANDSHAKE_END;

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return HF__HANDSHAKE_PART;
    }
    if (n > 0 && (size_t)n > *n_seen) {
        found = handshake_read(bytes, (size_t)n);
        *n_seen = (size_t)n;
    }
    wake_from(fd, found == HF__HANDSHAKE_PART ? *n_seen + 1 : 1);
    return found;
}

/* The library's error: the certificate is not trusted, or there is no TLS. */
#define TLS_ERROR 2026

/* One attempt to connect: a series of calls of the library. */
struct attempt {
    struct hf__mysql *s;
    const struct hf__wire_target *t;
    hf__time deadline;
    bool is_started;
    bool is_short; /* the running call is short, so forks are forbidden during
                      it */
    int status;    /* MYSQL_WAIT_… that it waits for; 0: it has ended */
    int got;       /* which of these events have come */
    int failure;   /* of a wait within a call; s->t.err says why */
    MYSQL *connected;
};

/* The attempt whose library call runs in this thread. */
static _Thread_local struct attempt *calling;

/* The library keeps a copy to reconnect with, which we never do: erase it. */
static void forget_password(MYSQL *handle)
{
    if (handle->passwd != NULL) {
        explicit_bzero(handle->passwd, strlen(handle->passwd));
    }
}

static bool wants_tls(const struct hf__wire_target *t)
{
    return t->tls != NULL && !hf__auth_is_tls(t, "off");
}

static int late(struct hf__mysql *s, const struct hf__wire_target *t)
{
    return hf__fail(s->t.err, HF_EUNAVAIL,
                    "the server %s did not answer in time", t->shown);
}

static int has_no_tls(struct hf__mysql *s, const struct hf__wire_target *t)
{
    return hf__fail(s->t.err, HF_EUNSAFE,
                    "the server %s has no TLS, and tls=%s was asked for: set "
                    "it up there",
                    t->shown, t->tls);
}

/* These bytes came outside of TLS, and the library would take them for the
 * server's. */
static int says_more(struct hf__mysql *s, const struct hf__wire_target *t)
{
    return hf__fail(s->t.err, HF_EUNSAFE,
                    "%s sent more than its handshake packet before it was "
                    "answered: somebody may be in the middle",
                    t->shown);
}

static int check_handshake(struct hf__mysql *s, const struct hf__wire_target *t,
                           enum hf__handshake handshake)
{
    switch (handshake) {
    case HF__HANDSHAKE_NONE:
        return hf__fail(s->t.err, HF_EPROTO,
                        "what %s says is no greeting of MySQL 4.1 or later: is "
                        "the port right?",
                        t->shown);
    case HF__HANDSHAKE_MORE:
        return says_more(s, t);
    case HF__HANDSHAKE_END:
        return hf__fail(s->t.err, HF_EUNAVAIL,
                        "the server %s has closed the connection", t->shown);
    case HF__HANDSHAKE_PLAIN:
        return wants_tls(t) ? has_no_tls(s, t) : HF_OK;
    case HF__HANDSHAKE_PART:
    case HF__HANDSHAKE_TLS:
    case HF__HANDSHAKE_ERROR:
    default:
        return HF_OK;
    }
}

/* The socket is connected: examine the greeting before the library sees it and
 * answers. */
static int await_handshake(struct hf__mysql *s, const struct hf__wire_target *t,
                           hf__time deadline)
{
    enum hf__handshake handshake = HF__HANDSHAKE_PART;
    size_t n_seen = 0;

    while (handshake == HF__HANDSHAKE_PART) {
        if (hf__wire_sleep_for(s, MYSQL_WAIT_READ, deadline) == 0) {
            return late(s, t);
        }
        handshake = handshake_peek(s->wire.fd, &n_seen);
    }
    return check_handshake(s, t, handshake);
}

static bool is_connected(int fd)
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;

    return getpeername(fd, (struct sockaddr *)&peer, &size) == 0;
}

static bool is_address(const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, host, address) == 1 ||
           inet_pton(AF_INET6, host, address) == 1;
}

/* The library may have made the socket blocking, so give the socket short
 * time-outs, which the library removes in the end. */
static void shorten_waits(int fd)
{
    struct timeval least = {.tv_usec = 1};

    if (fd >= 0) {
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &least, sizeof least);
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &least, sizeof least);
    }
}

/* Have bytes come before TLS that are not read yet? They may have come after we
 * examined the greeting. */
static bool has_left(const MYSQL *handle)
{
    const MARIADB_PVIO *io = handle->net.pvio;

    return io != NULL && io->cache_pos < io->cache + io->cache_size;
}

/* Starting TLS waits for the server; forks are allowed while it waits. */
static int wait_within(struct attempt *a, int status)
{
    int got = 0;

    a->failure = has_left(a->s->wire.handle)
                     ? says_more(a->s, a->t)
                     : hf__fd_adopt(&a->s->wire.fd,
                                    (int)mysql_get_socket(a->s->wire.handle));
    if (a->failure != HF_OK) {
        return 0;
    }
    if (a->is_short) {
        hf__fork_allow();
    }
    got = hf__wire_sleep_for(a->s, status, a->deadline);
    if (a->is_short) {
        hf__fork_forbid();
    }
    hf__fd_leave(&a->s->wire.fd);
    if (got == 0) {
        a->failure = late(a->s, a->t);
    }
    return got;
}

/* The library asks this when a call can't go on; above 0: it may. A session
 * that ends does not wait. */
static int wait_for_library(my_socket fd, my_bool is_read, int timeout)
{
    (void)fd;
    (void)timeout;
    return calling != NULL &&
           wait_within(calling, is_read ? MYSQL_WAIT_READ : MYSQL_WAIT_WRITE) !=
               0;
}

static void call_library(struct attempt *a)
{
    const struct hf__wire_target *t = a->t;
    MYSQL *h = a->s->wire.handle;

    calling = a;
    a->status = a->is_started
                    ? mysql_real_connect_cont(&a->connected, h, a->got)
                    : mysql_real_connect_start(
                          &a->connected, h, t->host, t->user, t->password,
                          t->database, (unsigned)t->port, t->socket,
                          CLIENT_MULTI_STATEMENTS | CLIENT_FOUND_ROWS);
    calling = NULL;
}

/* One call of the library. A fork meanwhile would leave the library's locks
 * locked in the child for ever, so it is forbidden; such a call does not block,
 * unless it looks up a name: then forks stay allowed. */
static int step(struct attempt *a)
{
    const struct hf__wire_target *t = a->t;
    int r;

    a->is_short = a->is_started || t->socket != NULL || is_address(t->host);
    if (a->is_short) {
        hf__fork_forbid();
    }
    hf__fd_leave(&a->s->wire.fd);
    call_library(a);
    r = hf__fd_adopt(&a->s->wire.fd, (int)mysql_get_socket(a->s->wire.handle));
    if (r == HF_OK && !a->is_started) {
        r = hf__auth_meet(a->s->wire.handle, t, a->s->wire.fd, a->s->t.err);
    }
    if (a->is_short) {
        hf__fork_allow();
    }
    a->is_started = true;
    a->s->wire.is_suspended = a->status != 0;
    shorten_waits(a->s->wire.fd);
    return a->failure != HF_OK ? a->failure : r;
}

/* By TCP the library waits for its connection before it reads, so the greeting
 * can be examined first. From a unix socket it may have read already; nobody
 * can be in the middle there. */
static int drive(struct attempt *a)
{
    struct hf__mysql *s = a->s;
    bool has_handshake = a->t->socket != NULL;
    int r = step(a);

    while (r == HF_OK && a->status != 0) {
        a->got = hf__wire_sleep_for(s, a->status, a->deadline);
        if (a->got == 0) {
            return late(s, a->t);
        }
        if (!has_handshake && is_connected(s->wire.fd)) {
            r = await_handshake(s, a->t, a->deadline);
            has_handshake = true;
        }
        r = r == HF_OK ? step(a) : r;
    }
    return r;
}

/* Make the socket non-blocking, so that TLS data that come in pieces are waited
 * for like anything else. */
static void never_block(int fd)
{
    struct timeval none = {0};
    int flags = fcntl(fd, F_GETFL);

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof none);
    (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

/* Report why the library gave up. */
static int refuse(struct hf__mysql *s, const struct hf__wire_target *t)
{
    MYSQL *h = s->wire.handle;
    int r = hf__auth_judge(h, t, s->t.err);

    if (r != HF_OK) {
        return r;
    }
    return mysql_errno(h) == TLS_ERROR
               ? hf__fail_native(s->t.err, HF_EUNSAFE, TLS_ERROR,
                                 "%s: %s (see tls= and ca= of the url)",
                                 t->shown, mysql_error(h))
               : hf__mysql_fail(s, s->t.err);
}

int hf__wire_connect(struct hf__mysql *s, const struct hf__wire_target *t,
                     hf__time deadline)
{
    struct attempt attempt = {.s = s, .t = t, .deadline = deadline};
    int r;

    hf__wire_disconnect(s);
    s->wire.handle = hf__auth_prepare(t, wait_for_library, s->t.err);
    if (s->wire.handle == NULL) {
        return HF_ENOMEM;
    }
    r = drive(&attempt);
    forget_password(s->wire.handle);
    if (r == HF_OK && attempt.connected == NULL) {
        r = refuse(s, t);
    }
    if (r != HF_OK) {
        s->wire.is_dead = true;
        return r;
    }
    never_block(s->wire.fd);
    s->server.is_verified = hf__auth_is_tls(t, "verify");
    /* By a unix socket the library may have gone on without TLS. */
    return wants_tls(t) && mysql_get_ssl_cipher(s->wire.handle) == NULL
               ? has_no_tls(s, t)
               : HF_OK;
}

void hf__wire_target_host(struct hf__wire_target *target,
                          const struct hf__url_host *host,
                          char shown[HF__SHOWN])
{
    target->host = host->name;
    target->port = host->port == 0 ? PORT : host->port;
    (void)snprintf(shown, HF__SHOWN, "%.255s port %d", target->host,
                   target->port);
    target->shown = shown;
}
