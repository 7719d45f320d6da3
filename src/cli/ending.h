/* SPDX-License-Identifier: MIT */
/*
 * Ending the command and all that it left. Thread: main of the guardian, or
 * of the wrapper after its guardian died.
 */
#ifndef HF_CLI_ENDING_H
#define HF_CLI_ENDING_H

#include "src/cli/tree.h"

/* More names than this help nobody. */
#define CLI_REPORTED_MAX 64

struct cli_ending {
    struct cli_tree tree;
    pid_t group;    /* the command's; 0: not known */
    bool is_reaped; /* its leader was: the number may be a stranger's */
    pid_t reported[CLI_REPORTED_MAX]; /* who was named already */
    int reported_count;
};

/* A signal to the command's group. */
void cli_ending_pass(const struct cli_ending *, int number);
/* TERM, then CONT, to the group and to everybody else in the tree. */
void cli_ending_ask(struct cli_ending *);
/* KILL to all. */
void cli_ending_kill(struct cli_ending *);
/* Name those who are left although the command ended. */
void cli_ending_name_left(const struct cli_ending *);

#endif
