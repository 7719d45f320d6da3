/* SPDX-License-Identifier: MIT */
/*
 * The command line, checked against the tables of options.h. Thread: main.
 */
#ifndef HF_CLI_ARGS_H
#define HF_CLI_ARGS_H

#include "src/cli/options.h"

/* Fills the options from argv. 0, or the exit code after having said what is
 * wrong; is_json is right in either case. The strings stay argv's. */
int cli_parse(int argc, char **argv, struct cli_options *ret_options);
/* The option of that name for a verb; NULL: there is none. */
const struct cli_option *cli_option_find(enum cli_verb_id, const char *name,
                                         size_t length);
/* 0 to CLI_VERBS - 1, or CLI_VERBS. */
enum cli_verb_id cli_verb_find(const char *word);
/* "run, who, ls, …" in buf. */
const char *cli_verb_list(char *buf, size_t size);

#endif
