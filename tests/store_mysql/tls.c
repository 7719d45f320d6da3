/* SPDX-License-Identifier: MIT */
/*
 * TLS: verify compares certificate, authority and host; require wants TLS from
 * anybody; off wants none; unsaid, it is used where the server has it. The
 * certificates are made here, by the openssl command.
 */
#include "tests/store_mysql/impostor.h"
#include "tests/store_mysql/site.h"

#include <stdlib.h>
#include <string.h>

#define OPENSSL_QUIETLY ">/dev/null 2>&1 </dev/null"

static void shell(const char *command)
{
    int status = system(command); /* NOLINT: our own words */

    EXPECT_IS(status, 0);
}

static const char *path_of(const char *name)
{
    static _Thread_local char paths[4][512];
    static _Thread_local unsigned turn;
    char *path = paths[turn++ % 4];

    snprintf(path, 512, "%s/%s", hf__test_folder(), name);
    return path;
}

static void make_authority(const char *name)
{
    char command[2048];

    snprintf(command, sizeof command,
             "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=%s "
             "-keyout %s.key -out %s.pem " OPENSSL_QUIETLY,
             name, path_of(name), path_of(name));
    shell(command);
}

/* Signed by the authority "ca", for that host: "IP:127.0.0.1". */
static void make_certificate(const char *name, const char *host)
{
    const char *path = path_of(name);
    char command[4096];

    snprintf(command, sizeof command,
             "cd %s && openssl req -newkey rsa:2048 -nodes -subj /CN=%s "
             "-keyout %s.key -out %s.csr " OPENSSL_QUIETLY
             " && echo subjectAltName=%s >%s.ext && openssl x509 -req -in "
             "%s.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile "
             "%s.ext -out %s.pem " OPENSSL_QUIETLY " && chmod 644 %s.key",
             hf__test_folder(), name, name, name, host, name, name, name, name,
             path);
    shell(command);
}

static void make_certificates(const char *host)
{
    if (system("openssl version " OPENSSL_QUIETLY) != 0) { /* NOLINT */
        SKIP("the openssl command is not installed");
    }
    make_authority("ca");
    make_authority("stranger");
    make_certificate("server", host);
}

/* An impostor with a certificate for that host. */
static struct hf__impostor_opts certified(const char *host)
{
    static char cert[600];
    static char key[600];

    make_certificates(host);
    snprintf(cert, sizeof cert, "%s", path_of("server.pem"));
    snprintf(key, sizeof key, "%s", path_of("server.key"));
    return (struct hf__impostor_opts){.cert = cert, .key = key};
}

/* One with a certificate for that host; its URL, for options, in *url. */
static struct hf__mariadb *start_with(const char *host, char url[512])
{
    char options[3][600];
    const char *extra[] = {options[0], options[1], options[2], NULL};
    struct hf__mariadb_opts opts = {.extra = extra};
    struct hf__mariadb *m;

    make_certificates(host);
    snprintf(options[0], sizeof options[0], "--ssl-ca=%s", path_of("ca.pem"));
    snprintf(options[1], sizeof options[1], "--ssl-cert=%s",
             path_of("server.pem"));
    snprintf(options[2], sizeof options[2], "--ssl-key=%s",
             path_of("server.key"));
    m = hf__mariadb_start(&opts);
    hf__mariadb_fresh_url(m, url, 512);
    return m;
}

static const char *with(const char *url, const char *options, const char *ca)
{
    static _Thread_local char full[4096];

    snprintf(full, sizeof full, "%s?%s%s", url, options,
             ca != NULL ? path_of(ca) : "");
    return full;
}

/* Without TLS it is "none"; the server may be known by it or not. */
static const char *cipher_of(const char *url, hf_verdict verdict)
{
    static _Thread_local char cipher[64];
    hf_verdict found;
    DOOR(d);
    int r = enter(&d, url);

    if (r != HF_OK) {
        printf("%s: %s\n", url, d.error.text);
    }
    EXPECT_IS(r, HF_OK);
    snprintf(cipher, sizeof cipher, "%s", finding(&d, "tls", &found));
    EXPECT_IS(found, verdict);
    return cipher;
}

