/* SPDX-License-Identifier: MIT */
/*
 * Which servers, as whom, how: what a redis:, rediss: or redlock: URL says.
 * Thread: the session's.
 */
#ifndef HF_BACKEND_REDIS_PLACE_H
#define HF_BACKEND_REDIS_PLACE_H

#include "src/base/secret.h"
#include "src/base/url.h"

extern const char *const hf__redis_options[]; /* socket tls ca cert key
                                                 password_file … */

enum hf__tls_mode {
    HF__TLS_OFF,
    HF__TLS_REQUIRE, /* not verified */
    HF__TLS_VERIFY   /* chain and name; what rediss: means */
};

/* One server. Strings are the URL's, or live in `shown`. */
struct hf__target {
    const char *host;
    int port;           /* 6379 if none is given */
    const char *socket; /* a unix socket's path instead; NULL: none */
    const char *user;   /* NULL: none given */
    int database;
    enum hf__tls_mode tls;
    const char *ca; /* NULL: the system's */
    const char *cert;
    const char *key;
    char shown[300]; /* "redis://host:6379/0", for people */
};

/* The i-th of url->n_hosts targets (one, if it is a socket). HF_OK, or
 * HF_EINVAL naming what is wrong. */
HF_MUST_CHECK int hf__redis_target(const struct hf__url *url, size_t i,
                                   struct hf__target *ret_target,
                                   hf_error *err);

#endif
