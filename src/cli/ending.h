/* SPDX-License-Identifier: MIT */
/*
 * Ending the command and all that it left. Thread: as tree.h.
 */
#ifndef HF_CLI_ENDING_H
#define HF_CLI_ENDING_H

#include "src/cli/tree.h"

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

#endif
