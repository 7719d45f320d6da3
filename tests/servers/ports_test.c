/* SPDX-License-Identifier: MIT */
/*
 * Is a port that was taken nobody else's, while its server is not there too,
 * and free again when who took it has ended?
 */
#include "tests/lib/test.h"
#include "tests/servers/servers.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* So many of the 20,000 that two of them are hardly ever apart by chance. */
enum { MANY = 500 };

/* 0, or why the port can't be bound to as hf__servers_take_port() does. */
static int bind_error(int port)
{
    struct sockaddr_in at = hf__servers_at(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int error = bind(fd, (void *)&at, sizeof at) < 0 ? errno : 0;

    close(fd);
    return error;
}

static int connect_error(int port)
{
    struct sockaddr_in at = hf__servers_at(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int error = connect(fd, (void *)&at, sizeof at) < 0 ? errno : 0;

    close(fd);
    return error;
}

static int serve(int port)
{
    struct sockaddr_in at = hf__servers_at(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;

    EXPECT_IS(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    EXPECT_IS(bind(fd, (void *)&at, sizeof at), 0);
    EXPECT_IS(listen(fd, 1), 0);
    return fd;
}

TEST(a_port_is_given_once)
{
    int ports[MANY];

    for (int i = 0; i < MANY; i++) {
        ports[i] = hf__servers_take_port();
        for (int k = 0; k < i; k++) {
            EXPECT_NOT(ports[i], ports[k]);
        }
    }
}

TEST(a_port_is_kept_before_its_server_comes_and_after_it_left)
{
    int port = hf__servers_take_port();

    for (int i = 0; i < 2; i++) {
        EXPECT_IS(connect_error(port), ECONNREFUSED);
        EXPECT_IS(bind_error(port), EADDRINUSE);
        int server = serve(port);

        EXPECT_IS(connect_error(port), 0);
        EXPECT_IS(bind_error(port), EADDRINUSE);
        close(server);
    }
    EXPECT_IS(bind_error(port), EADDRINUSE);
}
