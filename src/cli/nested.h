/* SPDX-License-Identifier: MIT */
/*
 * A run, hold or acquire inside the command of a run, whose lock is known from
 * the environment. Thread: main.
 */
#ifndef HF_CLI_NESTED_H
#define HF_CLI_NESTED_H

#include "src/cli/report.h"
#include "src/cli/store.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Check whether the run around us already holds NAME. If so, all is done here:
 * CMD ran under that lock (--reentrant), or the reason why not was given;
 * returns true and the exit code. False: proceed as usual. To be called before
 * the first fork and thread.
 */
bool cli_nested(const struct cli_options *, const struct cli_store *,
                int *ret_code);

#endif
