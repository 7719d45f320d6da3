/* SPDX-License-Identifier: MIT */
/*
 * Reads what a URL says about its servers, and judges it before any of them is
 * asked. Called by the session's thread at open.
 */
#include "src/backend/redis/target.h"

#include "src/base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORT          6379
#define SENTINEL_PORT 26379
#define DATABASE_MAX  1000000

const char *const hf__redis_options[] = {"socket",
                                         "tls",
                                         "ca",
                                         "cert",
                                         "key",
                                         "password_file",
                                         "sentinel_user",
                                         "sentinel_password_file",
                                         "wait_replicas",
                                         NULL};

static bool is_secure_scheme(const struct hf__url *url)
{
    return strncmp(url->scheme, "rediss", strlen("rediss")) == 0;
}

/* The scheme may begin with "fault+". */
bool hf__redis_has_sentinels(const struct hf__url *url)
{
    return strstr(url->scheme, "+sentinel") != NULL;
}

static int read_mode(const struct hf__url *url, enum hf__tls_mode *ret_mode,
                     hf_error *err)
{
    static const char *const words[] = {
        [HF__TLS_OFF] = "off",
        [HF__TLS_REQUIRE] = "require",
        [HF__TLS_VERIFY] = "verify",
    };
    const char *given = hf__url_option(url, "tls");

    if (given == NULL) {
        /* A URL that names an authority or has a client certificate expects a
         * verified server. */
        *ret_mode = is_secure_scheme(url) ||
                            hf__url_option(url, "ca") != NULL ||
                            hf__url_option(url, "cert") != NULL
                        ? HF__TLS_VERIFY
                        : HF__TLS_OFF;
        return HF_OK;
    }
    for (int i = HF__TLS_OFF; i <= HF__TLS_VERIFY; i++) {
        if (strcmp(words[i], given) == 0) {
            *ret_mode = (enum hf__tls_mode)i;
            return HF_OK;
        }
    }
    return hf__fail(err, HF_EINVAL,
                    "tls: \"%s\" is none of verify, require, off", given);
}

static int read_tls(const struct hf__url *url, struct hf__target *t,
                    hf_error *err)
{
    int r = read_mode(url, &t->tls, err);

    if (r == HF_OK && t->tls == HF__TLS_OFF && is_secure_scheme(url)) {
        r = hf__fail(err, HF_EINVAL,
                     "tls=off: a rediss: url is one with TLS; say redis: for "
                     "one without");
    }
    if (r == HF_OK) {
        r = hf__url_check_tls_files(url, t->tls == HF__TLS_OFF, err);
    }
    t->ca = hf__url_option(url, "ca");
    t->cert = hf__url_option(url, "cert");
    t->key = hf__url_option(url, "key");
    if (r == HF_OK && t->tls != HF__TLS_OFF && t->socket != NULL) {
        r = hf__fail(err, HF_EINVAL,
                     "socket: Redis has no TLS there: name a host, or say "
                     "redis: without tls=, ca=, cert= and key=");
    }
    if (r == HF_OK && (t->cert == NULL) != (t->key == NULL)) {
        r = hf__fail(err, HF_EINVAL, "cert and key go together: name both");
    }
    return r;
}

static const char *skip_slash(const char *text)
{
    return text + (text[0] == '/' ? 1 : 0);
}

static int read_database(const struct hf__url *url, struct hf__target *t,
                         hf_error *err)
{
    bool has_service = hf__redis_has_sentinels(url);
    const char *text = skip_slash(url->path);

    text = has_service ? skip_slash(text + strcspn(text, "/")) : text;
    size_t n = strspn(text, "0123456789");

    /* NOLINTNEXTLINE(cert-err34-c): it has only digits, at most seven */
    t->database =
        n < 8 && text[n] == '\0' && n > 0 ? (int)strtol(text, NULL, 10) : 0;
    return n < 8 && text[n] == '\0' && t->database <= DATABASE_MAX
               ? HF_OK
               : hf__fail(err, HF_EINVAL,
                          "url: its path is no number of a database: %s",
                          has_service ? "redis+sentinel://s1,s2,s3/SERVICE/0"
                                      : "redis://host:6379/0");
}

int hf__redis_service(const struct hf__url *url,
                      char service[HF__SERVICE_MAX + 1], hf_error *err)
{
    const char *name = skip_slash(url->path);
    size_t n = strcspn(name, "/");

    if (n == 0 || n > HF__SERVICE_MAX) {
        return hf__fail(err, HF_EINVAL,
                        "url: its path has no name of a service: "
                        "redis+sentinel://s1,s2,s3/SERVICE/0, where SERVICE "
                        "is what the Sentinels' configuration calls it");
    }
    memcpy(service, name, n);
    service[n] = '\0';
    return HF_OK;
}

