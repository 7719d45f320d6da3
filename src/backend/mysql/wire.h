/* SPDX-License-Identifier: MIT */
/*
 * The connection to the server, with time limits in milliseconds: libmariadb's
 * own time-outs are whole seconds, so its non-blocking calls are driven here by
 * poll(), which an interrupt ends, too. Several statements go out as one packet
 * and their replies come one after another. If a call ends early, so does the
 * connection. Thread: the session's.
 */
#ifndef HF_BACKEND_MYSQL_WIRE_H
#define HF_BACKEND_MYSQL_WIRE_H

#include "src/backend/mysql/sql.h"

#include <mysql.h>

struct hf__mysql;

struct hf__wire {
    MYSQL *handle;     /* NULL: not connected */
    int fd;            /* its socket, registered; −1: none yet */
    bool is_suspended; /* a library call was left unfinished */
    bool is_dead;      /* the connection can't be used any more */
};

/* The server's reply to one statement. */
struct hf__reply {
    MYSQL_RES *rows;    /* or NULL; the session frees it */
    uint64_t affected;  /* rows that were deleted, or an UPDATE found */
    uint64_t insert_id; /* LAST_INSERT_ID(expr) of an UPDATE or INSERT */
    unsigned error;     /* why the server refused it; then no reply follows */
    bool is_last;
};

/* Call once, before connecting. HF_OK, HF_EUNAVAIL (no descriptor) or
 * HF_ENOMEM. */
HF_MUST_CHECK int hf__wire_init(struct hf__mysql *s);
/* A server to connect to, by hf__wire_connect(): HF_OK; HF_EAUTH, HF_EINVAL (no
 * such database), HF_EUNAVAIL, HF_ENOMEM, and s->t.err says why. `socket` is a
 * unix socket's path, or NULL. */
struct hf__wire_target {
    const char *host;
    int port;
    const char *socket;
    const char *user;
    const char *password;
    const char *database;
    const char *tls; /* "verify", "require", "off"; NULL: use it if the server
                        can */
    const char *ca;
    const char *cert;
    const char *key;
    const char *shown; /* the server's address for error texts */
};
/* Set the target to that host of the URL; it keeps a pointer to `shown`. */
enum { HF__SHOWN = 300 };
void hf__wire_target_host(struct hf__wire_target *target,
                          const struct hf__url_host *host,
                          char shown[HF__SHOWN]);
HF_MUST_CHECK int hf__wire_connect(struct hf__mysql *s,
                                   const struct hf__wire_target *target,
                                   hf__time deadline);
/* Call before a new attempt to connect, and at the end. */
void hf__wire_disconnect(struct hf__mysql *s);
void hf__wire_fini(struct hf__mysql *s);

/* Has the server closed the connection meanwhile? HF_OK, or HF_EUNAVAIL:
 * nothing was sent, so the result of no statement is unknown. */
HF_MUST_CHECK int hf__wire_look(struct hf__mysql *s);
/* Send s->sql; s->reply is that of the first statement. HF_OK. HF_EUNAVAIL: the
 * connection is dead (is_dead is set), and what was sent may be applied.
 * HF_ENOMEM: nothing was sent. */
HF_MUST_CHECK int hf__wire_send(struct hf__mysql *s);
/* Take the next statement's reply; not after is_last. */
HF_MUST_CHECK int hf__wire_next(struct hf__mysql *s);
/* Skip the replies that are left; if one is an error it stays in s->reply. */
HF_MUST_CHECK int hf__wire_skip(struct hf__mysql *s);
/* Send s->sql and skip all replies; the last one, or the error, stays. */
HF_MUST_CHECK int hf__wire_run(struct hf__mysql *s);

/* hf__wire_send() in two steps, for a caller that also waits for something
 * else: after begin() the reply is outstanding. await() returns HF_OK with
 * *ret_has_reply false at `until`, and when interrupted. */
HF_MUST_CHECK int hf__wire_begin(struct hf__mysql *s);
HF_MUST_CHECK int hf__wire_await(struct hf__mysql *s, hf__time until,
                                 bool *ret_has_reply);
/* Sleep until an event in `status` (MYSQL_WAIT_…) has come. Returns the events
 * that have, or 0 at `until` and when interrupted. */
int hf__wire_sleep_for(struct hf__mysql *s, int status, hf__time until);

/* The next row of s->reply, or NULL; lengths by hf__wire_lengths(). */
MYSQL_ROW hf__wire_row(struct hf__mysql *s);
const unsigned long *hf__wire_lengths(struct hf__mysql *s);

#endif
