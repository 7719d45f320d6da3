/* SPDX-License-Identifier: MIT */
/*
 * Decides when the foreground may change hands: it is given only while it is
 * ours, and taken back only from the group it was given to. Thread: main.
 */
#include "src/cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

void cli_terminal_open(struct cli_terminal *terminal)
{
    terminal->home = getpgrp();
    terminal->fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
}

bool cli_terminal_is_of(const struct cli_terminal *terminal, pid_t group)
{
    return terminal->fd >= 0 && tcgetpgrp(terminal->fd) == group;
}

bool cli_terminal_is_ours(const struct cli_terminal *terminal)
{
    return cli_terminal_is_of(terminal, terminal->home);
}

bool cli_terminal_may_draw(int fd, pid_t group)
{
    pid_t front = tcgetpgrp(fd);

    return front < 0 || front == group;
}

void cli_terminal_give(const struct cli_terminal *terminal, pid_t group)
{
    if (terminal->fd >= 0) {
        (void)tcsetpgrp(terminal->fd, group);
    }
}

bool cli_terminal_take(const struct cli_terminal *terminal, pid_t group)
{
    pid_t now = terminal->fd >= 0 ? tcgetpgrp(terminal->fd) : -1;

    if (now < 0 || now == terminal->home) {
        return false;
    }
    return (now == group || (kill(-now, 0) && errno == ESRCH)) &&
           !tcsetpgrp(terminal->fd, terminal->home);
}
