/* SPDX-License-Identifier: MIT */
/*
 * Why nobody lets us in: the library does not tell, and tries for ever. Where
 * each server refuses the connection nothing is gained by waiting. Called by
 * the thread of a front that opens, and waits for longer than usual.
 */
#include "src/backend/zookeeper/parts.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* So long one may think it over. */
#define PROBE_MS 200

/* The outcome of one; EINPROGRESS: none so far. */
struct probe {
    struct pollfd slot;
    int error;
};

/* "127.0.0.1:2181", "::1:2181", as the library has them. */
static void begin(struct probe *p, char *address)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char *port = strrchr(address, ':');

    *port++ = '\0';
    p->slot = (struct pollfd){.fd = -1, .events = POLLOUT};
    p->error = EINPROGRESS;
    if (getaddrinfo(address, port, &hints, &found) != 0) {
        return;
    }
    p->slot.fd =
        socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (p->slot.fd >= 0) {
        p->error = connect(p->slot.fd, found->ai_addr, found->ai_addrlen) == 0
                       ? 0
                       : errno;
    }
    freeaddrinfo(found);
}

static void look(struct probe *p, hf__time until)
{
    socklen_t size = sizeof p->error;
    int64_t left_ms = hf__ms_until(until, hf__now());

    if (p->error == EINPROGRESS && p->slot.fd >= 0 &&
        poll(&p->slot, 1, (int)left_ms) == 1) {
        (void)getsockopt(p->slot.fd, SOL_SOCKET, SO_ERROR, &p->error, &size);
    }
}

static bool is_refusal(int error)
{
    return error == ECONNREFUSED || error == EHOSTUNREACH ||
           error == ENETUNREACH || error == EADDRNOTAVAIL ||
           error == EAFNOSUPPORT;
}

int hf__zk_probe(const char *addresses)
{
    struct probe probes[HF__ZK_ADDRESSES];
    char copy[HF__ZK_ADDRESSES_MAX];
    hf__time until = hf__after_ms(hf__now(), PROBE_MS);
    char *rest = NULL;
    int n = 0;
    int refusal = 0;
    bool do_all_refuse = true;

    (void)snprintf(copy, sizeof copy, "%s", addresses);
    for (char *it = strtok_r(copy, ",", &rest);
         it != NULL && n < HF__ZK_ADDRESSES; it = strtok_r(NULL, ",", &rest)) {
        begin(&probes[n++], it);
    }
    for (int i = 0; i < n; i++) {
        look(&probes[i], until);
        refusal = probes[i].error;
        do_all_refuse = do_all_refuse && is_refusal(refusal);
        if (probes[i].slot.fd >= 0) {
            close(probes[i].slot.fd);
        }
    }
    return do_all_refuse ? refusal : 0;
}
