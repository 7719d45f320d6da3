/* SPDX-License-Identifier: MIT */
/*
 * Goes from a URL to a session. All that the URL says is checked first. Several
 * hosts are one server and its standbys. Each is looked at, with its share of
 * the time: the first one that takes writes may be an old primary, replaced,
 * that came back; its timeline is lower. If two hosts could both grant the same
 * lock, none is taken. Names are looked up here, which blocks, not by libpq: a
 * host's addresses are tried one after another up to the first that takes
 * writes, and one that does not answer leaves time for the next ones. Called by
 * the session's thread when it opens.
 */
#include "src/backend/postgres/target.h"

#include "src/backend/table/target.h"
#include "src/base/error.h"
#include "src/base/fork.h"
#include "src/base/host.h"
#include "src/base/secret.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>

#define PORT 5432
/* Time for a host once another was found that takes writes. */
#define OTHER_MS 500
/* Time for an address to answer at all, if there is another one. */
#define ADDRESS_MS 1000

const char *const hf__pg_options[] = {
    "schema", "socket", "tls", "ca", "cert", "key", "password_file", NULL};

/* ---- what the URL says */

static int check(const struct hf__url *url, hf_error *err)
{
    const char *socket = hf__url_option(url, "socket");
    int r =
        hf__table_check_hosts(url, "postgres://user@host:5432/database", err);

    if (r == HF_OK && (url->path[0] != '/' || url->path[1] == '\0')) {
        r = hf__fail(err, HF_EINVAL,
                     "url: it names no database: "
                     "postgres://user@host:5432/DATABASE");
    }
    if (r == HF_OK && socket != NULL && strchr(socket, ',') != NULL) {
        r = hf__fail(err, HF_EINVAL,
                     "socket: \"%s\" has a comma, which libpq takes for the "
                     "end of a folder and goes on to another",
                     socket);
    }
    r = r == HF_OK ? hf__table_check_tls(url, err) : r;
    return r == HF_OK && socket != NULL && hf__table_tls(url) != NULL
               ? hf__fail(err, HF_EINVAL,
                          "socket: PostgreSQL has no TLS there: name a host, "
                          "or leave tls=, ca=, cert= and key= away")
               : r;
}

/* ---- the hosts */

/* The best host so far, and what is known of the others. */
struct choice {
    PGconn *handle; /* NULL: none takes writes */
    struct hf__pg_server server;
    char schema[HF__PG_NAME];
    struct hf__server_info server_info;
    uint64_t system;  /* of all hosts; 0: none has answered */
    uint32_t highest; /* highest timeline of a standby */
    bool is_conflict; /* two of them contradict each other */
    bool is_past;     /* the last one is an old primary */
};

/* Exchange the session's connection for the best one. */
static void swap(struct hf__pg *s, struct choice *c)
{
    struct choice best = *c;

    c->handle = s->wire.handle;
    c->server = s->server;
    memcpy(c->schema, s->wire.schema, sizeof c->schema);
    c->server_info = s->t.head.server_info;
    s->wire.handle = best.handle;
    s->wire.fd = PQsocket(best.handle); /* −1 without one */
    s->server = best.server;
    memcpy(s->wire.schema, best.schema, sizeof best.schema);
    s->t.head.server_info = best.server_info;
}

/* Weigh the host that has answered. If none before it takes writes, c->server
 * is all zero, so its timeline is the lowest. */
static int meet(struct hf__pg *s, struct choice *c)
{
    const struct hf__pg_server *v = &s->server;

    c->is_conflict = true;
    if (c->system != 0 && c->system != v->system) {
        return hf__fail(s->t.err, HF_EUNSAFE,
                        "url: its hosts are no copies of one server, and each "
                        "would grant what the others have granted");
    }
    if (!v->is_standby && v->timeline == c->server.timeline &&
        v->server_id != c->server.server_id) {
        return hf__fail(s->t.err, HF_EUNSAFE,
                        "url: two of its hosts take writes, and none of them "
                        "is known to be the primary: stop the one that is not");
    }
    c->is_conflict = false;
    c->system = v->system;
    if (v->is_standby) {
        c->highest = v->timeline > c->highest ? v->timeline : c->highest;
    } else if (v->timeline > c->server.timeline) {
        swap(s, c);
    }
    return HF_OK;
}

/* Refuse the server if its system has begun a higher timeline. */
static int judge(struct hf__pg *s, uint32_t highest)
{
    return s->server.timeline < highest
               ? hf__fail(s->t.err, HF_EUNSAFE,
                          "the server that takes writes is on timeline %u, "
                          "and timeline %u has begun: it was the primary, and "
                          "another has been promoted",
                          s->server.timeline, highest)
               : HF_OK;
}

