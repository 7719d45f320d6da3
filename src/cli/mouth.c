/* SPDX-License-Identifier: MIT */
/*
 * Decides how to write without ever waiting for a reader. The flag for that
 * belongs to the open file, which we share with the command, and must not be
 * set there; so a pipe or a terminal is opened a second time. Where that is
 * denied (after su, stderr may be somebody else's) a pipe can still be asked
 * by splice(), which has a flag for each call, and a terminal by its other
 * name. Of a plain file there must be no second one: it has the position.
 * Thread: any.
 */
#include "src/cli/mouth.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

static int reopen(int fd)
{
    int flags = O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
    char path[32];
    int own;

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    own = open(path, flags);
    if (own < 0 && tcgetsid(fd) == getsid(0)) {
        own = open("/dev/tty", flags);
    }
    return own;
}

void cli_mouth_open(struct cli_mouth *mouth, int fd)
{
    struct stat st;
    int own;

    *mouth = (struct cli_mouth){fd, CLI_MOUTH_PLAIN};
    if (fstat(fd, &st) || S_ISREG(st.st_mode)) {
        return;
    }
    if (S_ISSOCK(st.st_mode)) {
        mouth->kind = CLI_MOUTH_SOCKET;
        return;
    }
    own = reopen(fd);
    if (own >= 0) {
        *mouth = (struct cli_mouth){own, CLI_MOUTH_OWN};
    } else {
        mouth->kind = S_ISFIFO(st.st_mode) ? CLI_MOUTH_PIPE : CLI_MOUTH_OTHER;
    }
}

/* Through a pipe of our own, for pages are moved from pipe to pipe. */
static long try_splice(int fd, const char *bytes, size_t length)
{
    int ends[2];
    ssize_t n;

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) {
        return -1;
    }
    n = write(ends[1], bytes, length);
    if (n > 0) {
        n = splice(ends[0], NULL, fd, NULL, (size_t)n, SPLICE_F_NONBLOCK);
    }
    (void)close(ends[0]);
    (void)close(ends[1]);
    return n;
}

static bool has_room(int fd, int ms)
{
    struct pollfd room = {fd, POLLOUT, 0};

    return poll(&room, 1, ms) == 1;
}

long cli_mouth_try(const struct cli_mouth *mouth, const char *bytes,
                   size_t length)
{
    switch (mouth->kind) {
    case CLI_MOUTH_PLAIN:
    case CLI_MOUTH_OWN:
        return write(mouth->fd, bytes, length);
    case CLI_MOUTH_SOCKET:
        return send(mouth->fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    case CLI_MOUTH_PIPE:
        return try_splice(mouth->fd, bytes, length);
    case CLI_MOUTH_OTHER:
        break;
    }
    if (!has_room(mouth->fd, 0)) {
        errno = EAGAIN;
        return -1;
    }
    return write(mouth->fd, bytes, length);
}

void cli_mouth_wait(const struct cli_mouth *mouth, int ms)
{
    (void)has_room(mouth->fd, ms);
}
