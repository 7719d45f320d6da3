/* SPDX-License-Identifier: MIT */
/*
 * Files that appear whole or not at all. Thread: main.
 */
#ifndef HF_CLI_WHOLE_H
#define HF_CLI_WHOLE_H

#include "src/cli/text.h"

#include <sys/types.h>

/* Does the folder of that file take a new one? 0, or 64 after having said
 * why; `option` is "--status-file". */
int cli_whole_check_folder(const char *option, const char *path);
/* The same, and that the file is no folder itself. */
int cli_whole_check(const char *option, const char *path);
/* Write it beside and rename it; says why it cannot. `mode` is less the
 * umask. */
void cli_whole_write(const char *option, const char *path,
                     const struct cli_text *text, mode_t mode);

#endif