static void expect_verified(const char *url)
{
    const char *cipher = cipher_of(url, HF_FINE);

    EXPECT(strcmp(cipher, "none") != 0);
    EXPECT(strstr(cipher, "not verified") == NULL);
}

/* Nobody stands between: it is on this host. */
static void expect_unverified(const char *url)
{
    EXPECT_HAS(cipher_of(url, HF_FINE), ", not verified");
}

TEST_WITHIN(90, a_server_with_tls)
{
    char url[512];
    struct hf__mariadb *m = start_with("IP:127.0.0.1", url);

    expect_verified(with(url, "tls=verify&ca=", "ca.pem"));
    expect_verified(with(url, "ca=", "ca.pem")); /* means verify */
    expect_unverified(with(url, "tls=require", NULL));
    expect_unverified(
        with(url, "", NULL)); /* unsaid, it is used if it is there */
    EXPECT_TEXT(cipher_of(with(url, "tls=off", NULL), HF_FINE), "none");
    /* Signed by an authority that is not ours. */
    expect_refused(with(url, "tls=verify&ca=", "stranger.pem"), HF_EUNSAFE,
                   "certificate");
    expect_refused(with(url, "tls=verify", NULL), HF_EUNSAFE, "certificate");
    hf__mariadb_free(m);
}

/* The authority is right, and the host is another. */
TEST_WITHIN(90, a_certificate_of_another_host)
{
    char url[512];
    struct hf__mariadb *m = start_with("DNS:elsewhere.example", url);

    expect_refused(with(url, "tls=verify&ca=", "ca.pem"), HF_EUNSAFE,
                   "certificate");
    expect_unverified(with(url, "tls=require", NULL));
    hf__mariadb_free(m);
}

TEST_WITHIN(90, a_client_shows_its_own_certificate)
{
    char url[512];
    char options[2048];
    struct hf__mariadb *m = start_with("IP:127.0.0.1", url);

    make_certificate("client", "DNS:client.example");
    hf__mariadb_sql(m, "ALTER USER '" HF__MARIADB_USER "'@'127.0.0.1' REQUIRE "
                       "X509");
    expect_refused(with(url, "tls=require", NULL), HF_EAUTH, "");
    snprintf(options, sizeof options,
             "cert=%s&key=%s&ca=", path_of("client.pem"),
             path_of("client.key"));
    expect_verified(with(url, options, "ca.pem"));
    hf__mariadb_free(m);
}

TEST(a_server_without_tls)
{
    char ca[600];

    if (system("openssl version " OPENSSL_QUIETLY) != 0) { /* NOLINT */
        SKIP("the openssl command is not installed");
    }
    make_authority("ca");
    expect_refused(url_with("tls=require"), HF_EUNSAFE, "no TLS");
    snprintf(ca, sizeof ca, "tls=verify&ca=%s", path_of("ca.pem"));
    expect_refused(url_with(ca), HF_EUNSAFE, "TLS");
    EXPECT_TEXT(cipher_of(url_with("tls=off"), HF_FINE), "none");
    EXPECT_TEXT(cipher_of(url_with(""), HF_FINE), "none");
}

/* ---- a server that asks for the password itself, by TLS */

#define PASSWORD "not-for-everybody"

static const char *url_to(const struct hf__impostor *m)
{
    static char url[128];

    snprintf(url, sizeof url, "mysql://who:" PASSWORD "@127.0.0.1:%d/db",
             hf__impostor_port(m));
    return url;
}

static void expect_asked(struct hf__impostor *m, const char *options,
                         const char *ca, int status, bool is_told)
{
    DOOR(d);
    int r = enter(&d, with(url_to(m), options, ca));

    if (r != status) {
        printf("%s: %s\n", options, d.error.text);
    }
    EXPECT_IS(r, status);
    EXPECT_HAS(d.error.text, status == HF_EUNSAFE ? "ca=" : "check user");
    EXPECT_IS(hf__impostor_has_heard(m, PASSWORD), is_told);
}

static void ask_by(struct hf__impostor_opts opts)
{
    struct hf__impostor *m = hf__impostor_start(&opts);

    expect_asked(m, "tls=require", NULL, HF_EUNSAFE, false);
    expect_asked(m, "", NULL, HF_EUNSAFE, false);
    expect_asked(m, "tls=verify", NULL, HF_EUNSAFE, false);
    expect_asked(m, "ca=", "stranger.pem", HF_EUNSAFE, false);
    expect_asked(m, "ca=", "ca.pem", HF_EAUTH, true);
    hf__impostor_free(m);
}

