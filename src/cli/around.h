/* SPDX-License-Identifier: MIT */
/*
 * Is this process inside of the command of a run? Thread: main.
 */
#ifndef HF_CLI_AROUND_H
#define HF_CLI_AROUND_H

#include <stdbool.h>
#include <sys/types.h>

/* Is it the guardian of a run? */
bool cli_around_is_guardian(pid_t);
/* Does the run whose wrapper is `holder` have us in its tree, so that its
 * guardian ends us with the rest? Also false where /proc does not show it:
 * in another PID namespace, or to a user who may not see it. */
bool cli_around_is(pid_t holder);

#endif
