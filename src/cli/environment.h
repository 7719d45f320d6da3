/* SPDX-License-Identifier: MIT */
/*
 * What the command is told about its lock. Thread: main.
 */
#ifndef HF_CLI_ENVIRONMENT_H
#define HF_CLI_ENVIRONMENT_H

#include "src/cli/claim.h"
#include "src/cli/text.h"

#define CLI_ENVIRONMENT_PASSWORD "HOLDFAST_PASSWORD"

/* What becomes of the store's password: nothing, or its name, which takes it
 * away, ended by NUL. */
void cli_environment_guard(struct cli_text *, const struct cli_options *);
/* That, and "K=V" strings, each ended by NUL. */
void cli_environment_fill(struct cli_text *, const struct cli_claim *,
                          int64_t deadline_ns);

#endif
