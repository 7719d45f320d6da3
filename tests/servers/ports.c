/* SPDX-License-Identifier: MIT */
/*
 * Ports for servers. One is kept by a socket that is bound to it and never
 * listens: the kernel gives it to nobody who asks here, in whichever process,
 * though nobody listens on it yet, or any more. A server that sets
 * SO_REUSEADDR can listen there all the same, and all of ours do. Any process
 * of a test may call this.
 */
#include "tests/lib/test.h"
#include "tests/servers/servers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TRIES = 1000 };
/* Below what the kernel gives to clients, which might have the port while its
 * server is away. */
enum { LOWEST_PORT = 10000, PORTS = 20000 };

struct sockaddr_in hf__servers_at(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* SO_REUSEADDR comes last, so that it opens the port to a server and not to
 * the next who would keep it. −1: another has it. */
static int keep(int port)
{
    struct sockaddr_in at = hf__servers_at(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;

    if (fd < 0) {
        hf__servers_fail("no socket for a port: %s", strerror(errno));
    }
    if (bind(fd, (void *)&at, sizeof at) < 0) {
        close(fd);
        return -1;
    }
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0) {
        hf__servers_fail("port %d can't be shared: %s", port, strerror(errno));
    }
    return fd;
}

int hf__servers_take_port(void)
{
    for (int i = 0; i < TRIES; i++) {
        unsigned r = 0;
        int port;
        int fd;

        if (getrandom(&r, sizeof r, 0) != sizeof r) {
            break;
        }
        port = LOWEST_PORT + (int)(r % PORTS);
        fd = keep(port);
        if (fd >= 0) {
            hf__test_keep_fd(fd);
            return port;
        }
    }
    hf__servers_fail("no free port");
}
