/* SPDX-License-Identifier: MIT */
/*
 * One word there, one answer back, and the server hangs up. Called by the
 * front's thread, which may be interrupted meanwhile: it looks each moment.
 */
#include "src/backend/zookeeper/word.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* So often it looks whether it was interrupted. */
#define MOMENT_MS 50

static bool await(struct hf__zk_front *f, int fd, short events,
                  hf__time deadline)
{
    for (;;) {
        hf__time now = hf__now();
        struct pollfd slot = {.fd = fd, .events = events};

        if (hf__is_interrupted(f->head) || !hf__before(now, deadline)) {
            return false;
        }
        int64_t left_ms = hf__ms_until(deadline, now);
        int n = poll(&slot, 1, left_ms < MOMENT_MS ? (int)left_ms : MOMENT_MS);
        if (n > 0) {
            return true;
        }
        if (n < 0 && errno != EINTR) {
            return false;
        }
    }
}

/* "127.0.0.1:2181", "[::1]:2181", "localhost:2181". */
static int dial(const char *server)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char host[300];

    (void)snprintf(host, sizeof host, "%s", server);
    char *port = strrchr(host, ':');
    if (port == NULL) {
        return -1;
    }
    *port++ = '\0';
    char *name = host + (host[0] == '[' ? 1 : 0);
    name[strcspn(name, "]")] = '\0';
    if (getaddrinfo(name, port, &hints, &found) != 0) {
        return -1;
    }
    int fd =
        socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) != 0 &&
        errno != EINPROGRESS) {
        close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    return fd;
}

static void hear(struct hf__zk_front *f, int fd, char *to, size_t size,
                 hf__time deadline)
{
    size_t length = 0;

    while (length + 1 < size && await(f, fd, POLLIN, deadline)) {
        ssize_t n = recv(fd, to + length, size - 1 - length, 0);

        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
            break;
        }
        length += n > 0 ? (size_t)n : 0;
    }
    to[length] = '\0';
}

bool hf__zk_word(struct hf__zk_front *f, const char *server, const char *word,
                 char *to, size_t size, hf__time deadline)
{
    int fd = dial(server);
    bool is_answered;

    to[0] = '\0';
    if (fd < 0) {
        return false;
    }
    if (await(f, fd, POLLOUT, deadline) &&
        send(fd, word, strlen(word), MSG_NOSIGNAL) == (ssize_t)strlen(word)) {
        hear(f, fd, to, size, deadline);
    }
    close(fd);
    is_answered = to[0] != '\0';
    if (strstr(to, "not in the whitelist") != NULL) {
        to[0] = '\0';
    }
    return is_answered;
}
