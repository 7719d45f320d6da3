/* SPDX-License-Identifier: MIT */
/*
 * The wrapper's part when somebody killed the guardian. Thread: main.
 */
#ifndef HF_CLI_ORPHANS_H
#define HF_CLI_ORPHANS_H

#include "src/cli/guardian.h"

/* Kill all that the guardian left, and return when it is gone. `group` may
 * be 0: not known; `except` lives on (0: nobody). */
void cli_orphans_kill(const struct cli_guardian *, pid_t except, pid_t group);

#endif