static bool is_here(const char *host)
{
    return strcasecmp(host, "localhost") == 0 ||
           strcmp(host, "127.0.0.1") == 0 || strcmp(host, "::1") == 0;
}

static int read_socket(const struct hf__url *url, struct hf__target *t,
                       hf_error *err)
{
    t->socket = hf__url_option(url, "socket");
    if (t->socket == NULL) {
        return url->n_hosts > 0
                   ? HF_OK
                   : hf__fail(err, HF_EINVAL,
                              "url: it names no server: redis://host:6379/0, "
                              "or redis:///0?socket=PATH");
    }
    if (t->socket[0] != '/') {
        return hf__fail(err, HF_EINVAL,
                        "socket: \"%s\" is no path that begins with /",
                        t->socket);
    }
    if (url->n_hosts > 1 ||
        (url->n_hosts == 1 && !is_here(url->hosts[0].name))) {
        return hf__fail(err, HF_EINVAL,
                        "socket: %s is on this host, and %s need not be; name "
                        "one of them",
                        t->socket, url->hosts[0].name);
    }
    return HF_OK;
}

static void show(struct hf__target *t)
{
    const char *scheme = t->tls == HF__TLS_OFF ? "redis" : "rediss";
    bool is_v6 = t->socket == NULL && strchr(t->host, ':') != NULL;

    if (t->socket != NULL) {
        (void)snprintf(t->shown, sizeof t->shown, "%.200s", t->socket);
    } else if (t->service != NULL) {
        (void)snprintf(t->shown, sizeof t->shown, "Sentinel %s%.255s%s:%d",
                       is_v6 ? "[" : "", t->host, is_v6 ? "]" : "", t->port);
    } else {
        (void)snprintf(t->shown, sizeof t->shown, "%s://%s%.255s%s:%d/%d",
                       scheme, is_v6 ? "[" : "", t->host, is_v6 ? "]" : "",
                       t->port, t->database);
    }
}

static void take_host(const struct hf__url *url, size_t i, int port,
                      struct hf__target *t)
{
    HF_ASSERT(i < url->n_hosts);
    t->host = url->hosts[i].name;
    t->port = url->hosts[i].port == 0 ? port : url->hosts[i].port;
}

static int read_all(const struct hf__url *url, struct hf__target *t,
                    hf_error *err)
{
    int r = read_socket(url, t, err);

    r = r == HF_OK ? read_database(url, t, err) : r;
    return r == HF_OK ? read_tls(url, t, err) : r;
}

int hf__redis_sentinel_target(const struct hf__url *url, size_t i,
                              const char *service,
                              struct hf__target *ret_target, hf_error *err)
{
    struct hf__target *t = ret_target;
    int r;

    *t = (struct hf__target){.user = hf__url_option(url, "sentinel_user"),
                             .service = service};
    r = read_all(url, t, err);
    if (r == HF_OK && t->socket != NULL) {
        r = hf__fail(err, HF_EINVAL,
                     "socket: Sentinels name servers by host and port; name "
                     "the Sentinels so, too");
    }
    if (r == HF_OK) {
        take_host(url, i, SENTINEL_PORT, t);
        show(t);
    }
    return r;
}

int hf__redis_primary_target(const struct hf__url *url, const char *host,
                             int port, struct hf__target *ret_target,
                             hf_error *err)
{
    struct hf__target *t = ret_target;
    int r;

    *t = (struct hf__target){.user = url->user, .host = host, .port = port};
    r = read_all(url, t, err);
    if (r == HF_OK) {
        show(t);
    }
    return r;
}

/* Refuse options for Sentinels in a URL without Sentinels. */
static int refuse_sentinels(const struct hf__url *url, hf_error *err)
{
    bool is_user = hf__url_option(url, "sentinel_user") != NULL;

    if (!is_user && hf__url_option(url, "sentinel_password_file") == NULL) {
        return HF_OK;
    }
    return hf__fail(err, HF_EINVAL,
                    "%s: the url names no Sentinels; one that does is "
                    "redis+sentinel://s1,s2,s3/SERVICE",
                    is_user ? "sentinel_user" : "sentinel_password_file");
}

int hf__redis_target(const struct hf__url *url, size_t i,
                     struct hf__target *ret_target, hf_error *err)
{
    struct hf__target *t = ret_target;
    int r;

    *t = (struct hf__target){.user = url->user};
    r = refuse_sentinels(url, err);
    r = r == HF_OK ? read_all(url, t, err) : r;
    if (r == HF_OK && t->socket == NULL) {
        take_host(url, i, PORT, t);
    }
    if (r == HF_OK) {
        show(t);
    }
    return r;
}
