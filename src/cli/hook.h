/* SPDX-License-Identifier: MIT */
/*
 * --lost-hook: a process that waits to be told of a loss and then runs a line
 * of shell, so that neither the wrapper nor the guardian waits for it, and
 * so that it runs although either of them was stopped or killed. Thread: main
 * of the wrapper, and for cli_hook_order() also of the guardian.
 */
#ifndef HF_CLI_HOOK_H
#define HF_CLI_HOOK_H

#include "src/cli/options.h"
#include "src/cli/signals.h"

#include <sys/types.h>

/* Reasons beside those of hf_strreason(): our own view of the deadline, and a
 * wrapper that was killed. */
#define CLI_HOOK_EXPIRED "expired"
#define CLI_HOOK_DIED    "died"

struct cli_hook {
    pid_t pid;      /* 0: none */
    int fd;         /* -1: none */
    bool is_reaped; /* its pid may be somebody else's */
};

/* Fork it if there is a --lost-hook. While there is one thread, and before
 * the guardian, which inherits the descriptor. 0, or -1 and errno. */
int cli_hook_start(const struct cli_options *, const struct cli_signals *,
                   struct cli_hook *ret_hook);
/* What HOLDFAST_FENCE will be. Never blocks. */
void cli_hook_arm(int fd, uint64_t fence);
/* The lock is lost, or the command is ended for it: run the line, the first
 * time that anybody says so. Never blocks; takes -1. */
void cli_hook_order(int fd, const char *reason);
/* No order will come from this process; wait for what still runs. */
void cli_hook_finish(struct cli_hook *);

#endif
