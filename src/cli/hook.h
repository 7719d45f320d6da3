/* SPDX-License-Identifier: MIT */
/*
 * Ends the command and all processes that it left. Also runs --lost-hook: a
 * process waits to be told of a loss and then runs a line of shell, so that
 * neither the wrapper nor the guardian waits for it, and it runs even if either
 * of them was stopped or killed. Thread: ending as tree.h; the hook main of the
 * wrapper, and cli_hook_order() also of the guardian.
 */
#ifndef HF_CLI_HOOK_H
#define HF_CLI_HOOK_H

#include "src/cli/child.h"
#include "src/cli/options.h"
#include "src/cli/tree.h"

#include <sys/types.h>

/* The most processes that are ever named. */
#define CLI_REPORTED_MAX 64

struct cli_ending {
    struct cli_tree tree;
    pid_t group;                      /* the command's group; 0: not known */
    bool is_led;                      /* its leader is not reaped yet */
    pid_t reported[CLI_REPORTED_MAX]; /* processes that were named already */
    int reported_count;
};

/* Send a signal to the command's group. */
void cli_ending_pass(const struct cli_ending *, int number);
/* Send TERM, then CONT, to the group at once and to all other processes in the
 * tree; stop at until_ns, and after half a second at the latest. `is_naming`:
 * the command ended; name the processes that are left. */
void cli_ending_ask(struct cli_ending *, int64_t until_ns, bool is_naming);
/* Send KILL to all processes, in one round. Returns how many were found,
 * zombies included; 0: no process is left; also 0 if /proc cannot be read. */
int cli_ending_kill(struct cli_ending *);

/* Reasons in addition to those of hf_strreason(): the deadline passed by our
 * own clock, and the wrapper was killed. */
#define CLI_HOOK_EXPIRED "expired"
#define CLI_HOOK_DIED    "died"

struct cli_hook {
    pid_t pid;      /* 0: no hook */
    int fd;         /* -1: no hook */
    bool is_reaped; /* its pid may belong to another process by now */
};

/* Fork the hook's process if --lost-hook is given, while there is one thread
 * and before the guardian, which inherits the descriptor. Returns 0, or -1 and
 * errno. */
int cli_hook_start(const struct cli_options *, const struct cli_signals *,
                   struct cli_hook *ret_hook);
/* Tell the hook what HOLDFAST_FENCE will be. Never blocks. */
void cli_hook_arm(int fd, uint64_t fence);
/* Tell the hook that the lock is lost, or the command ended because of it: the
 * first such message runs the line. Never blocks; takes -1. */
void cli_hook_order(int fd, const char *reason);
/* Close our end, so that no message comes from this process, and wait until the
 * hook's process has ended. */
void cli_hook_finish(struct cli_hook *);

#endif
