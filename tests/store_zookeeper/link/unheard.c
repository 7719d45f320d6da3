/* SPDX-License-Identifier: MIT */
/*
 * Which connections are taken for handshakes that nobody answers: never one on
 * which somebody spoke, nor what can't be the library's.
 */
#include "src/backend/zookeeper/fds.h"
#include "src/base/fork.h"
#include "tests/lib/test.h"
#include "tests/store_zookeeper/link/side.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SILENT_MS = 50, OLD_MS = 1000, LONG_MS = 60000 };

struct listener {
    int fd;
    struct sockaddr_in at;
    char address[32];
};

static void stop_listening(struct listener *l)
{
    close(l->fd);
}

#define LISTENER(name)                                                         \
    HF_AUTO(stop_listening) struct listener name;                              \
    start_listening(&(name))

static void start_listening(struct listener *l)
{
    socklen_t size = sizeof l->at;

    l->at = hf__servers_at(0);
    l->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_IS(bind(l->fd, (struct sockaddr *)&l->at, size), 0);
    EXPECT_IS(listen(l->fd, 8), 0);
    EXPECT_IS(getsockname(l->fd, (struct sockaddr *)&l->at, &size), 0);
    snprintf(l->address, sizeof l->address, "127.0.0.1:%d",
             ntohs(l->at.sin_port));
}

/* That said something, as a handshake does, to whoever never answers. */
static int call(const struct listener *l, int fd_flags, int flags)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    EXPECT_IS(connect(fd, (const struct sockaddr *)&l->at, sizeof l->at), 0);
    EXPECT_IS(fcntl(fd, F_SETFD, fd_flags), 0);
    EXPECT_IS(fcntl(fd, F_SETFL, flags), 0);
    EXPECT_IS(send(fd, "hello", 5, MSG_NOSIGNAL), 5);
    return fd;
}

static bool is_up(int fd)
{
    return send(fd, "?", 1, MSG_NOSIGNAL) == 1;
}

/* So many ms after they spoke. */
static bool hang_up(const struct listener *l, hf__time since)
{
    hf__test_pause_ms(2 * SILENT_MS);
    return hf__zk_fds_end_unheard(l->address, SILENT_MS * HF__MS, since);
}

TEST(a_connection_that_nobody_answers_is_ended_in_time)
{
    LISTENER(l);
    hf__time start = hf__now();
    int fd = call(&l, 0, O_NONBLOCK);

    EXPECT(!hf__zk_fds_end_unheard(l.address, LONG_MS * HF__MS, start));
    EXPECT(is_up(fd));
    EXPECT(hang_up(&l, start));
    EXPECT(!is_up(fd));
    EXPECT(!hang_up(&l, start));
    close(fd);
}

/* The server may be slow: many clients of a process would keep each other out
 * if each ended the connections of all. */
TEST(the_next_one_is_waited_for)
{
    LISTENER(l);
    hf__time start = hf__now();
    int fd = call(&l, 0, O_NONBLOCK);

    EXPECT(hang_up(&l, start));
    close(fd);
    fd = call(&l, 0, O_NONBLOCK);
    EXPECT(!hang_up(&l, start));
    EXPECT(is_up(fd));
    EXPECT(hang_up(&l, hf__now())); /* another outage, later */
    EXPECT(!is_up(fd));
    close(fd);
}

TEST(two_that_take_turns_are_waited_for_too)
{
    LISTENER(l);
    hf__time start = hf__now();
    int one = call(&l, 0, O_NONBLOCK);
    int other;

    EXPECT(hang_up(&l, start));
    close(one);
    one = call(&l, 0, O_NONBLOCK);
    hf__test_pause_ms(SILENT_MS);
    other = call(&l, 0, O_NONBLOCK);
    for (int i = 0; i < 3; i++) {
        EXPECT(!hang_up(&l, start));
    }
    EXPECT(is_up(one));
    EXPECT(is_up(other));
    close(one);
    close(other);
}

/* One was too young yet when the other was ended. */
TEST(who_was_there_before_has_its_time_once)
{
    LISTENER(l);
    hf__time start = hf__now();
    int one = call(&l, 0, O_NONBLOCK);
    hf__test_pause_ms(OLD_MS);
    int other = call(&l, 0, O_NONBLOCK);

    hf__test_pause_ms(SILENT_MS);
    EXPECT(hf__zk_fds_end_unheard(l.address, OLD_MS * HF__MS, start));
    close(one);
    one = call(&l, 0, O_NONBLOCK);
    EXPECT(hang_up(&l, start));
    EXPECT(!is_up(other));
    EXPECT(!hang_up(&l, start));
    EXPECT(is_up(one));
    close(one);
    close(other);
}

TEST(one_on_which_somebody_spoke_is_not_ended)
{
    LISTENER(l);
    int fd = call(&l, 0, O_NONBLOCK);
    int other = accept(l.fd, NULL, NULL);

    EXPECT(other >= 0);
    EXPECT_IS(send(other, "a", 1, MSG_NOSIGNAL), 1);
    EXPECT(!hang_up(&l, hf__now()));
    EXPECT(is_up(fd));
    close(other);
    close(fd);
}

TEST(nor_one_that_cannot_be_the_librarys)
{
    LISTENER(l);
    LISTENER(elsewhere);
    int closed = call(&l, FD_CLOEXEC, O_NONBLOCK);
    int waits = call(&l, 0, 0);
    int other = call(&elsewhere, 0, O_NONBLOCK);
    int pair[2];

    EXPECT_IS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    EXPECT(!hang_up(&l, hf__now()));
    EXPECT(is_up(closed));
    EXPECT(is_up(waits));
    EXPECT(is_up(other));
    EXPECT(is_up(pair[0]));
    close(closed);
    close(waits);
    close(other);
    close(pair[0]);
    close(pair[1]);
}

/* Two clients connect in the same moment, and one is let in. */
TEST(a_session_is_told_from_a_handshake_beside_it)
{
    LISTENER(l);
    hf__time start = hf__now();
    int session = call(&l, 0, O_NONBLOCK);
    int server = accept(l.fd, NULL, NULL);
    int handshake = call(&l, 0, O_NONBLOCK);

    EXPECT(server >= 0);
    EXPECT_IS(send(server, "a", 1, MSG_NOSIGNAL), 1);
    hf__test_pause_ms(SILENT_MS);
    int duplicate =
        hf__zk_fds_keep_socket((const struct sockaddr *)&l.at, sizeof l.at);
    EXPECT(duplicate >= 0);
    EXPECT(hang_up(&l, start));
    EXPECT(is_up(session));
    EXPECT(!is_up(handshake));
    EXPECT_IS(shutdown(duplicate, SHUT_RDWR), 0);
    EXPECT(!is_up(session));
    hf__fd_close(duplicate);
    close(session);
    close(server);
    close(handshake);
}
