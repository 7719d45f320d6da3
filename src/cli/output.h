/* SPDX-License-Identifier: MIT */
/*
 * A verb's answer on stdout, and the exit codes: one list for the program, for
 * `help` and, by a test, for docs/reference.md. Thread: main; the codes any.
 */
#ifndef HF_CLI_OUTPUT_H
#define HF_CLI_OUTPUT_H

#include "src/cli/text.h"

#include <stdint.h>

#define CLI_EXIT_MAP(X)                                                        \
    X(DONE, 0, "done; for run: the command's own 0")                           \
    X(NO, 1, "no: free, not yours any more, did not match, unfit")             \
    X(USAGE, 64, "the command line is wrong")                                  \
    X(STORE, 69, "the store cannot be reached or gave no usable answer")       \
    X(INTERNAL, 70, "an internal error")                                       \
    X(MEMORY, 71, "out of memory")                                             \
    X(UNCONFIRMED, 74, "the work is done, its release was not confirmed")      \
    X(BUSY, 75, "busy, timed out, or --once-per; --busy-exit changes it")      \
    X(LOST, 76, "the lock was lost while the command ran; --lost-exit")        \
    X(UNSAFE, 77, "unsafe, not supported, or access denied")                   \
    X(CONFIG, 78, "the configuration is wrong, or there is none to use")       \
    X(MAXRUN, 124, "the command was ended by --max-run")                       \
    X(NOEXEC, 126, "the command cannot be executed")                           \
    X(NOTFOUND, 127, "the command was not found")                              \
    X(SIGNAL, 128, "+n: signal n ended the command, or the wait")

enum cli_exit {
#define CLI_X(name, value, text) CLI_EXIT_##name = value,
    CLI_EXIT_MAP(CLI_X)
#undef CLI_X
};

/* The exit code for a status of the library. */
int cli_exit_of(int status);
/* The outcome as one word: "busy", "unavailable". */
const char *cli_outcome_of(int status);

/* Write all of the text to stdout. Returns `code`, or 70 after having said that
 * stdout did not take all of it. */
int cli_output(const struct cli_text *, int code);
/* The same for the answer that hands a held lock to its reader; returns 0 or
 * 70. It is 70 also if the reader makes no room within some seconds, or within
 * left_ms, after which the lock has expired. */
int cli_output_held(const struct cli_text *, int64_t left_ms);

/* From now on a failure must be answered with an object of JSON. */
void cli_output_owe(void);
/* Before the end: write that object if the code is not 0 and no answer was
 * begun. Returns the code. */
int cli_output_end(int code);

#endif
