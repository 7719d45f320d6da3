/* SPDX-License-Identifier: MIT */
/*
 * Keeps the password from servers that should not get it. Until version 16,
 * which can be told not to, libpq sends it in clear text to any server that
 * asks for that. So what the server asks is read first, and libpq has stars for
 * a password except during the one call that needs it. Without TLS and before
 * 16, an attacker on the path could still ask between our look and libpq's. The
 * look finds messages of type R: their length and what they ask. A server sends
 * one at a time, and with its last proof also that all is well.
 *
 * Thread: the session's.
 */
#include "src/backend/postgres/auth.h"

#include "src/base/error.h"

#include <endian.h>
#include <errno.h>
#include <openssl/ssl.h>
#include <string.h>
#include <sys/socket.h>

enum {
    HEAD = 9,
    LENGTH_MIN = 8,
    LENGTH_MAX = 2000, /* libpq has the same limit */
    AT_ONCE = 2,
    IS_WELL = 0,
    CLEARTEXT = 3,
    MD5 = 5,
    SASL = 10,
    SASL_FINAL = 12,
};

static uint32_t number(const unsigned char *at)
{
    uint32_t n;

    memcpy(&n, at, sizeof n);
    return be32toh(n);
}

static enum hf__pg_asked meaning_of(uint32_t what)
{
    return what == MD5 || what == SASL ? HF__PG_ASKED_PROOF
           : what == CLEARTEXT         ? HF__PG_ASKED_CLEAR
           : what == IS_WELL || (what > SASL && what <= SASL_FINAL)
               ? HF__PG_ASKED_FIT
               : HF__PG_ASKED_OTHER;
}

/* Find the worst of what the server asks at once. */
static enum hf__pg_asked read_asked(const unsigned char *bytes, size_t n)
{
    enum hf__pg_asked worst = HF__PG_ASKED_FIT;
    size_t at = 0;

    if (n == 0) {
        return HF__PG_ASKED_PART;
    }
    if (bytes[0] != 'R') {
        return bytes[0] == 'E' ? HF__PG_ASKED_NOTHING : HF__PG_ASKED_NONE;
    }
    for (int i = 0; at < n && bytes[at] == 'R'; i++) {
        enum hf__pg_asked asked;
        uint32_t length;

        if (n - at < HEAD) {
            return HF__PG_ASKED_PART;
        }
        length = number(bytes + at + 1);
        if (length < LENGTH_MIN || length > LENGTH_MAX || i == AT_ONCE) {
            return HF__PG_ASKED_NONE;
        }
        asked = meaning_of(number(bytes + at + 5));
        worst = asked > worst ? asked : worst;
        at += 1 + length;
    }
    return worst;
}

/* Gives how many bytes have come. 0: none yet; −1: none will, which libpq will
 * find too. */
static ssize_t peek(PGconn *handle, void *bytes, size_t size)
{
    SSL *tls = PQsslStruct(handle, "OpenSSL");
    ssize_t n;

    if (tls != NULL) {
        n = SSL_peek(tls, bytes, (int)size);
        return n <= 0 ? (SSL_want_read(tls) ? 0 : -1) : n;
    }
    n = recv(PQsocket(handle), bytes, size, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    return n > 0 ? n : -1;
}

/* The server's certificate shows that it is the one that was meant. */
static bool is_known(const struct hf__pg *s, const struct hf__pg_target *t)
{
    return t->tls != NULL && strcmp(t->tls, "verify") == 0 &&
           PQsslInUse(s->wire.handle);
}

static void reveal(PGconn *handle, const char *password)
{
    char *to = PQpass(handle);

    memcpy(to, password, strnlen(password, strlen(to)));
}

void hf__pg_auth_hide(struct hf__pg *s)
{
    char *to = PQpass(s->wire.handle);

    memset(to, '*', strlen(to));
}

int hf__pg_auth_meet(struct hf__pg *s, const struct hf__pg_target *t,
                     enum hf__pg_asked *ret_asked)
{
    unsigned char bytes[(AT_ONCE + 1) * (LENGTH_MAX + 1)];
    ssize_t n = peek(s->wire.handle, bytes, sizeof bytes);
    enum hf__pg_asked asked =
        n < 0 ? HF__PG_ASKED_FIT : read_asked(bytes, (size_t)n);

    *ret_asked = asked;
    if (asked == HF__PG_ASKED_NONE) {
        return hf__fail(s->t.err, HF_EPROTO,
                        "what %s says is not how PostgreSQL lets a client in: "
                        "is the port right?",
                        t->shown);
    }
    if (asked == HF__PG_ASKED_OTHER) {
        return hf__fail(s->t.err, HF_EAUTH,
                        "%s asks for Kerberos or the like, which is not "
                        "supported: give the user scram-sha-256 or a "
                        "certificate",
                        t->shown);
    }
    if (asked == HF__PG_ASKED_CLEAR && t->password[0] != '\0' &&
        !is_known(s, t)) {
        return hf__fail(s->t.err, HF_EUNSAFE,
                        "%s asks for the password as it is: name its "
                        "certificate's authority (ca=), or give the user "
                        "scram-sha-256",
                        t->shown);
    }
    if (asked == HF__PG_ASKED_PROOF || asked == HF__PG_ASKED_CLEAR) {
        reveal(s->wire.handle, t->password);
    }
    return HF_OK;
}
