/* SPDX-License-Identifier: MIT */
/*
 * Files that appear whole or not at all. Thread: main.
 */
#ifndef HF_CLI_WHOLE_H
#define HF_CLI_WHOLE_H

#include "src/cli/text.h"

#include <stdbool.h>
#include <sys/types.h>

/* May that file be written: is it a plain one, or not there, in a folder that
 * takes a new one? 0, or 64 after having said why not; `option` is
 * "--status-file". */
int cli_whole_check(const char *option, const char *path);
/* Give the draft that name; false and errno: EEXIST where something else than
 * a plain file has it. */
bool cli_whole_replace(const char *draft, const char *path);
/* Write it beside and rename it; says why it cannot. `mode` is less the
 * umask. */
void cli_whole_write(const char *option, const char *path,
                     const struct cli_text *text, mode_t mode);

#endif
