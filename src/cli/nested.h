/* SPDX-License-Identifier: MIT */
/*
 * A run, hold or acquire inside of the command of a run: the environment
 * carries the lock of that one. Thread: main.
 */
#ifndef HF_CLI_NESTED_H
#define HF_CLI_NESTED_H

#include "src/cli/report.h"
#include "src/cli/store.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Is NAME held already by the run around us? Then all is done here: CMD was
 * run under that lock (--reentrant), or it is said why not. True, and the
 * exit code; false: go on as ever. Before the first fork and thread.
 */
bool cli_nested(const struct cli_options *, const struct cli_store *,
                int *ret_code);

#endif
