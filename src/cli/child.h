/* SPDX-License-Identifier: MIT */
/*
 * Starting the command. Thread: main of the guardian.
 */
#ifndef HF_CLI_CHILD_H
#define HF_CLI_CHILD_H

#include "src/cli/priority.h"
#include "src/cli/signals.h"
#include "src/cli/terminal.h"

#include <stddef.h>

struct cli_child_plan {
    char **command;
    bool is_shell;      /* /bin/sh -c command[0] */
    bool is_foreground; /* give it the terminal */
    bool is_of_us;      /* it stays in our process group */
    char *environment;  /* "K=V" strings, or "K" to remove, each NUL-ended */
    size_t length;      /* of all of them */
    const struct cli_signals *signals;
    const struct cli_terminal *terminal;
    const struct cli_priority *priority; /* the caller's; NULL: as ours */
};

/* Start it, in a process group of its own or ours; it dies with its parent.
 * Gives 0, the pid and a descriptor for cli_child_report(), or an errno. */
int cli_child_start(const struct cli_child_plan *, pid_t *ret_pid,
                    int *ret_report);
/* Did exec succeed? -1: not known yet, for exec may hang; else 0 or its
 * errno. Never blocks. */
int cli_child_report(int report);

#endif
