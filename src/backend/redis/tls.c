/* SPDX-License-Identifier: MIT */
/*
 * Who a connection is with. The certificate must have the name or the address
 * that the URL has; with tls=require it is not checked, which only keeps others
 * from listening in. A key that is locked by a passphrase is refused: asking
 * for it at a terminal is not for a library. Called by the session's thread.
 */
#include "src/backend/redis/tls.h"

#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/fork.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

struct hf__tls {
    SSL_CTX *context;
    SSL *ssl;
    unsigned long error; /* OpenSSL's number of what ended it; 0: closed */
    bool is_verified;
};

/* ---- settings */

/* NOLINTNEXTLINE(readability-non-const-parameter): OpenSSL's type */
static int no_passphrase(char *to, int size, int is_writing, void *arg)
{
    (void)to;
    (void)size;
    (void)is_writing;
    (void)arg;
    return 0;
}

static int fail_file(const char *option, const char *path, hf_error *err)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());
    int r = hf__fail(err, HF_EINVAL, "%s: %s is of no use for TLS: %s", option,
                     path, reason == NULL ? "it can't be read" : reason);

    ERR_clear_error();
    return r;
}

/* The system's certificates take long to read, and are the same for all
 * connections: they are read once, and never freed. */
static struct hf__process_mutex system_mutex;
static X509_STORE *system_store;

static bool trust_system(SSL_CTX *context)
{
    HF_SCOPED_LOCK(hf__process_mutex(&system_mutex));

    if (system_store == NULL) {
        X509_STORE *store = X509_STORE_new();

        if (store == NULL || X509_STORE_set_default_paths(store) != 1) {
            X509_STORE_free(store);
            return false;
        }
        system_store = store;
    }
    SSL_CTX_set1_cert_store(context, system_store);
    return true;
}

static int load_files(SSL_CTX *context, const struct hf__target *t,
                      hf_error *err)
{
    SSL_CTX_set_default_passwd_cb(context, no_passphrase);
    if (t->ca != NULL &&
        SSL_CTX_load_verify_locations(context, t->ca, NULL) != 1) {
        return fail_file("ca", t->ca, err);
    }
    if (t->ca == NULL && t->tls == HF__TLS_VERIFY && !trust_system(context)) {
        return fail_file("ca", "what the system trusts", err);
    }
    if (t->cert != NULL &&
        SSL_CTX_use_certificate_chain_file(context, t->cert) != 1) {
        return fail_file("cert", t->cert, err);
    }
    if (t->key != NULL &&
        (SSL_CTX_use_PrivateKey_file(context, t->key, SSL_FILETYPE_PEM) != 1 ||
         SSL_CTX_check_private_key(context) != 1)) {
        return fail_file("key", t->key, err);
    }
    return HF_OK;
}

static bool is_address(const char *host)
{
    unsigned char bytes[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, host, bytes) == 1 ||
           inet_pton(AF_INET6, host, bytes) == 1;
}

/* The name is also sent in clear text, for servers that have several; the
 * protocol does not allow an address there. */
