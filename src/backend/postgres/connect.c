/* SPDX-License-Identifier: MIT */
/*
 * Connects to one address, until the server lets us in. Variables and files
 * from which libpq takes settings are overridden. target.c decides which
 * address. Called by the session's thread.
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

/* Time for more of a message to come. */
#define PART_MS 5
/* The oldest version that has all that the statements need. */
#define VERSION_LEAST 120000
/* A path where no file can be: without one libpq looks into the user's home. */
#define NO_FILE "/dev/null/none"

/* One attempt to connect. */
struct attempt {
    struct hf__pg *s;
    const struct hf__pg_target *t;
    enum hf__pg_asked asked;
    char answer; /* the server's next byte while TLS begins; 0: none */
    PostgresPollingStatusType wanted; /* what libpq waits for */
    bool has_answered;                /* anything has come */
};

/* ---- what the library is told */

/* Give each option that a variable or a file has set libpq's own default again,
 * even if that is empty. A plain list of options can't do so, as an empty value
 * there counts as not given. */
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

/* To verify without ca=, take the system's authorities; libpq has a word for
 * them since 16. */
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

/* Given two databases, libpq takes the first for a list of options. The
 * password is as many stars until the server asks for it. Except with
 * tls=verify, libpq from 16 on may give a server only a proof of the
 * password. */
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

/* A message of the server's beside its replies; it is never printed. */
static void hear(void *arg, const PGresult *notice)
{
    struct hf__pg *s = arg;
    const char *from = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);

    if (from != NULL && strcmp(from, "SyncRepWaitForLSN") == 0) {
        s->wire.is_unanswered = true;
    }
}

/* Find the SQLSTATE in libpq's message, which has it as the verbosity is set
 * so. */
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

/* Is this byte an answer about TLS: that the server has it (S) or not (N), or
 * the type of a TLS record? */
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

/* Forks are forbidden while libpq runs: a child would inherit its locks
 * locked. */
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

/* step(), but look first at what the server asks, waiting for the rest of a
 * message. A refusal is left to libpq to read. */
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
