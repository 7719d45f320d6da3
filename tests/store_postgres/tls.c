/* SPDX-License-Identifier: MIT */
/*
 * TLS: verify compares certificate, authority and host; require wants TLS from
 * anybody; off wants none; unsaid, it is used where the server has it. And who
 * is told the password as it is.
 */
#include "tests/store_postgres/site.h"

#include <string.h>

#define AUTO_SERVER __attribute__((cleanup(free_server))) struct hf__postgres

static void free_server(struct hf__postgres **s)
{
    hf__postgres_free(*s);
}

/* A URL of that server with options; "@ca.crt" is that file of its. */
static const char *url_of(const struct hf__postgres *s, const char *options)
{
    static _Thread_local char url[4096];
    size_t length;

    hf__postgres_url(s, "postgres", url, sizeof url);
    length = strlen(url);
    url[length++] = '?';
    for (const char *at = options; *at != '\0'; at++) {
        size_t n = strcspn(at + 1, "&");
        char name[64];

        if (*at == '@') {
            snprintf(name, sizeof name, "%.*s", (int)n, at + 1);
            length += (size_t)snprintf(url + length, sizeof url - length, "%s",
                                       hf__postgres_tls_file(s, name));
            at += n;
        } else {
            url[length++] = *at;
        }
        url[length] = '\0';
    }
    return url;
}

static struct hf__postgres *start(const char *const *hba)
{
    struct hf__postgres *s = hf__postgres_start(&(struct hf__postgres_opts){
        .with_password = true, .with_tls = true, .hba = hba});

    hf__postgres_sql(s, NULL, "GRANT CREATE ON SCHEMA public TO PUBLIC");
    return s;
}

/* What check() says of it, which names the cipher. */
static const char *tls_of(const char *url)
{
    DOOR(d);
    int r = enter(&d, url);

    if (r != HF_OK) {
        printf("%s: %s\n", url, d.error.text);
    }
    EXPECT_IS(r, HF_OK);
    return finding(&d, "tls", NULL);
}

static void expect_verified(const char *url)
{
    const char *said = tls_of(url);

    EXPECT_HAS(said, "TLS");
    EXPECT(strstr(said, "not verified") == NULL);
}

TEST_WITHIN(60, a_server_with_tls)
{
    AUTO_SERVER *s = start(NULL);

    expect_verified(url_of(s, "tls=verify&ca=@ca.crt"));
    expect_verified(url_of(s, "ca=@ca.crt")); /* means verify */
    EXPECT_HAS(tls_of(url_of(s, "tls=require")), "not verified");
    EXPECT_HAS(tls_of(url_of(s, "tls=require&ca=@ca.crt")), "not verified");
    expect_refused(url_of(s, "tls=require&ca=@other-ca.crt"), HF_EUNSAFE,
                   "certificate");
    EXPECT_HAS(tls_of(url_of(s, "schema=public")), "not verified");
    EXPECT_TEXT(tls_of(url_of(s, "tls=off")), "none");
    expect_refused(url_of(s, "ca=@other-ca.crt"), HF_EUNSAFE, "certificate");
    expect_refused(url_of(s, "tls=verify"), HF_EUNSAFE, "certificate");
}

static void expect_not_believed(struct hf__postgres *s, const char *name)
{
    char lines[2][512];
    const char *const extra[] = {lines[0], lines[1], NULL};
    char file[32];

    snprintf(file, sizeof file, "%s.crt", name);
    snprintf(lines[0], sizeof lines[0], "ssl_cert_file = '%s'",
             hf__postgres_tls_file(s, file));
    snprintf(file, sizeof file, "%s.key", name);
    snprintf(lines[1], sizeof lines[1], "ssl_key_file = '%s'",
             hf__postgres_tls_file(s, file));
    hf__postgres_stop(s);
    hf__postgres_restart(s, extra);
    expect_refused(url_of(s, "ca=@ca.crt"), HF_EUNSAFE, "certificate");
    EXPECT_HAS(tls_of(url_of(s, "tls=require")), "not verified");
}

TEST_WITHIN(60, a_certificate_that_does_not_hold)
{
    AUTO_SERVER *s = start(NULL);

    expect_not_believed(s, "elsewhere");
    expect_not_believed(s, "expired");
    expect_not_believed(s, "stranger");
}

TEST_WITHIN(60, a_client_shows_its_own_certificate)
{
    static const char *const hba[] = {
        "hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca",
        NULL};
    AUTO_SERVER *s = start(hba);

    expect_refused(url_of(s, "ca=@ca.crt"), HF_EAUTH, "certificate");
    expect_verified(url_of(s, "ca=@ca.crt&cert=@client.crt&key=@client.key"));
}

TEST(a_server_without_tls)
{
    expect_refused(url_with("tls=require"), HF_EUNSAFE, "SSL");
    EXPECT_TEXT(tls_of(url_with("tls=off")), "none");
    EXPECT_TEXT(tls_of(url_with("")), "none");
}

/* ---- who asks for the password, and how */

TEST_WITHIN(60, a_password_is_told_to_a_verified_server_only)
{
    static const char *const hba[] = {"host all all 127.0.0.1/32 password",
                                      NULL};
    AUTO_SERVER *s = start(hba);

    expect_refused(url_of(s, "tls=off"), HF_EUNSAFE, "the password as it is");
    expect_refused(url_of(s, "tls=require"), HF_EUNSAFE,
                   "the password as it is");
    expect_refused(url_of(s, "schema=public"), HF_EUNSAFE,
                   "the password as it is");
    expect_verified(url_of(s, "ca=@ca.crt"));
}

TEST_WITHIN(60, a_proof_of_it_is_given_to_any)
{
    static const char *const hba[] = {"host all all 127.0.0.1/32 md5", NULL};
    AUTO_SERVER *s = start(hba);

    hf__postgres_sql(
        s, NULL,
        "SET password_encryption='md5'; ALTER ROLE " HF__POSTGRES_USER
        " PASSWORD '" HF__POSTGRES_PASSWORD "'");
    EXPECT_TEXT(tls_of(url_of(s, "tls=off")), "none");
    EXPECT_HAS(tls_of(url_of(s, "tls=require")), "not verified");
    expect_verified(url_of(s, "ca=@ca.crt"));
}

TEST_WITHIN(60, a_wrong_password_is_told_as_such)
{
    AUTO_SERVER *s = start(NULL);
    char url[256];

    snprintf(url, sizeof url,
             "postgres://" HF__POSTGRES_USER ":not-it@127.0.0.1:%d/postgres",
             hf__postgres_port(s));
    expect_refused(url, HF_EAUTH, "check user and password");
    snprintf(url, sizeof url,
             "postgres://" HF__POSTGRES_USER "@127.0.0.1:%d/postgres",
             hf__postgres_port(s));
    expect_refused(url, HF_EAUTH, "asks for a password");
}
