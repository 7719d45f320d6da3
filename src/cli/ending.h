/* SPDX-License-Identifier: MIT */
/*
 * Ending the command and all that it left. Thread: main of the guardian.
 */
#ifndef HF_CLI_ENDING_H
#define HF_CLI_ENDING_H

#include "src/cli/tree.h"

#define CLI_REPORTED_MAX 64

/* Whom the guardian has named already. */
struct cli_reported {
    pid_t pids[CLI_REPORTED_MAX];
    int count;
};

/* TERM, then CONT, to the group and to everybody else in the tree. */
void cli_ending_ask(const struct cli_tree *, pid_t group,
                    struct cli_reported *);
/* KILL to all. */
void cli_ending_kill(const struct cli_tree *, pid_t group,
                     struct cli_reported *);
/* Name those who are left although the command ended. How many. */
int cli_ending_name_left(const struct cli_tree *);

#endif
