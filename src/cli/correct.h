/* SPDX-License-Identifier: MIT */
/*
 * A wrong `run` line, said together with the line that was meant.
 * Thread: main.
 */
#ifndef HF_CLI_CORRECT_H
#define HF_CLI_CORRECT_H

/* `--` is missing before argv[at]. Gives 64. */
int cli_correct_dashes(char **argv, int argc, int at);
/* The command is missing after argv[0..end). Gives 64. */
int cli_correct_command(char **argv, int end);

#endif
