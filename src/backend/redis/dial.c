/* SPDX-License-Identifier: MIT */
/*
 * From a host or a path to a connection. A host may have several addresses:
 * they are tried one after another, and one that does not answer at all leaves
 * the next ones time; the one that answered is tried first the next time.
 * Looking a name up blocks, for as long as the system's resolver takes: it has
 * no other call. What is said on the connection is peer.c's. Called by the
 * session's thread.
 */
#include "src/backend/redis/peer.h"

#include "src/base/error.h"
#include "src/base/host.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* What an address has if there is another one. */
#define ADDRESS_MS 1000
/* A connection on which nothing comes is asked whether it is still there, so
 * that one that was cut is found though nobody writes. */
#define IDLE_S     15
#define INTERVAL_S 5
#define PROBES     3

/* ---- what is known of a name */

static void know_addresses(struct hf__addresses *k, const struct addrinfo *a)
{
    k->n = 0;
    for (; a != NULL && k->n < HF__ADDRESSES_MAX; a = a->ai_next) {
        if (a->ai_addrlen <= sizeof k->at[0]) {
            memcpy(&k->at[k->n], a->ai_addr, a->ai_addrlen);
            k->list[k->n++] = (struct addrinfo){.ai_family = a->ai_family,
                                                .ai_addrlen = a->ai_addrlen};
        }
    }
}

/* The one that answers is tried first the next time. */
static void prefer_address(struct hf__addresses *k, const struct addrinfo *a)
{
    for (int i = 0; a != NULL && i < k->n; i++) {
        if (k->list[i].ai_addrlen == a->ai_addrlen &&
            memcmp(&k->at[i], a->ai_addr, a->ai_addrlen) == 0) {
            struct sockaddr_storage at = k->at[i];
            struct addrinfo one = k->list[i];

            k->at[i] = k->at[0];
            k->list[i] = k->list[0];
            k->at[0] = at;
            k->list[0] = one;
            return;
        }
    }
}

/* As a list; NULL: there are none. */
static struct addrinfo *link_addresses(struct hf__addresses *k)
{
    for (int i = 0; i < k->n; i++) {
        k->list[i].ai_addr = (struct sockaddr *)&k->at[i];
        k->list[i].ai_next = i + 1 < k->n ? &k->list[i + 1] : NULL;
    }
    return k->n > 0 ? k->list : NULL;
}

void hf__dial_forget(struct hf__peer *p)
{
    if (p->addresses != NULL) {
        freeaddrinfo(p->addresses);
    }
    p->addresses = NULL;
    p->address = NULL;
    p->address_until = HF__NEVER;
}

/* ---- from an address to a connection */

static void set_options(int fd)
{
    static const struct {
        int level;
        int name;
        int value;
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S},
        {IPPROTO_TCP, TCP_KEEPINTVL, INTERVAL_S},
        {IPPROTO_TCP, TCP_KEEPCNT, PROBES},
    };

    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        (void)setsockopt(fd, options[i].level, options[i].name,
                         &options[i].value, sizeof options[i].value);
    }
}

/* 0: connected; else errno, EINPROGRESS too. */
static int connect_to(struct hf__peer *p, int family,
                      const struct sockaddr *address, socklen_t length)
{
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0) {
        return errno;
    }
    if (hf__resp_attach(&p->resp, fd) != HF_OK) {
        return ENOMEM;
    }
    if (family != AF_UNIX) {
        set_options(fd);
    }
    return connect(fd, address, length) == 0 ? 0 : errno;
}

static void fail_errno(struct hf__peer *p, int number)
{
    bool is_denied = number == EACCES || number == EPERM;
    char words[64];
    char why[128];

    (void)snprintf(why, sizeof why, "it can't be connected to: %s",
                   hf__errno_text(number, words, sizeof words));
    hf__peer_fail(p, is_denied ? HF_EAUTH : HF_EUNAVAIL, why);
    p->err.native = number;
}

static bool is_there(struct hf__peer *p)
{
    prefer_address(&p->known, p->address);
    hf__dial_forget(p);
    return true;
}

/* Begin with the address and, as long as they fail at once, with those behind
 * it. True: connected. */
static bool try_addresses(struct hf__peer *p, int number)
{
    for (; p->address != NULL; p->address = p->address->ai_next) {
        const struct addrinfo *a = p->address;

        hf__resp_detach(&p->resp);
        number = connect_to(p, a->ai_family, a->ai_addr, a->ai_addrlen);
        if (number == 0) {
            return is_there(p);
        }
        if (number == EINPROGRESS) {
            p->state = HF__PEER_CONNECTING;
            p->address_until = a->ai_next == NULL
                                   ? HF__NEVER
                                   : hf__after_ms(hf__now(), ADDRESS_MS);
            return false;
        }
    }
    fail_errno(p, number);
    return false;
}

static bool try_next(struct hf__peer *p, int number)
{
    p->address = p->address == NULL ? NULL : p->address->ai_next;
    return try_addresses(p, number);
}

bool hf__dial_known(struct hf__peer *p)
{
    if (p->known.n == 0) {
        hf__peer_fail(p, HF_EUNAVAIL, "its name could not be looked up");
        return false;
    }
    p->address = link_addresses(&p->known);
    return try_addresses(p, EADDRNOTAVAIL);
}

bool hf__dial_host(struct hf__peer *p)
{
    char port[16];
    char why[160];
    int error;

    (void)snprintf(port, sizeof port, "%d", p->target.port);
    error = hf__host_look_up(p->target.host, port, &p->addresses);
    if (error != 0 && p->known.n > 0) {
        return hf__dial_known(p);
    }
    if (error != 0) {
        (void)snprintf(why, sizeof why, "its name can't be looked up: %s",
                       gai_strerror(error));
        hf__peer_fail(p, HF_EUNAVAIL, why);
        return false;
    }
    know_addresses(&p->known, p->addresses);
    p->address = p->addresses;
    return try_addresses(p, EADDRNOTAVAIL);
}

bool hf__dial_socket(struct hf__peer *p)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int number;

    if (strlen(p->target.socket) >= sizeof address.sun_path) {
        hf__peer_fail(p, HF_EINVAL, "a socket's path has 107 bytes at most");
        return false;
    }
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s",
                   p->target.socket);
    number = connect_to(p, AF_UNIX, (const struct sockaddr *)&address,
                        sizeof address);
    if (number != 0) {
        fail_errno(p, number);
    }
    return number == 0;
}

bool hf__dial_finish(struct hf__peer *p)
{
    int number = 0;
    socklen_t length = sizeof number;

    if (getsockopt(p->resp.fd, SOL_SOCKET, SO_ERROR, &number, &length) != 0) {
        number = errno;
    }
    return number == 0 ? is_there(p) : try_next(p, number);
}

bool hf__dial_is_late(const struct hf__peer *p)
{
    return !hf__is_never(p->address_until) &&
           !hf__before(hf__now(), p->address_until);
}

bool hf__dial_next(struct hf__peer *p)
{
    return try_next(p, ETIMEDOUT);
}
