/* SPDX-License-Identifier: MIT */
/*
 * TLS: rediss: and tls=verify compare certificate, authority and host, require
 * wants TLS from anybody; each failure says what to set.
 */
#include "tests/store_redis/connect/site.h"

#include <stdlib.h>
#include <string.h>

static struct hf__redis *start_with(const char *line)
{
    const char *extra[] = {line, NULL};
    struct hf__redis_opts opts = {.extra = line == NULL ? NULL : extra,
                                  .has_tls = true};

    return hf__redis_start(&opts);
}

/* rediss://HOST:its port?OPTIONS and the path of FILE. */
static const char *secure(const struct hf__redis *r, const char *host,
                          const char *options, const char *file)
{
    return url_of("rediss://%s:%d?%s%s", host, hf__redis_tls_port(r), options,
                  file == NULL ? "" : hf__redis_tls_file(r, file));
}

TEST_WITHIN(60, a_certificate_is_verified)
{
    AUTO_SERVER *r = start_with(NULL);

    expect_open(secure(r, "127.0.0.1", "ca=", "ca.crt"));
    expect_open(secure(r, "localhost", "ca=", "ca.crt"));
    expect_open(secure(r, "localhost", "tls=verify&ca=", "ca.crt"));
    expect_open(url_of("redis://localhost:%d?ca=%s", hf__redis_tls_port(r),
                       hf__redis_tls_file(r, "ca.crt")));
    expect_refused(secure(r, "127.0.0.1", "ca=", "other-ca.crt"), HF_EUNSAFE,
                   "certificate");
    /* The system does not know this authority. */
    expect_refused(secure(r, "127.0.0.1", "", NULL), HF_EUNSAFE, "certificate");
    expect_open(secure(r, "127.0.0.1", "tls=require", NULL));
    hf__redis_show_certificate(r, "elsewhere");
    expect_refused(secure(r, "127.0.0.1", "ca=", "ca.crt"), HF_EUNSAFE,
                   "mismatch");
    expect_refused(secure(r, "localhost", "ca=", "ca.crt"), HF_EUNSAFE,
                   "mismatch");
    expect_open(secure(r, "localhost", "tls=require", NULL));
    hf__redis_show_certificate(r, "expired");
    expect_refused(secure(r, "localhost", "ca=", "ca.crt"), HF_EUNSAFE,
                   "expired");
    hf__redis_show_certificate(r, "stranger");
    expect_refused(secure(r, "localhost", "ca=", "ca.crt"), HF_EUNSAFE,
                   "certificate");
}

TEST_WITHIN(60, a_client_shows_its_own_certificate)
{
    AUTO_SERVER *r = start_with("tls-auth-clients yes");
    char options[1024];

    expect_refused(secure(r, "localhost", "ca=", "ca.crt"), HF_EAUTH, "cert=");
    snprintf(options, sizeof options, "cert=%s",
             hf__redis_tls_file(r, "client.crt"));
    snprintf(options + strlen(options), sizeof options - strlen(options),
             "&key=%s&ca=", hf__redis_tls_file(r, "client.key"));
    expect_open(secure(r, "localhost", options, "ca.crt"));
    snprintf(options, sizeof options, "cert=%s",
             hf__redis_tls_file(r, "client.crt"));
    snprintf(options + strlen(options), sizeof options - strlen(options),
             "&key=%s&ca=", hf__redis_tls_file(r, "server.key"));
    expect_refused(secure(r, "localhost", options, "ca.crt"), HF_EINVAL, "key");
    /* Who shows a certificate wants to see one, unless it is said otherwise:
     * the system does not know this authority. */
    snprintf(options, sizeof options, "cert=%s",
             hf__redis_tls_file(r, "client.crt"));
    snprintf(options + strlen(options), sizeof options - strlen(options),
             "&key=%s", hf__redis_tls_file(r, "client.key"));
    expect_refused(
        url_of("redis://localhost:%d?%s", hf__redis_tls_port(r), options),
        HF_EUNSAFE, "certificate");
    expect_open(url_of("redis://localhost:%d?tls=require&%s",
                       hf__redis_tls_port(r), options));
    expect_refused(secure(r, "localhost", "ca=/etc/hostname", NULL), HF_EINVAL,
                   "/etc/hostname");
}

/* TLS 1.1 and before are no TLS. */
TEST_WITHIN(60, the_two_that_are_not_of_one_mind)
{
    AUTO_SERVER *r = start_with(NULL);
    DOOR(d);

    /* No TLS, and it is wanted. */
    EXPECT_IS(enter_within(&d, url_of("rediss://%s?tls=require", at(r)), 700),
              HF_EUNAVAIL);
    EXPECT_HAS(d.error.text, "TLS");
    /* TLS, and it is not. */
    EXPECT(enter(&d, url_of("redis://127.0.0.1:%d", hf__redis_tls_port(r))) <
           0);
    EXPECT_HAS(d.error.text, "rediss:");
}
