/* SPDX-License-Identifier: MIT */
/*
 * The process that a shell started, when there is a terminal: it can be
 * stopped and continued as a job while the wrapper, its child, goes on
 * renewing. Without a terminal there is none. Thread: main of the wrapper.
 */
#ifndef HF_CLI_FRONT_H
#define HF_CLI_FRONT_H

#include "src/cli/signals.h"
#include "src/cli/terminal.h"

#include <sys/types.h>

/* Returns in the wrapper, which leaves the group of the job; *ret_front is 0
 * without a terminal. The front returns never. After cli_signals_setup() and
 * while there is one thread. 0, or -1 and errno. */
int cli_front_start(const struct cli_signals *, const struct cli_terminal *,
                    pid_t *ret_front);
/* The command was stopped at the terminal, or for want of it: stop the job,
 * or say how to go on if there is no shell that could continue it. */
void cli_front_stop(pid_t front, const struct cli_terminal *);
/* Stop the front and the wrapper, who only waits. */
void cli_front_stop_all(pid_t front);

#endif
