/* SPDX-License-Identifier: MIT */
/*
 * The answer of a verb on stdout. Thread: main.
 */
#ifndef HF_CLI_OUTPUT_H
#define HF_CLI_OUTPUT_H

#include "src/cli/text.h"

#include <stdint.h>

/* Write it all to stdout. Gives `code`, or 70 after having said that stdout
 * took not all of it. */
int cli_output(const struct cli_text *, int code);
/* The same of a lock that is held for whoever reads this; 0 or 70, and 70
 * also where nobody makes room for it within some seconds, or within that time,
 * after which the lock is nobody's. */
int cli_output_held(const struct cli_text *, int64_t left_ms);

/* From now on a failure is owed an object of JSON. */
void cli_output_owe(void);
/* Before the end: pay it, if the code is not 0 and nothing was written yet.
 * Gives the code. */
int cli_output_end(int code);

#endif
