/* SPDX-License-Identifier: MIT */
/*
 * The controlling terminal and its foreground group. Thread: main of each
 * process; SIGTTOU must be blocked.
 */
#ifndef HF_CLI_TERMINAL_H
#define HF_CLI_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

struct cli_terminal {
    int fd;     /* -1: there is none */
    pid_t home; /* the group that the caller put us into: a shell's job; 0: it
                   is outside of our pid namespace, nothing can stop it */
};

void cli_terminal_open(struct cli_terminal *);
/* Is our job in the foreground? False without a terminal. */
bool cli_terminal_is_ours(const struct cli_terminal *);
/* Is that group? */
bool cli_terminal_is_of(const struct cli_terminal *, pid_t group);
/* A job in the background leaves the terminal alone. True if that is no
 * terminal of ours, or the group has the foreground. */
bool cli_terminal_may_draw(int fd, pid_t group);
/* Put a group into the foreground. */
void cli_terminal_give(const struct cli_terminal *, pid_t group);
/* Take it back if `group` has it, or nobody who lives. Gives whether. */
bool cli_terminal_take(const struct cli_terminal *, pid_t group);

#endif