static bool set_name(SSL *ssl, const char *host)
{
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
    char name[256]; /* the longest name; OpenSSL's macro needs an array */

    if (is_address(host)) {
        return X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1;
    }
    X509_VERIFY_PARAM_set_hostflags(param,
                                    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    (void)snprintf(name, sizeof name, "%s", host);
    return X509_VERIFY_PARAM_set1_host(param, host, 0) == 1 &&
           SSL_set_tlsext_host_name(ssl, name) == 1;
}

static int set_up(struct hf__tls *tls, const struct hf__target *t, int fd,
                  hf_error *err)
{
    int r;

    tls->is_verified = t->tls == HF__TLS_VERIFY;
    tls->context = SSL_CTX_new(TLS_client_method());
    if (tls->context == NULL ||
        SSL_CTX_set_min_proto_version(tls->context, TLS1_2_VERSION) != 1) {
        return HF_ENOMEM;
    }
    SSL_CTX_set_verify(tls->context,
                       tls->is_verified ? SSL_VERIFY_PEER : SSL_VERIFY_NONE,
                       NULL);
    (void)SSL_CTX_set_mode(tls->context,
                           SSL_MODE_ENABLE_PARTIAL_WRITE |
                               SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    /* Read a reply with one call, not its header and the rest with two. */
    SSL_CTX_set_read_ahead(tls->context, 1);
    r = load_files(tls->context, t, err);
    if (r != HF_OK) {
        return r;
    }
    tls->ssl = SSL_new(tls->context);
    if (tls->ssl == NULL || SSL_set_fd(tls->ssl, fd) != 1 ||
        !set_name(tls->ssl, t->host)) {
        return HF_ENOMEM;
    }
    SSL_set_connect_state(tls->ssl);
    return HF_OK;
}

int hf__tls_new(const struct hf__target *t, int fd, struct hf__tls **ret_tls,
                hf_error *err)
{
    struct hf__tls *tls = hf__alloc(sizeof *tls);
    int r = HF_ENOMEM;

    ERR_clear_error();
    /* No exit handler: at the end of the process our threads may still use
     * TLS. */
    if (tls != NULL && OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL) == 1) {
        r = set_up(tls, t, fd, err);
    }
    ERR_clear_error();
    if (r == HF_ENOMEM) {
        (void)hf__fail(err, r, "out of memory for a connection");
    }
    if (r != HF_OK) {
        hf__tls_free(tls);
        return r;
    }
    *ret_tls = tls;
    return HF_OK;
}

void hf__tls_free(struct hf__tls *tls)
{
    if (tls != NULL) {
        SSL_free(tls->ssl);
        SSL_CTX_free(tls->context);
        hf__free(tls);
    }
}

/* ---- in steps */

/* After a call that returned `result`. 0: try again later; −1: it has ended. */
static ssize_t later(struct hf__tls *tls, int result, short *ret_wants)
{
    switch (SSL_get_error(tls->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        *ret_wants = POLLIN;
        return 0;
    case SSL_ERROR_WANT_WRITE:
        *ret_wants = POLLOUT;
        return 0;
    case SSL_ERROR_SSL:
        tls->error = ERR_peek_error();
        break;
    default:
        break;
    }
    ERR_clear_error();
    return -1;
}

static int clipped(size_t n)
{
    return n > 65536 ? 65536 : (int)n;
}

ssize_t hf__tls_send(struct hf__tls *tls, const void *bytes, size_t n,
                     short *ret_wants)
{
    struct hf__sigpipe sigpipe;

    ERR_clear_error();
    hf__sigpipe_block(&sigpipe);
    int sent = SSL_write(tls->ssl, bytes, clipped(n));
    hf__sigpipe_restore(&sigpipe);

    return sent > 0 ? sent : later(tls, sent, ret_wants);
}

ssize_t hf__tls_recv(struct hf__tls *tls, void *bytes, size_t n,
                     short *ret_wants)
{
    struct hf__sigpipe sigpipe;

    ERR_clear_error();
    hf__sigpipe_block(&sigpipe);
    int got = SSL_read(tls->ssl, bytes, clipped(n));
    hf__sigpipe_restore(&sigpipe);

    return got > 0 ? got : later(tls, got, ret_wants);
}

bool hf__tls_has_more(const struct hf__tls *tls)
{
    return SSL_has_pending(tls->ssl) == 1;
}

static const char *remedy_of(unsigned long error)
{
    switch (ERR_GET_REASON(error)) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
        return "it has no TLS on this port: name its tls-port, or say redis: "
               "if the network is private";
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
        return "TLS 1.2 is the oldest that is taken";
    default:
        return "see tls= and ca= of the url";
    }
}

/* Does the server want a certificate of us, or another one? */
static bool is_about_us(unsigned long error)
{
    int reason = ERR_GET_REASON(error);

    return reason == SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED ||
           reason == SSL_R_TLSV1_ALERT_UNKNOWN_CA ||
           reason == SSL_R_SSLV3_ALERT_BAD_CERTIFICATE ||
           reason == SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED ||
           reason == SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED ||
           reason == SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN ||
           reason == SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE;
}

int hf__tls_fail(const struct hf__tls *tls, hf_error *err)
{
    long verdict = SSL_get_verify_result(tls->ssl);
    const char *reason = ERR_reason_error_string(tls->error);

    if (tls->error == 0) {
        return hf__fail(err, HF_EUNAVAIL,
                        "the server has closed the connection");
    }
    if (tls->is_verified && verdict != X509_V_OK &&
        ERR_GET_REASON(tls->error) == SSL_R_CERTIFICATE_VERIFY_FAILED) {
        return hf__fail_native(err, HF_EUNSAFE, (int)verdict,
                               "its certificate can't be verified: %s (see "
                               "tls= and ca= of the url)",
                               X509_verify_cert_error_string(verdict));
    }
    if (is_about_us(tls->error)) {
        return hf__fail(err, HF_EAUTH,
                        "it does not take our certificate, or wants one: %s "
                        "(see cert= and key= of the url)",
                        reason == NULL ? "" : reason);
    }
    return hf__fail(err, HF_EUNSAFE, "TLS fails: %s (%s)",
                    reason == NULL ? "for a reason of its own" : reason,
                    remedy_of(tls->error));
}

int hf__tls_handshake(struct hf__tls *tls, short *ret_wants, hf_error *err)
{
    struct hf__sigpipe sigpipe;

    ERR_clear_error();
    hf__sigpipe_block(&sigpipe);
    int result = SSL_do_handshake(tls->ssl);
    hf__sigpipe_restore(&sigpipe);

    if (result == 1) {
        return HF_OK;
    }
    if (later(tls, result, ret_wants) == 0) {
        return HF_BUSY;
    }
    return hf__tls_fail(tls, err);
}
