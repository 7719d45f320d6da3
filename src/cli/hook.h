/* SPDX-License-Identifier: MIT */
/*
 * Ending the command and all that it left; and --lost-hook: a process that
 * waits to be told of a loss and then runs a line of shell, so that neither
 * the wrapper nor the guardian waits for it, and so that it runs although
 * either of them was stopped or killed. Thread: ending as tree.h; the hook
 * main of the wrapper, and cli_hook_order() also of the guardian.
 */
#ifndef HF_CLI_HOOK_H
#define HF_CLI_HOOK_H

#include "src/cli/child.h"
#include "src/cli/options.h"
#include "src/cli/tree.h"

#include <sys/types.h>

/* More names than this help nobody. */
#define CLI_REPORTED_MAX 64

struct cli_ending {
    struct cli_tree tree;
    pid_t group;                      /* the command's; 0: not known */
    bool is_led;                      /* its leader was not waited for */
    pid_t reported[CLI_REPORTED_MAX]; /* who was named already */
    int reported_count;
};

/* A signal to the command's group. */
void cli_ending_pass(const struct cli_ending *, int number);
/* TERM, then CONT, to the group at once and to everybody else in the tree
 * until that time, or for half a second. `is_naming`: the command ended; name
 * those who are left. */
void cli_ending_ask(struct cli_ending *, int64_t until_ns, bool is_naming);
/* One round of KILL to all. Gives how many it came to, dead ones that nobody
 * waited for among them; 0: nobody is left, or /proc cannot be read. */
int cli_ending_kill(struct cli_ending *);

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
