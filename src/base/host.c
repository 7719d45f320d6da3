/* SPDX-License-Identifier: MIT */
/*
 * Takes the name and address of this machine from the kernel and the
 * environment, without the network. Asks the resolver for those of other
 * machines. Thread: any.
 */
#include "src/base/host.h"
#include "src/base/thread.h"
#include "src/base/utf8.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void hf__host_name(char to[HF__HOST_SIZE])
{
    memset(to, 0, HF__HOST_SIZE);
    if (gethostname(to, HF__HOST_SIZE) != 0) {
        to[0] = '\0';
    }
    to[hf__utf8_cut(to, HF__HOST_SIZE - 1)] = '\0';
}

/* Can another host reach this machine by it? Not by one of a single link. */
static bool is_address(const struct ifaddrs *i, int family)
{
    const struct sockaddr_in6 *six;

    if (i->ifa_addr == NULL || i->ifa_addr->sa_family != family ||
        (i->ifa_flags & IFF_UP) == 0 || (i->ifa_flags & IFF_LOOPBACK) != 0) {
        return false;
    }
    six = (const struct sockaddr_in6 *)(const void *)i->ifa_addr;
    return family != AF_INET6 || !IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr);
}

static bool find(const struct ifaddrs *all, int family,
                 char to[HF__ADDRESS_SIZE])
{
    for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
        if (is_address(i, family)) {
            const struct sockaddr_in *four = (const void *)i->ifa_addr;
            const struct sockaddr_in6 *six = (const void *)i->ifa_addr;

            return inet_ntop(family,
                             family == AF_INET ? (const void *)&four->sin_addr
                                               : (const void *)&six->sin6_addr,
                             to, HF__ADDRESS_SIZE) != NULL;
        }
    }
    return false;
}

void hf__host_address(char to[HF__ADDRESS_SIZE])
{
    struct ifaddrs *all = NULL;

    if (getifaddrs(&all) != 0) {
        all = NULL;
    }
    if (!find(all, AF_INET, to) && !find(all, AF_INET6, to)) {
        memcpy(to, "127.0.0.1", sizeof "127.0.0.1");
    }
    if (all != NULL) {
        freeifaddrs(all);
    }
}

void hf__host_node(char *to, size_t size)
{
    char host[HF__HOST_SIZE];
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): as the header says of it */
    const char *node = secure_getenv("HOLDFAST_NODE");

    if (node == NULL || *node == '\0') {
        hf__host_name(host);
        node = host;
    }
    hf__utf8_copy(to, size, node);
}

int hf__host_look_up(const char *name, const char *port,
                     struct addrinfo **ret_list)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICSERV};
    struct hf__sigpipe sigpipe; /* the resolver may ask another process */
    int error;

    hf__sigpipe_block(&sigpipe);
    error = getaddrinfo(name, port, &hints, ret_list);
    hf__sigpipe_restore(&sigpipe);
    if (error != 0) {
        *ret_list = NULL;
    }
    return error;
}
