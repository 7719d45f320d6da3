/* SPDX-License-Identifier: MIT */
/*
 * Connecting, up to the server's yes. Names are looked up here, for libpq
 * would block; a host may have several addresses, which are tried one after
 * another, and one that does not answer at all leaves the next ones time. What
 * libpq takes from its surroundings, its variables and files, is overridden.
 * Called by the session's thread.
 */
#include "src/backend/postgres/errors.h"
#include "src/backend/postgres/login.h"
#include "src/base/error.h"
#include "src/base/fork.h"
#include "src/base/rand.h"
#include "src/base/secret.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* What an address has to answer at all, if there is another one. */
#define ADDRESS_MS 1000
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
    hf__time deadline;
    hf__time answer_by; /* by then the address has answered at all */
    enum hf__pg_asked asked;
    char answer; /* TLS has begun: the next byte of the server's; 0: none */
};

/* ---- what the library is told */

/* A keyword's value in quotes. */
static void add_option(struct hf__text *to, const char *keyword,
                       const char *value)
{
    hf__text_addf(to, "%s='", keyword);
    for (; *value != '\0'; value++) {
        hf__text_addf(to, "%s%c", *value == '\'' || *value == '\\' ? "\\" : "",
                      *value);
    }
    hf__text_add(to, "' ");
}

struct option {
    const char *keyword;
    const char *value; /* NULL: the library's own default */
};

/* Whatever a variable or a file has set, and we do not, is its default. */
static void add_defaults(struct hf__text *to, const struct option *ours)
{
    PQconninfoOption *all = PQconndefaults();

    to->is_broken = to->is_broken || all == NULL;
    for (const PQconninfoOption *o = all; o != NULL && o->keyword != NULL;
         o++) {
        const char *value = o->compiled == NULL ? "" : o->compiled;
        bool is_changed = o->val != NULL && strcmp(o->val, value) != 0;

        for (int i = 0; ours[i].keyword != NULL; i++) {
            is_changed = is_changed && strcmp(ours[i].keyword, o->keyword) != 0;
        }
        if (is_changed && strncmp(o->keyword, "service", 7) != 0) {
            add_option(to, o->keyword, value);
        }
    }
    PQconninfoFree(all);
}

static const char *mode_of(const struct hf__pg_target *t)
{
    if (t->tls == NULL) {
        return "prefer";
    }
    return strcmp(t->tls, "verify") == 0 ? "verify-full"
           : strcmp(t->tls, "off") == 0  ? "disable"
                                         : "require";
}

/* The system's authorities; the library has a word for them since 16. */
static const char *system_ca(void)
{
    static const char *const files[] = {"/etc/ssl/certs/ca-certificates.crt",
                                        "/etc/pki/tls/certs/ca-bundle.crt",
                                        "/etc/ssl/ca-bundle.pem",
                                        "/etc/ssl/cert.pem"};

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

static const char *ca_of(const struct hf__pg_target *t)
{
    if (t->ca != NULL) {
        return t->ca;
    }
    return t->tls != NULL && strcmp(t->tls, "verify") == 0 ? system_ca()
                                                           : NO_FILE;
}

/* As many stars, in the place of which it is put when it is asked for. */
static const char *hide(const char *password, char *stars, size_t size)
{
    size_t length = password == NULL ? 0 : strnlen(password, size - 1);

    memset(stars, '*', length);
    stars[length] = '\0';
    return stars;
}

/* Nothing but a proof, of the password or of who asks for it. */
static void add_ways(struct hf__text *to, const struct hf__pg_target *t)
{
    if (PQlibVersion() >= 160000 &&
        (t->tls == NULL || strcmp(t->tls, "verify") != 0)) {
        add_option(to, "require_auth", "scram-sha-256,md5,none");
    }
}

static void describe(struct hf__text *to, const struct hf__pg *s,
                     const struct hf__pg_target *t, const char *address)
{
    char port[16];
    char name[32];
    char stars[HF__SECRET_MAX + 1];
    const struct option ours[] = {
        {"host", t->host},
        {"hostaddr", address},
        {"port", port},
        {"user", t->user},
        {"dbname", t->database},
        {"password", hide(t->password, stars, sizeof stars)},
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
        {NULL, NULL},
    };

    (void)snprintf(port, sizeof port, "%d", t->port);
    (void)snprintf(name, sizeof name, "holdfast.%016llx",
                   (unsigned long long)s->server.mark);
    for (int i = 0; ours[i].keyword != NULL; i++) {
        add_option(to, ours[i].keyword,
                   ours[i].value == NULL ? "" : ours[i].value);
    }
    add_defaults(to, ours);
    add_ways(to, t);
}

/* ---- the library's socket */

/* Its descriptor is ours to keep from other programs, and from children. */
static int adopt_socket(struct hf__pg *s)
{
    int fd = PQsocket(s->wire.handle);
    int r;

    if (fd < 0) {
        return HF_OK;
    }
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    r = hf__fd_register(fd);
    s->wire.fd = r == HF_OK ? fd : -1;
    return r;
}

/* The library may close it, and then it is another's number. */
static void leave_socket(struct hf__pg *s)
{
    if (s->wire.fd >= 0) {
        hf__fd_unregister(s->wire.fd);
        s->wire.fd = -1;
    }
}

/* What the server says beside its replies; it is never printed. */
static void hear(void *arg, const PGresult *notice)
{
    struct hf__pg *s = arg;
    const char *from = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);

    if (from != NULL && strcmp(from, "SyncRepWaitForLSN") == 0) {
        s->wire.is_doubtful = true;
    }
}

