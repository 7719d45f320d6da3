/* SPDX-License-Identifier: MIT */
/*
 * Parses the command line by the tables of options.h. Thread: main.
 */
#ifndef HF_CLI_ARGS_H
#define HF_CLI_ARGS_H

#include "src/cli/options.h"

/* Fills the options from argv. Returns 0, or the exit code after having said
 * what is wrong; is_json is set correctly in either case. The strings stay
 * argv's. */
int cli_parse(int argc, char **argv, struct cli_options *ret_options);

#endif
