/* SPDX-License-Identifier: MIT */
/*
 * From a URL to a session. All that the URL says is judged first; several hosts
 * are one server and its standbys. Each is looked at, with its share of the
 * time, for the first that takes writes may be a primary that was replaced, and
 * has come back: its timeline is lower. Of what would grant the same lock twice
 * none is taken. Called by the session's thread when it opens.
 */
#include "src/backend/postgres/place.h"

#include "src/backend/table/place.h"
#include "src/base/error.h"
#include "src/base/fork.h"
#include "src/base/secret.h"

#include <stdio.h>
#include <string.h>

#define PORT 5432
/* What a host has if another was found that takes writes. */
#define OTHER_MS 500
/* Systems that a process remembers. */
#define SYSTEMS_MAX 16

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
    if (r == HF_OK && socket != NULL && hf__table_tls(url) != NULL) {
        r = hf__fail(err, HF_EINVAL,
                     "socket: PostgreSQL has no TLS there: name a host, or "
                     "leave tls=, ca=, cert= and key= away");
    }
    return r;
}

/* ---- what this process has seen */

static struct hf__process_mutex seen_mutex;
static struct {
    uint64_t system;
    uint32_t timeline;
} seen[SYSTEMS_MAX];

/* The highest timeline of that system, with this one. */
static uint32_t highest_with(uint64_t system, uint32_t timeline)
{
    static int next;
    HF_SCOPED_LOCK(hf__process_mutex(&seen_mutex));

    for (int i = 0; i < SYSTEMS_MAX; i++) {
        if (seen[i].system == system) {
            seen[i].timeline =
                timeline > seen[i].timeline ? timeline : seen[i].timeline;
            return seen[i].timeline;
        }
    }
    seen[next].system = system;
    seen[next].timeline = timeline;
    next = (next + 1) % SYSTEMS_MAX;
    return timeline;
}

/* ---- the hosts */

/* The best one so far, and what is known of the others. */
struct choice {
    PGconn *handle; /* NULL: none takes writes */
    int fd;
    struct hf__pg_server server;
    char schema[HF__PG_NAME];
    struct hf__facts facts;
    uint64_t system;  /* of all of them; 0: none has answered */
    uint32_t highest; /* timeline of a standby */
    bool is_conflict; /* two of them contradict each other */
};

/* The session's connection and the best one change places. */
static void swap(struct hf__pg *s, struct choice *c)
{
    struct choice best = *c;

    c->handle = s->wire.handle;
    c->fd = s->wire.fd;
    c->server = s->server;
    memcpy(c->schema, s->wire.schema, sizeof c->schema);
    c->facts = s->head.facts;
    s->wire.handle = best.handle;
    s->wire.fd = best.handle == NULL ? -1 : best.fd;
    s->server = best.server;
    memcpy(s->wire.schema, best.schema, sizeof best.schema);
    s->head.facts = best.facts;
}

/* Both of them take writes. */
static int compare(struct hf__pg *s, struct choice *c)
{
    if (s->server.place == c->server.place) {
        return HF_OK; /* one server by two names */
    }
    if (s->server.timeline == c->server.timeline) {
        c->is_conflict = true;
        return hf__fail(s->err, HF_EUNSAFE,
                        "url: two of its hosts take writes, and none of them "
                        "is known to be the primary: stop the one that is not");
    }
    if (s->server.timeline > c->server.timeline) {
        swap(s, c);
    }
    return HF_OK;
}

/* Of the host that has answered. */
static int meet(struct hf__pg *s, struct choice *c)
{
    const struct hf__pg_server *v = &s->server;
    int r = HF_OK;

    if (c->system != 0 && c->system != v->system) {
        c->is_conflict = true;
        return hf__fail(s->err, HF_EUNSAFE,
                        "url: its hosts are no copies of one server, and each "
                        "would grant what the others have granted");
    }
    c->system = v->system;
    if (v->is_standby) {
        c->highest = v->timeline > c->highest ? v->timeline : c->highest;
    } else if (c->handle == NULL) {
        swap(s, c);
    } else {
        r = compare(s, c);
    }
    return r;
}