TEST_WITHIN(60, a_password_is_told_to_a_verified_server_only)
{
    struct hf__impostor_opts opts = certified("IP:127.0.0.1");

    opts.asks_by = "mysql_clear_password";
    ask_by(opts);
    opts.asks_by = "sha256_password";
    ask_by(opts);
    opts.asks_by = "caching_sha2_password";
    opts.then = "\1\4"; /* the scramble is not enough */
    ask_by(opts);
}

/* A greeting that comes byte by byte is waited for. */
TEST_WITHIN(60, a_slow_greeting_with_tls_is_answered_by_tls)
{
    struct hf__impostor_opts opts = certified("IP:127.0.0.1");
    struct hf__impostor *m;
    DOOR(d);

    opts.in_pieces = true;
    m = hf__impostor_start(&opts);
    EXPECT_IS(enter(&d, with(url_to(m), "tls=require", NULL)), HF_EAUTH);
    EXPECT(hf__impostor_has_heard(m, "who"));
    EXPECT_IS(hf__impostor_packets(m), 1);
    hf__impostor_free(m);
}

/* Half a record is waited for as long as a whole one. */
TEST_WITHIN(60, who_stops_within_a_record_is_left_in_time)
{
    struct hf__impostor_opts opts = certified("IP:127.0.0.1");
    struct hf__impostor *m;
    DOOR(d);
    int64_t within = 700;
    int before;

    opts.stops_midway = true;
    m = hf__impostor_start(&opts);
    do { /* until it was let in, and asked, which may take its time */
        int64_t start = hf__test_now_ms();

        before = hf__impostor_packets(m);
        EXPECT_IS(
            enter_within(&d, with(url_to(m), "tls=require", NULL), within),
            HF_EUNAVAIL);
        EXPECT_SOON(hf__test_now_ms() - start, within + 4000);
        within *= 2;
    } while (hf__impostor_packets(m) <= before + 1);
    hf__impostor_free(m);
}

/* ---- words behind the greeting, which would be taken for words by TLS */

/* As the answer to our login: go on by that plugin; you are let in. */
#define ASK_IN_CLEAR "\x16\0\0\3\xfemysql_clear_password\0"
#define LET_IN       "\7\0\0\3\0\0\0\2\0\0\0"

static void expect_not_believed(struct hf__impostor_opts opts)
{
    struct hf__impostor *m = hf__impostor_start(&opts);
    char url[1024];
    char words[1536];

    if (opts.socket == NULL) {
        snprintf(url, sizeof url, "%s", url_to(m));
        snprintf(words, sizeof words, "%s", "ca=");
    } else {
        snprintf(url, sizeof url, "mysql://who:" PASSWORD "@localhost/db");
        snprintf(words, sizeof words, "socket=%s&ca=", opts.socket);
    }
    expect_refused(with(url, words, "ca.pem"), HF_EUNSAFE,
                   "sent more than its handshake packet");
    EXPECT(!hf__impostor_has_heard(m, PASSWORD));
    EXPECT(!hf__impostor_has_heard(m, "who"));
    hf__impostor_free(m);
}

TEST_WITHIN(60, what_comes_behind_a_greeting_is_not_believed)
{
    struct hf__impostor_opts opts = certified("IP:127.0.0.1");

    opts.behind = ASK_IN_CLEAR;
    opts.behind_bytes = sizeof ASK_IN_CLEAR - 1;
    expect_not_believed(opts);
    opts.behind = LET_IN;
    opts.behind_bytes = sizeof LET_IN - 1;
    expect_not_believed(opts);
}

/* The library has read it before anybody could look. */
TEST_WITHIN(60, what_comes_behind_a_greeting_by_a_socket_is_not_believed)
{
    struct hf__impostor_opts opts = certified("DNS:localhost");

    opts.socket = path_of("impostor.sock");
    opts.behind = LET_IN;
    opts.behind_bytes = sizeof LET_IN - 1;
    expect_not_believed(opts);
}
