/* SPDX-License-Identifier: MIT */
/*
 * The signals of `run`. They are blocked in both processes and read from a
 * descriptor, so that no handler of ours ever runs, a library's thread never
 * gets one, and PID 1 gets them all. Thread: main of each process.
 */
#ifndef HF_CLI_SIGNALS_H
#define HF_CLI_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

struct cli_signals {
    sigset_t before;       /* the mask that the caller gave us */
    bool is_child_ignored; /* and whether SIGCHLD was ignored */
    int fd;                /* signalfd */
};

/* Block and open, in the wrapper. What the caller ignores (nohup) stays
 * ignored. 0, or -1 and errno. */
int cli_signals_setup(struct cli_signals *);
/* Block everything that can be blocked, in the guardian; its descriptor
 * gives SIGCHLD. 0, or -1 and errno. */
int cli_signals_guard(struct cli_signals *);
/* As the caller had it, for the command. Async-signal-safe. */
void cli_signals_restore(const struct cli_signals *);
/* The next signal, 0: none. Never blocks. */
int cli_signals_next(const struct cli_signals *);
/* The same, with who sent it. */
struct signalfd_siginfo;
int cli_signals_take(const struct cli_signals *,
                     struct signalfd_siginfo *ret_info);

#endif
