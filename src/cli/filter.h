/* SPDX-License-Identifier: MIT */
/*
 * A command that reads one thing and writes another, as between two pipes.
 * Thread: main.
 */
#ifndef HF_CLI_FILTER_H
#define HF_CLI_FILTER_H

#include <stddef.h>

/* Run it with *length bytes of `bytes` as its input; its output replaces them,
 * `room` bytes at most. 0; or its exit code, 128 + the signal that ended it,
 * 126 or 127 if it can't be run, 64 if it writes more; the last three are said.
 */
int cli_filter(char **command, char *bytes, size_t *length, size_t room);

#endif
