/* SPDX-License-Identifier: MIT */
/*
 * The answer of a verb on stdout. Thread: main.
 */
#ifndef HF_CLI_OUTPUT_H
#define HF_CLI_OUTPUT_H

#include "src/cli/text.h"

/* Write it all to stdout. Gives `code`, or 70 after having said that stdout
 * took not all of it. */
int cli_output(const struct cli_text *, int code);

#endif
