/* SPDX-License-Identifier: MIT */
/*
 * Connects to a host or to a socket's path. A host may have several addresses:
 * they are tried one after another, and one that does not answer leaves time
 * for the next; the one that answered is tried first the next time. A lookup
 * blocks for as long as the system's resolver takes: the system has no other
 * call. peer.c does what follows on the connection. Called by the session's
 * thread.
 */
#include "src/backend/redis/peer.h"

#include "src/base/error.h"
#include "src/base/host.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Time for an address if there is another one. */
#define ADDRESS_MS 1000
/* TCP keepalive: probes on an idle connection find one that was cut though
 * nobody writes. */
#define IDLE_S     15
#define INTERVAL_S 5
#define PROBES     3

void hf__peer_fail(struct hf__peer *p, int status, const char *why)
{
    if (p->state != HF__PEER_DEAD) {
        p->state = HF__PEER_DEAD;
        p->status = hf__fail(&p->err, status, "%s: %s", p->target.shown, why);
        p->resp.wants = 0;
    }
}

/* ---- known addresses of a name */

static void know(struct hf__addresses *k, const struct addrinfo *a)
{
    k->n = 0;
    for (; a != NULL && k->n < HF__ADDRESSES_MAX; a = a->ai_next) {
        if (a->ai_addrlen <= sizeof k->list[0].to) {
            k->list[k->n].length = a->ai_addrlen;
            memcpy(&k->list[k->n++].to, a->ai_addr, a->ai_addrlen);
        }
    }
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

/* 0: connected; else errno, also EINPROGRESS. */
static int connect_to(struct hf__peer *p, const struct hf__address *a)
{
    int fd =
        socket(a->to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0) {
        return errno;
    }
    if (hf__resp_attach(&p->resp, fd) != HF_OK) {
        return ENOMEM;
    }
    if (a->to.ss_family != AF_UNIX) {
        set_options(fd);
    }
    return connect(fd, (const struct sockaddr *)&a->to, a->length) == 0 ? 0
                                                                        : errno;
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

/* Move the address to the front, to be tried first the next time. */
static bool is_there(struct hf__addresses *k)
{
    struct hf__address first = k->list[0];

    k->list[0] = k->list[k->at];
    k->list[k->at] = first;
    return true;
}

/* Try the addresses from k->at on, as long as they fail at once. True:
 * connected. */
static bool try_addresses(struct hf__peer *p, int number)
{
    for (struct hf__addresses *k = &p->known; k->at < k->n; k->at++) {
        hf__resp_detach(&p->resp);
        number = connect_to(p, &k->list[k->at]);
        if (number == 0) {
            return is_there(k);
        }
        if (number == EINPROGRESS) {
            p->state = HF__PEER_CONNECTING;
            p->address_until = k->at + 1 == k->n
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
    p->known.at++;
    return try_addresses(p, number);
}

static int look_up(struct hf__peer *p)
{
    struct addrinfo *found = NULL;
    char port[16];
    int error;

    (void)snprintf(port, sizeof port, "%d", p->target.port);
    error = hf__host_look_up(p->target.host, port, &found);
    if (error == 0) {
        know(&p->known, found);
        freeaddrinfo(found);
    }
    return error;
}

bool hf__dial_host(struct hf__peer *p, bool may_look_up)
{
    int error = may_look_up ? look_up(p) : 0;
    char why[160];

    if (p->known.n == 0 && error != 0) {
        (void)snprintf(why, sizeof why, "its name can't be looked up: %s",
                       gai_strerror(error));
        hf__peer_fail(p, HF_EUNAVAIL, why);
        return false;
    }
    if (p->known.n == 0 && !may_look_up) {
        hf__peer_fail(p, HF_EUNAVAIL, "its name could not be looked up");
        return false;
    }
    p->known.at = 0;
    return try_addresses(p, EADDRNOTAVAIL);
}

bool hf__dial_socket(struct hf__peer *p)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};

    if (strlen(p->target.socket) >= sizeof to.sun_path) {
        hf__peer_fail(p, HF_EINVAL, "a socket's path has 107 bytes at most");
        return false;
    }
    (void)snprintf(to.sun_path, sizeof to.sun_path, "%s", p->target.socket);
    p->known = (struct hf__addresses){.n = 1, .list[0].length = sizeof to};
    memcpy(&p->known.list[0].to, &to, sizeof to);
    return try_addresses(p, 0);
}

bool hf__dial_finish(struct hf__peer *p)
{
    int number = 0;
    socklen_t length = sizeof number;

    if (getsockopt(p->resp.fd, SOL_SOCKET, SO_ERROR, &number, &length) != 0) {
        number = errno;
    }
    return number == 0 ? is_there(&p->known) : try_next(p, number);
}

bool hf__dial_next(struct hf__peer *p)
{
    return try_next(p, ETIMEDOUT);
}
