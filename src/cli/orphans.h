/* SPDX-License-Identifier: MIT */
/*
 * The wrapper's part when somebody killed the guardian. Thread: main.
 */
#ifndef HF_CLI_ORPHANS_H
#define HF_CLI_ORPHANS_H

#include "src/cli/guardian.h"
#include "src/cli/hook.h"

/* Wait for `left` of the dead at most, and note whether those two are among
 * them. Nothing else waits for just any of the wrapper's children. */
void cli_orphans_reap(struct cli_guardian *, struct cli_hook *, int left);
/* Kill all that the guardian left, and return when it is gone. `group` may
 * be 0: not known; the hook lives on. */
void cli_orphans_kill(struct cli_guardian *, struct cli_hook *, pid_t group);

#endif
