/* SPDX-License-Identifier: MIT */
/*
 * Why the lock was not got, in one line. Thread: main.
 */
#ifndef HF_CLI_FAILURE_H
#define HF_CLI_FAILURE_H

#include "src/cli/claim.h"
#include "src/cli/result.h"

/* Says it, and names outcome and exit code. */
void cli_failure_name(const struct cli_options *, const struct cli_claim *,
                      struct cli_result *);

#endif
