/* SPDX-License-Identifier: MIT */
/*
 * Runs CMD under a lock that somebody else holds and guards. Thread: main.
 */
#ifndef HF_CLI_PASSAGE_H
#define HF_CLI_PASSAGE_H

#include "src/cli/result.h"

/* Run it and wait for its end. */
void cli_passage(const struct cli_options *, struct cli_result *result);

#endif