static int judge(struct hf__pg *s, const struct choice *c)
{
    uint32_t highest = highest_with(c->system, s->server.timeline);

    highest = c->highest > highest ? c->highest : highest;
    return s->server.timeline < highest
               ? hf__fail(s->err, HF_EUNSAFE,
                          "the server that takes writes is on timeline %u, "
                          "and timeline %u has begun: it was the primary, and "
                          "another has been promoted",
                          s->server.timeline, highest)
               : HF_OK;
}

static int try_host(struct hf__pg *s, const struct hf__pg_target *t,
                    const char *allow, hf__time until, struct choice *c)
{
    hf__time deadline = s->deadline;
    int met = HF_OK;
    int r;

    s->deadline = until;
    s->server = (struct hf__pg_server){0};
    r = hf__pg_connect(s, t, until);
    r = r == HF_OK ? hf__pg_settle(s, t, allow) : r;
    s->deadline = deadline;
    if (r == HF_OK || s->server.is_standby) {
        met = meet(s, c);
    }
    hf__pg_disconnect(s);
    return met != HF_OK ? met : r;
}

static hf__time share_of(const struct hf__pg *s, const struct choice *c,
                         size_t left)
{
    hf__time now = hf__now();
    hf__time until =
        hf__after_ns(now, hf__between_ns(now, s->deadline) / (int64_t)left);

    return c->handle == NULL ? until
                             : hf__earlier(until, hf__after_ms(now, OTHER_MS));
}

static void show(struct hf__pg_target *t, const struct hf__url_host *host,
                 char *shown, size_t size)
{
    t->host = host->name;
    t->port = host->port == 0 ? PORT : host->port;
    (void)snprintf(shown, size, "%.255s port %d", t->host, t->port);
    t->shown = shown;
}

/* What is said of a host that was passed by is no matter, if another is fit;
 * else what needs help rather than time. */
static int look_at_all(struct hf__pg *s, const struct hf__url *url,
                       const struct hf__pg_target *t, const char *allow,
                       struct choice *c)
{
    hf_error *err = s->err;
    bool is_socket = t->host != NULL;
    size_t n = is_socket ? 1 : url->n_hosts;
    int r = HF_EUNAVAIL;

    for (size_t i = 0; i < n && !c->is_conflict; i++) {
        hf_error why = HF_ERROR_INIT;
        struct hf__pg_target one = *t;
        char shown[280];
        int got;

        if (!is_socket) {
            show(&one, &url->hosts[i], shown, sizeof shown);
        }
        s->err = &why;
        got = try_host(s, &one, allow, share_of(s, c, n - i), c);
        s->err = err;
        if (r == HF_EUNAVAIL || c->is_conflict) {
            r = got;
            hf__error_copy(err, &why);
        }
        if (hf__is_interrupted(&s->head)) {
            return HF_EUNAVAIL;
        }
    }
    return c->handle != NULL && !c->is_conflict ? HF_OK : r;
}

static int choose(struct hf__pg *s, const struct hf__url *url,
                  const struct hf__pg_target *t, const char *allow)
{
    struct choice c = {.fd = -1};
    int r = look_at_all(s, url, t, allow, &c);

    swap(s, &c);
    r = r == HF_OK ? judge(s, &c) : r;
    if (url->n_hosts > 1 && !s->server.is_waited_for &&
        s->head.facts.grade < 'C') {
        s->head.facts.grade = 'C';
    }
    return r;
}

int hf__pg_place_connect(struct hf__pg *s, const struct hf__url *url,
                         const char *allow)
{
    HF_AUTO(hf__secret_wipe) struct hf__secret secret = {0};
    struct hf__pg_target t = {
        .host = hf__url_option(url, "socket"),
        .port = url->n_hosts > 0 && url->hosts[0].port != 0 ? url->hosts[0].port
                                                            : PORT,
        .user = url->user,
        .database = url->path + 1,
        .tls = hf__table_tls(url),
        .ca = hf__url_option(url, "ca"),
        .cert = hf__url_option(url, "cert"),
        .key = hf__url_option(url, "key"),
        .schema = hf__url_option(url, "schema"),
        .shown = hf__url_option(url, "socket"),
    };
    struct hf__table_login login;
    int r = check(url, s->err);

    r = r == HF_OK ? hf__secret_read(url, &secret, s->err) : r;
    if (r != HF_OK) {
        return r;
    }
    hf__table_login(&login);
    t.user = t.user == NULL ? login.name : t.user;
    t.password = secret.is_given ? secret.text : NULL;
    return choose(s, url, &t, allow);
}