static int try_address(struct hf__pg *s, const struct hf__pg_target *t,
                       const char *allow, struct choice *c)
{
    int met = HF_OK;
    int r;

    s->server = (struct hf__pg_server){0};
    r = hf__pg_connect(s, t);
    r = r == HF_OK ? hf__pg_settle(s, t, allow) : r;
    if (r == HF_OK) {
        r = judge(s, hf__pg_highest_of(s->server.system));
        c->is_past = r != HF_OK;
    }
    if (r == HF_OK || s->server.is_standby) {
        met = meet(s, c);
    }
    hf__pg_disconnect(s);
    return met != HF_OK ? met : r;
}

static int try_host(struct hf__pg *s, struct hf__pg_target *t,
                    const char *allow, struct choice *c)
{
    struct addrinfo *list;
    char address[NI_MAXHOST];
    int error;
    int r = HF_EUNAVAIL;

    t->answer_by = HF__NEVER;
    if (t->host[0] == '/') {
        return try_address(s, t, allow, c);
    }
    error = hf__host_look_up(t->host, NULL, &list);
    if (error != 0) {
        return hf__fail(s->t.err, HF_EUNAVAIL, "%s can't be looked up: %s",
                        t->host, gai_strerror(error));
    }
    t->address = address;
    for (const struct addrinfo *one = list;
         one != NULL && (r == HF_EUNAVAIL || c->is_past); one = one->ai_next) {
        c->is_past = false;
        t->answer_by = one->ai_next == NULL
                           ? HF__NEVER
                           : hf__after_ms(hf__now(), ADDRESS_MS);
        if (getnameinfo(one->ai_addr, one->ai_addrlen, address, sizeof address,
                        NULL, 0, NI_NUMERICHOST) == 0) {
            r = try_address(s, t, allow, c);
        }
    }
    t->address = NULL;
    freeaddrinfo(list);
    return r;
}

static hf__time share_of(const struct hf__pg *s, const struct choice *c,
                         size_t left)
{
    hf__time now = hf__now();
    hf__time until =
        hf__after_ns(now, hf__between_ns(now, s->t.deadline) / (int64_t)left);

    return c->handle == NULL ? until
                             : hf__earlier(until, hf__after_ms(now, OTHER_MS));
}

/* Look at all hosts. An error of one does not matter if another will do; else
 * the error that is told is one that needs help rather than time. */
static int look_at_all(struct hf__pg *s, const struct hf__url *url,
                       const struct hf__pg_target *t, const char *allow,
                       struct choice *c)
{
    const struct hf__url_host socket = {
        .name = hf__url_option(url, "socket"),
        .port = url->n_hosts > 0 ? url->hosts[0].port : 0};
    const struct hf__url_host *hosts =
        socket.name != NULL ? &socket : url->hosts;
    size_t n = socket.name != NULL ? 1 : url->n_hosts;
    hf__time deadline = s->t.deadline;
    hf_error *err = s->t.err;
    int r = HF_EUNAVAIL;

    for (size_t i = 0; i < n && !c->is_conflict; i++) {
        hf_error why = HF_ERROR_INIT;
        struct hf__pg_target one = *t;
        char shown[280];
        int got;

        one.host = hosts[i].name;
        one.port = hosts[i].port == 0 ? PORT : hosts[i].port;
        one.shown = shown;
        (void)snprintf(shown, sizeof shown, "%.255s port %d", one.host,
                       one.port);
        s->t.err = &why;
        s->t.deadline = share_of(s, c, n - i);
        got = try_host(s, &one, allow, c);
        s->t.deadline = deadline;
        s->t.err = err;
        if (r == HF_EUNAVAIL || c->is_conflict) {
            r = got;
            hf__error_copy(err, &why);
        }
        if (hf__is_interrupted(&s->t.head)) {
            return HF_EUNAVAIL;
        }
    }
    return c->handle != NULL && !c->is_conflict ? HF_OK : r;
}

int hf__pg_target_connect(struct hf__pg *s, const struct hf__url *url,
                          const char *allow)
{
    HF_AUTO(hf__secret_wipe) struct hf__secret secret = {0};
    struct hf__pg_target t = {
        .user = url->user,
        .password = secret.text,
        .database = url->path + 1,
        .tls = hf__table_tls(url),
        .ca = hf__url_option(url, "ca"),
        .cert = hf__url_option(url, "cert"),
        .key = hf__url_option(url, "key"),
        .schema = hf__url_option(url, "schema"),
    };
    struct hf__table_login login;
    struct choice c = {.handle = NULL};
    int r = check(url, s->t.err);

    r = r == HF_OK ? hf__secret_read(url, &secret, s->t.err) : r;
    if (r != HF_OK) {
        return r;
    }
    hf__table_login(&login);
    t.user = t.user == NULL ? login.name : t.user;
    r = look_at_all(s, url, &t, allow, &c);
    swap(s, &c);
    if (r == HF_OK) {
        uint32_t highest = hf__pg_highest_with(c.system, s->server.timeline);

        r = judge(s, c.highest > highest ? c.highest : highest);
    }
    if ((url->n_hosts > 1 || c.highest != 0) && !s->server.is_waited_for &&
        s->t.head.server_info.grade < 'C') {
        s->t.head.server_info.grade = 'C';
    }
    return r;
}
