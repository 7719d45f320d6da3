/* SPDX-License-Identifier: MIT */
/*
 * Files that appear whole or not at all, and how the token of a detached grant
 * passes between two processes: by a file or by the environment, never in argv,
 * which every user can read, and never in a message. Thread: main.
 */
#ifndef HF_CLI_FILE_H
#define HF_CLI_FILE_H

#include "src/cli/options.h"
#include "src/cli/text.h"

#include <stdbool.h>
#include <sys/types.h>

/* Check that the file can be written: it is a plain file, or it does not exist
 * in a folder that takes new files. Returns 0, or 64 after having said why not;
 * `option` is "--status-file". */
int cli_atomic_file_check(const char *option, const char *path);
/* Write the text to a temporary file beside `path` and rename it; says why it
 * cannot. `mode` is subject to the umask. */
void cli_atomic_file_write(const char *option, const char *path,
                           const struct cli_text *text, mode_t mode);

#define CLI_TOKEN_SIZE 33 /* 32 hex digits and NUL */

/* Tell whether the text has the form of a token. */
bool cli_token_is_one(const char *text);
/* Read the token from --token-file, else from HOLDFAST_TOKEN. Returns 0, or the
 * exit code after having said what is wrong. */
int cli_token_read(const struct cli_options *, char ret_token[CLI_TOKEN_SIZE]);

/* Check that --token-file can be written. Returns 0, or 64. */
int cli_token_check(const struct cli_options *);
/* Write --token-file: it appears whole or not at all, and only its owner can
 * read it. `may_replace` lets it replace an existing file. Returns 0, or -1 and
 * errno. */
int cli_token_write(const struct cli_options *, const char *token,
                    bool may_replace);
/* Remove --token-file if it is a plain file. Returns true if it was removed. */
bool cli_token_remove(const struct cli_options *);

#endif
