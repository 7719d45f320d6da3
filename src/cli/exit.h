/* SPDX-License-Identifier: MIT */
/*
 * The exit codes of the command: one list for the program, for `help` and,
 * by a test, for docs/reference.md.
 */
#ifndef HF_CLI_EXIT_H
#define HF_CLI_EXIT_H

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

/* The exit code that tells a status of the library. */
int cli_exit_of(int status);
/* One word for people and programs: "busy", "unavailable". */
const char *cli_outcome_of(int status);

#endif
