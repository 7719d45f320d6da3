/* SPDX-License-Identifier: MIT */
/*
 * What the end of the command is called. Thread: main.
 */
#ifndef HF_CLI_OUTCOME_H
#define HF_CLI_OUTCOME_H

#include "src/cli/result.h"

/* Exec failed with an errno (then this says so), or the command ended with
 * this status as of wait(). */
void cli_outcome_child(const struct cli_options *, int exec_errno, int status,
                       struct cli_result *result);

#endif