/* ---- one attempt */

static int late(const struct attempt *a)
{
    return hf__fail(a->s->err, HF_EUNAVAIL,
                    "the server %s did not answer in time", a->t->shown);
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
static bool is_tls(char answer)
{
    return answer == 'S' || answer == 'N' || (answer >= 20 && answer <= 23);
}

static int refused(const struct attempt *a)
{
    struct hf__pg *s = a->s;
    char words[400];

    read_state(s);
    if (s->reply.sqlstate[0] != '\0') {
        return hf__pg_refusal(s, s->err);
    }
    if (PQconnectionNeedsPassword(s->wire.handle)) {
        return hf__fail(s->err, HF_EAUTH,
                        "%s asks for a password, and none is given",
                        a->t->shown);
    }
    hf__pg_words(s, words, sizeof words);
    if (is_tls(a->answer)) {
        return hf__fail(s->err, HF_EUNSAFE,
                        "%s: %s (see tls= and ca= of the url)", a->t->shown,
                        words);
    }
    return hf__fail(s->err, HF_EUNAVAIL, "%s: %s", a->t->shown, words);
}

/* Who forks during a call would leave its locks locked in the child. */
static int start(struct attempt *a, const char *address)
{
    struct hf__text words = {0};
    struct hf__pg *s = a->s;
    int r = HF_OK;

    describe(&words, s, a->t, address);
    hf__fork_forbid();
    s->wire.handle = words.is_broken ? NULL : PQconnectStart(words.bytes);
    if (s->wire.handle == NULL) {
        r = hf__fail(s->err, HF_ENOMEM, "out of memory for a connection");
    } else {
        (void)PQsetNoticeReceiver(s->wire.handle, hear, s);
        (void)PQsetErrorVerbosity(s->wire.handle, PQERRORS_VERBOSE);
        r = adopt_socket(s);
    }
    hf__fork_allow();
    hf__text_fini(&words);
    return r;
}

static int step(struct attempt *a, PostgresPollingStatusType *ret_wanted)
{
    struct hf__pg *s = a->s;
    int r;

    a->answer = 0;
    if (PQstatus(s->wire.handle) == CONNECTION_SSL_STARTUP) {
        (void)recv(s->wire.fd, &a->answer, 1, MSG_PEEK | MSG_DONTWAIT);
    }
    hf__fork_forbid();
    leave_socket(s);
    *ret_wanted = PQconnectPoll(s->wire.handle);
    hf__pg_login_hide(s);
    r = adopt_socket(s);
    hf__fork_allow();
    return r;
}

/* The same, where the server has said something that is to be looked at; a
 * part of it is waited for. Of a refusal the library reads on by itself. */
static int meet(struct attempt *a, PostgresPollingStatusType *ret_wanted)
{
    struct hf__pg *s = a->s;
    int r = HF_OK;

    if (PQstatus(s->wire.handle) != CONNECTION_AWAITING_RESPONSE) {
        a->asked = HF__PG_ASKED_FIT;
    } else if (a->asked != HF__PG_ASKED_NOTHING) {
        r = hf__pg_login_meet(s, a->t, &a->asked);
    }
    if (r == HF_OK && a->asked == HF__PG_ASKED_PART) {
        hf__pg_sleep(s, hf__after_ms(hf__now(), PART_MS));
        return HF_OK;
    }
    return r == HF_OK ? step(a, ret_wanted) : r;
}

static int drive(struct attempt *a)
{
    struct hf__pg *s = a->s;
    PostgresPollingStatusType wanted = PGRES_POLLING_WRITING;
    int r = HF_OK;

    if (PQstatus(s->wire.handle) == CONNECTION_BAD) {
        return refused(a);
    }
    while (r == HF_OK && wanted != PGRES_POLLING_OK) {
        hf__time until = PQstatus(s->wire.handle) == CONNECTION_STARTED
                             ? hf__earlier(a->deadline, a->answer_by)
                             : a->deadline;

        short events = wanted == PGRES_POLLING_READING ? POLLIN : POLLOUT;

        if (hf__pg_sleep_for(s, events, until) == 0 ||
            !hf__before(hf__now(), until)) {
            return late(a);
        }
        r = meet(a, &wanted);
        if (r == HF_OK && wanted == PGRES_POLLING_FAILED) {
            r = refused(a);
        }
    }
    return r;
}

static int begin_session(struct attempt *a)
{
    struct hf__pg *s = a->s;

    s->server.version = PQserverVersion(s->wire.handle);
    s->server.is_verified = hf__pg_login_is_known(s, a->t);
    if (s->server.version < VERSION_LEAST) {
        return hf__fail(s->err, HF_EPROTO,
                        "%s is of version %d, and 12 is the oldest that has "
                        "what is needed",
                        a->t->shown, s->server.version / 10000);
    }
    (void)PQsetErrorVerbosity(s->wire.handle, PQERRORS_DEFAULT);
    return PQsetnonblocking(s->wire.handle, 1) == 0 &&
                   PQenterPipelineMode(s->wire.handle) == 1
               ? HF_OK
               : hf__fail(s->err, HF_ENOMEM, "out of memory for a connection");
}

/* address is NULL for a unix socket. */
static int try_address(struct attempt *a, const char *address)
{
    int r;

    hf__pg_disconnect(a->s);
    hf__random(&a->s->server.mark, sizeof a->s->server.mark);
    r = start(a, address);
    r = r == HF_OK ? drive(a) : r;
    r = r == HF_OK ? begin_session(a) : r;
    a->s->wire.is_dead = r != HF_OK;
    return r;
}

static int try_host(struct attempt *a)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    struct hf__sigpipe sigpipe; /* the resolver may ask another process */
    char address[NI_MAXHOST];
    int error;
    int r = HF_EUNAVAIL;

    hf__sigpipe_block(&sigpipe);
    error = getaddrinfo(a->t->host, NULL, &hints, &list);
    hf__sigpipe_restore(&sigpipe);
    if (error != 0) {
        return hf__fail(a->s->err, HF_EUNAVAIL, "%s can't be looked up: %s",
                        a->t->host, gai_strerror(error));
    }
    for (struct addrinfo *one = list; one != NULL && r == HF_EUNAVAIL;
         one = one->ai_next) {
        a->answer_by = one->ai_next == NULL
                           ? HF__NEVER
                           : hf__after_ms(hf__now(), ADDRESS_MS);
        if (getnameinfo(one->ai_addr, one->ai_addrlen, address, sizeof address,
                        NULL, 0, NI_NUMERICHOST) == 0) {
            r = try_address(a, address);
        }
    }
    freeaddrinfo(list);
    return r;
}

int hf__pg_connect(struct hf__pg *s, const struct hf__pg_target *t,
                   hf__time deadline)
{
    struct attempt attempt = {
        .s = s, .t = t, .deadline = deadline, .answer_by = HF__NEVER};

    return t->host[0] == '/' ? try_address(&attempt, NULL) : try_host(&attempt);
}
