/* SPDX-License-Identifier: MIT */
/*
 * The servers or Sentinels that a redis:, rediss:, redlock: or redis+sentinel:
 * URL names, the user, and how to connect. Thread: the session's.
 */
#ifndef HF_BACKEND_REDIS_TARGET_H
#define HF_BACKEND_REDIS_TARGET_H

#include "src/base/secret.h"
#include "src/base/url.h"

extern const char *const hf__redis_options[]; /* socket tls ca cert key
                                                 password_file … */

enum hf__tls_mode {
    HF__TLS_OFF,
    HF__TLS_REQUIRE, /* not verified */
    HF__TLS_VERIFY   /* chain and name; what rediss: means */
};

/* The longest name of a service that Sentinels watch. */
#define HF__SERVICE_MAX 128

/* One server or one Sentinel. Strings belong to the URL, or are in `shown`. */
struct hf__target {
    const char *host;
    int port;            /* 6379 if none is given; a Sentinel's 26379 */
    const char *socket;  /* a unix socket, not a host; NULL: none */
    const char *service; /* what to ask a Sentinel for; NULL: it is a server */
    bool is_heard;       /* a Sentinel is to send its news, too */
    const char *user;    /* NULL: none given */
    int database;
    enum hf__tls_mode tls;
    const char *ca; /* NULL: the system's */
    const char *cert;
    const char *key;
    const char *mark_key; /* of a quorum member's mark; NULL: no member */
    char shown[300];      /* "redis://host:6379/0", for people */
};

/* Read the i-th of url->n_hosts targets (or the only one, a socket). HF_OK, or
 * HF_EINVAL naming what is wrong. */
HF_MUST_CHECK int hf__redis_target(const struct hf__url *url, size_t i,
                                   struct hf__target *ret_target,
                                   hf_error *err);

/* Does the URL name Sentinels, which know the server? */
bool hf__redis_has_sentinels(const struct hf__url *url);
/* Read the service's name from /SERVICE or /SERVICE/DATABASE, the path of a URL
 * with Sentinels. As above. */
HF_MUST_CHECK int hf__redis_service(const struct hf__url *url,
                                    char ret_service[HF__SERVICE_MAX + 1],
                                    hf_error *err);
/* The i-th Sentinel, to be asked for that service. As above. */
HF_MUST_CHECK int hf__redis_sentinel_target(const struct hf__url *url, size_t i,
                                            const char *service,
                                            struct hf__target *ret_target,
                                            hf_error *err);
/* The server that Sentinels report at that address. As above. */
HF_MUST_CHECK int hf__redis_primary_target(const struct hf__url *url,
                                           const char *host, int port,
                                           struct hf__target *ret_target,
                                           hf_error *err);

#endif
