/* SPDX-License-Identifier: MIT */
/*
 * Files that appear whole or not at all, and the token of a detached grant on
 * its way between two processes: by a file or by the environment, never in
 * argv, which every user can read, and never in a message. Thread: main.
 */
#ifndef HF_CLI_FILE_H
#define HF_CLI_FILE_H

#include "src/cli/options.h"
#include "src/cli/text.h"

#include <stdbool.h>
#include <sys/types.h>

/* May that file be written: is it a plain one, or not there, in a folder that
 * takes a new one? 0, or 64 after having said why not; `option` is
 * "--status-file". */
int cli_atomic_file_check(const char *option, const char *path);
/* Write it beside and rename it; says why it cannot. `mode` is less the
 * umask. */
void cli_atomic_file_write(const char *option, const char *path,
                           const struct cli_text *text, mode_t mode);

#define CLI_TOKEN_SIZE 33 /* 32 hex digits and NUL */

/* Is it of the form of a token? */
bool cli_token_is_one(const char *text);
/* From --token-file, else HOLDFAST_TOKEN. 0, or the exit code after having
 * said what is wrong. */
int cli_token_read(const struct cli_options *, char ret_token[CLI_TOKEN_SIZE]);

/* Could --token-file be written? 0, or 64. */
int cli_token_check(const struct cli_options *);
/* Write --token-file, which appears whole or not at all and is its owner's
 * alone. May it replace a file that is there? 0, or -1 and errno. */
int cli_token_write(const struct cli_options *, const char *token,
                    bool may_replace);
/* Remove --token-file if it is a plain file; true: it is gone. */
bool cli_token_remove(const struct cli_options *);

#endif
