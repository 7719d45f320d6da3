/* SPDX-License-Identifier: MIT */
/*
 * A Redis with TLS: what it shows is accepted by a client that trusts its
 * authority, and what it can be made to show is not, for the reason that each
 * name in redis.h says. The client is OpenSSL, not what is under test.
 */
#include "tests/lib/test.h"
#include "tests/servers/redis.h"
#include "tests/servers/servers.h"

#include <netinet/in.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct hf__redis_opts with_tls = {.has_tls = true};

static int connect_to(int port)
{
    struct sockaddr_in at = hf__servers_at(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    EXPECT_IS(connect(fd, (void *)&at, sizeof at), 0);
    return fd;
}

static void show_own(SSL_CTX *context, const struct hf__redis *s)
{
    EXPECT_IS(SSL_CTX_use_certificate_file(context,
                                           hf__redis_tls_file(s, "client.crt"),
                                           SSL_FILETYPE_PEM),
              1);
    EXPECT_IS(SSL_CTX_use_PrivateKey_file(context,
                                          hf__redis_tls_file(s, "client.key"),
                                          SSL_FILETYPE_PEM),
              1);
}

/* The verdict on the server's certificate; answered: PING got PONG. */
static long meet(const struct hf__redis *s, bool has_certificate,
                 bool *ret_answered)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    int fd = connect_to(hf__redis_tls_port(s));
    char reply[8] = "";
    SSL *ssl;
    long verdict;

    EXPECT_IS(SSL_CTX_load_verify_locations(
                  context, hf__redis_tls_file(s, "ca.crt"), NULL),
              1);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    if (has_certificate) {
        show_own(context, s);
    }
    ssl = SSL_new(context);
    SSL_set_fd(ssl, fd);
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), "127.0.0.1");
    *ret_answered =
        SSL_connect(ssl) == 1 && SSL_write(ssl, "PING\r\n", 6) == 6 &&
        SSL_read(ssl, reply, 7) == 7 && memcmp(reply, "+PONG\r\n", 7) == 0;
    verdict = SSL_get_verify_result(ssl);
    SSL_free(ssl);
    SSL_CTX_free(context);
    close(fd);
    return verdict;
}

TEST_WITHIN(60, a_client_that_trusts_the_authority_is_answered)
{
    struct hf__redis *s = hf__redis_start(&with_tls);
    bool is_answered;

    EXPECT_NOT(hf__redis_port(s), hf__redis_tls_port(s));
    EXPECT_IS(meet(s, false, &is_answered), X509_V_OK);
    EXPECT(is_answered);
    EXPECT_IS(meet(s, true, &is_answered), X509_V_OK);
    EXPECT(is_answered);
    hf__redis_kill(s);
    hf__redis_restart(s, NULL);
    EXPECT_IS(meet(s, true, &is_answered), X509_V_OK);
    EXPECT(is_answered);
    hf__redis_free(s);
}

TEST_WITHIN(60, a_server_may_insist_on_a_clients_certificate)
{
    static const char *const strict[] = {"tls-auth-clients yes", NULL};
    const struct hf__redis_opts opts = {.has_tls = true, .extra = strict};
    struct hf__redis *s = hf__redis_start(&opts);
    bool is_answered;

    meet(s, false, &is_answered);
    EXPECT(!is_answered);
    EXPECT_IS(meet(s, true, &is_answered), X509_V_OK);
    EXPECT(is_answered);
    hf__redis_free(s);
}

TEST_WITHIN(60, what_a_client_must_refuse_can_be_shown)
{
    static const struct {
        const char *name;
        long verdict;
    } shown[] = {
        {"elsewhere", X509_V_ERR_IP_ADDRESS_MISMATCH},
        {"expired", X509_V_ERR_CERT_HAS_EXPIRED},
        {"stranger", X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY},
        {"server", X509_V_OK},
    };
    struct hf__redis *s = hf__redis_start(&with_tls);
    bool is_answered;

    for (int i = 0; i < 4; i++) {
        long verdict;

        hf__redis_show_certificate(s, shown[i].name);
        verdict = meet(s, false, &is_answered);
        printf("%s: %s\n", shown[i].name,
               X509_verify_cert_error_string(verdict));
        EXPECT_IS(verdict, shown[i].verdict);
        EXPECT_IS(is_answered, verdict == X509_V_OK);
    }
    hf__redis_free(s);
}
