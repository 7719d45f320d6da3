/* SPDX-License-Identifier: MIT */
/*
 * Connecting to an address, up to the server's yes. What libpq takes from its
 * surroundings, its variables and files, is overridden. Which address is
 * decided elsewhere (target.c). Called by the session's thread.
 */
#include "src/backend/postgres/auth.h"
#include "src/backend/postgres/errors.h"
#include "src/base/error.h"
#include "src/base/fork.h"
#include "src/base/rand.h"
#include "src/base/secret.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Until more of a message has come. */
#define PART_MS 5
/* The oldest server that has all that is asked for. */
#define VERSION_LEAST 120000
/* No file is in it: where the library would look into the user's home. */
#define NO_FILE "/dev/null/none"

/* To connect once. */
struct attempt {
    struct hf__pg *s;
    const struct hf__pg_target *t;
    enum hf__pg_asked asked;
    char answer; /* TLS has begun: the next byte of the server's; 0: none */
    PostgresPollingStatusType wanted; /* by the library */
    bool has_answered;                /* at all */
};

/* ---- what the library is told */

/* Whatever a variable or a file has set has the library's own default again,
 * if need be none: a list alone can't say that of an option. */
static void undo_surroundings(struct hf__text *to)
{
    PQconninfoOption *all = PQconndefaults();

    to->is_broken = all == NULL;
    hf__text_add(to, "");
    for (PQconninfoOption *o = all; o != NULL && o->keyword != NULL; o++) {
        const char *own = o->compiled == NULL ? "" : o->compiled;

        if (o->val != NULL && strcmp(o->val, own) != 0 &&
            strncmp(o->keyword, "service", 7) != 0) {
            hf__text_addf(to, "%s='%s' ", o->keyword, own);
        }
    }
    PQconninfoFree(all);
}

static bool is_tls(const struct hf__pg_target *t, const char *word)
{
    return t->tls != NULL && strcmp(t->tls, word) == 0;
}

static const char *mode_of(const struct hf__pg_target *t)
{
    return t->tls == NULL        ? "prefer"
           : is_tls(t, "verify") ? "verify-full"
           : is_tls(t, "off")    ? "disable"
                                 : "require";
}

/* Without one, and to verify, the system's authorities; the library has a word
 * for them since 16. */
static const char *ca_of(const struct hf__pg_target *t)
{
    static const char *const files[] = {"/etc/ssl/certs/ca-certificates.crt",
                                        "/etc/pki/tls/certs/ca-bundle.crt",
                                        "/etc/ssl/ca-bundle.pem",
                                        "/etc/ssl/cert.pem"};

    if (t->ca != NULL || !is_tls(t, "verify")) {
        return t->ca == NULL ? NO_FILE : t->ca;
    }
    if (PQlibVersion() >= 160000) {
        return "system";
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (access(files[i], R_OK) == 0) {
            return files[i];
        }
    }
    return NO_FILE;
}

/* Of two databases the library takes the first for a list of options. In the
 * place of the password are as many stars, until it is asked for; no server is
 * given more than a proof, of it or of who asks for it. */
static PGconn *begin(const struct hf__pg *s, const struct hf__pg_target *t,
                     const char *defaults)
{
    bool is_bound = PQlibVersion() >= 160000 && !is_tls(t, "verify");
    char port[16];
    char name[32];
    char stars[HF__SECRET_MAX + 1] = "";
    const char *const ours[][2] = {
        {"dbname", defaults},
        {"host", t->host},
        {"hostaddr", t->address},
        {"port", port},
        {"user", t->user},
        {"dbname", t->database},
        {"password", stars},
        {"passfile", NO_FILE},
        {"sslmode", mode_of(t)},
        {"sslrootcert", ca_of(t)},
        {"sslcert", t->cert == NULL ? NO_FILE : t->cert},
        {"sslkey", t->key == NULL ? NO_FILE : t->key},
        {"sslcrl", NO_FILE},
        {"gssencmode", "disable"},
        {"client_encoding", "UTF8"},
        {"application_name", name},
        {"keepalives", "1"},
        {"keepalives_idle", "15"},
        {"keepalives_interval", "5"},
        {"keepalives_count", "3"},
        {"tcp_user_timeout", "0"},
        {is_bound ? "require_auth" : NULL, "scram-sha-256,md5,none"},
        {NULL, NULL},
    };
    const char *keywords[sizeof ours / sizeof *ours];
    const char *values[sizeof ours / sizeof *ours];

    (void)snprintf(port, sizeof port, "%d", t->port);
    (void)snprintf(name, sizeof name, "holdfast.%016llx",
                   (unsigned long long)s->server.mark);
    memset(stars, '*', strlen(t->password));
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        keywords[i] = ours[i][0];
        values[i] = ours[i][1];
    }
    return PQconnectStartParams(keywords, values, 1);
}

/* ---- one attempt */

/* What the server says beside its replies; it is never printed. */
static void hear(void *arg, const PGresult *notice)
{
    struct hf__pg *s = arg;
    const char *from = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);

    if (from != NULL && strcmp(from, "SyncRepWaitForLSN") == 0) {
        s->wire.is_unanswered = true;
    }
}

/* The SQLSTATE that its words have, as they are asked for. */
static void read_state(struct hf__pg *s)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const char *at = PQerrorMessage(s->wire.handle);

    s->reply.sqlstate[0] = '\0';
    while ((at = strstr(at, ":  ")) != NULL) {
        at += 3;
        if (strspn(at, digits) == 5 && at[5] == ':') {
            memcpy(s->reply.sqlstate, at, 5);
            s->reply.sqlstate[5] = '\0';
        }
    }
}

/* It answers for TLS: that it has it or not, or by a record of it. */
static bool is_of_tls(char answer)
{
    return answer == 'S' || answer == 'N' || (answer >= 20 && answer <= 23);
}

static int refused(const struct attempt *a)
{
    struct hf__pg *s = a->s;
    char words[400];

    read_state(s);
    if (s->reply.sqlstate[0] != '\0') {
        return hf__pg_refusal(s, s->t.err);
    }
    if (PQconnectionNeedsPassword(s->wire.handle)) {
        return hf__fail(s->t.err, HF_EAUTH,
                        "%s asks for a password, and none is given",
                        a->t->shown);
    }
    hf__pg_words(s, words, sizeof words);
    return is_of_tls(a->answer)
               ? hf__fail(s->t.err, HF_EUNSAFE,
                          "%s: %s (see tls= and ca= of the url)", a->t->shown,
                          words)
               : hf__fail(s->t.err, HF_EUNAVAIL, "%s: %s", a->t->shown, words);
}

/* Who forks during a call would leave its locks locked in the child. */
static int start(struct attempt *a)
{
    struct hf__text defaults = {0};
    struct hf__pg *s = a->s;
    int r = HF_OK;

    hf__fork_forbid();
    undo_surroundings(&defaults);
    s->wire.handle = defaults.is_broken ? NULL : begin(s, a->t, defaults.bytes);
    if (s->wire.handle == NULL) {
        r = hf__fail(s->t.err, HF_ENOMEM, "out of memory for a connection");
    } else {
        (void)PQsetNoticeReceiver(s->wire.handle, hear, s);
        (void)PQsetErrorVerbosity(s->wire.handle, PQERRORS_VERBOSE);
        r = hf__fd_adopt(&s->wire.fd, PQsocket(s->wire.handle));
    }
    hf__fork_allow();
    hf__text_fini(&defaults);
    return r == HF_OK && PQstatus(s->wire.handle) == CONNECTION_BAD ? refused(a)
                                                                    : r;
}

static int step(struct attempt *a)
{
    struct hf__pg *s = a->s;
    int r;

    a->answer = 0;
    if (PQstatus(s->wire.handle) == CONNECTION_SSL_STARTUP) {
        (void)recv(s->wire.fd, &a->answer, 1, MSG_PEEK | MSG_DONTWAIT);
    }
    hf__fork_forbid();
    hf__fd_leave(&s->wire.fd);
    a->wanted = PQconnectPoll(s->wire.handle);
    hf__pg_auth_hide(s);
    r = hf__fd_adopt(&s->wire.fd, PQsocket(s->wire.handle));
    hf__fork_allow();
    return r == HF_OK && a->wanted == PGRES_POLLING_FAILED ? refused(a) : r;
}

/* The same, where the server has said something that is to be looked at; a
 * part of it is waited for. Of a refusal the library reads on by itself. */
static int meet(struct attempt *a)
{
    struct hf__pg *s = a->s;
    int r = HF_OK;

    if (PQstatus(s->wire.handle) != CONNECTION_AWAITING_RESPONSE) {
        a->asked = HF__PG_ASKED_FIT;
    } else if (a->asked != HF__PG_ASKED_NOTHING) {
        r = hf__pg_auth_meet(s, a->t, &a->asked);
    }
    if (r == HF_OK && a->asked == HF__PG_ASKED_PART) {
        hf__table_rest(&s->t, hf__after_ms(hf__now(), PART_MS));
        return HF_OK;
    }
    return r == HF_OK ? step(a) : r;
}

static int drive(struct attempt *a)
{
    struct hf__pg *s = a->s;
    int r = HF_OK;

    while (r == HF_OK && a->wanted != PGRES_POLLING_OK) {
        short events = a->wanted == PGRES_POLLING_READING ? POLLIN : POLLOUT;
        hf__time until = a->has_answered
                             ? s->t.deadline
                             : hf__earlier(s->t.deadline, a->t->answer_by);

        if (hf__table_sleep(&s->t, s->wire.fd, events, until) == 0 ||
            !hf__before(hf__now(), until)) {
            return hf__fail(s->t.err, HF_EUNAVAIL,
                            "the server %s did not answer in time",
                            a->t->shown);
        }
        a->has_answered |= events == POLLIN;
        r = meet(a);
    }
    return r;
}

static int begin_session(struct attempt *a)
{
    struct hf__pg *s = a->s;

    s->server.version = PQserverVersion(s->wire.handle);
    if (s->server.version < VERSION_LEAST) {
        return hf__fail(s->t.err, HF_EPROTO,
                        "%s is of version %d, and 12 is the oldest that has "
                        "what is needed",
                        a->t->shown, s->server.version / 10000);
    }
    (void)PQsetErrorVerbosity(s->wire.handle, PQERRORS_DEFAULT);
    return PQsetnonblocking(s->wire.handle, 1) == 0 &&
                   PQenterPipelineMode(s->wire.handle) == 1
               ? HF_OK
               : hf__fail(s->t.err, HF_ENOMEM,
                          "out of memory for a connection");
}

int hf__pg_connect(struct hf__pg *s, const struct hf__pg_target *t)
{
    struct attempt a = {.s = s, .t = t, .wanted = PGRES_POLLING_WRITING};
    int r;

    hf__random(&s->server.mark, sizeof s->server.mark);
    r = start(&a);
    r = r == HF_OK ? drive(&a) : r;
    r = r == HF_OK ? begin_session(&a) : r;
    s->wire.is_dead = r != HF_OK;
    return r;
}
