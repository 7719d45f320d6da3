/* SPDX-License-Identifier: MIT */
/*
 * Starting the command, and what is changed for it and given back: signals,
 * the terminal, the priority. The signals of `run` are blocked in both
 * processes and read from a descriptor, so that no handler of ours ever runs,
 * a library's thread never gets one, and PID 1 gets them all. Thread: main of
 * each process; the child, the interrupt listener and the priority are the
 * guardian's and of what it forks.
 */
#ifndef HF_CLI_CHILD_H
#define HF_CLI_CHILD_H

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct cli_priority {
    bool is_raised;
    int policy; /* the rest is what it was */
    struct sched_param param;
    int nice;
    int slack_ns; /* of its timers */
};

/* As high as needed, if we may; children don't get it. */
void cli_priority_raise(struct cli_priority *ret_before);

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

struct cli_terminal {
    int fd;     /* -1: there is none */
    pid_t home; /* the group that the caller put us into: a shell's job; 0: it
                   is outside of our pid namespace, nothing can stop it */
};

void cli_terminal_open(struct cli_terminal *);
/* Is our job in the foreground? False without a terminal. */
bool cli_terminal_is_ours(const struct cli_terminal *);
/* Is that group? */
bool cli_terminal_is_of(const struct cli_terminal *, pid_t group);
/* A job in the background leaves the terminal alone. True if that is no
 * terminal of ours, or the group has the foreground. */
bool cli_terminal_may_draw(int fd, pid_t group);
/* Put a group into the foreground. */
void cli_terminal_give(const struct cli_terminal *, pid_t group);
/* Take it back if `group` has it, or nobody who lives. Gives whether. */
bool cli_terminal_take(const struct cli_terminal *, pid_t group);

struct cli_interrupt_listener {
    pid_t pid; /* 0: none */
    int fd;    /* a byte for each Ctrl-C; -1: none */
};

/* Put an interrupt listener into the group; on failure there is none. */
void cli_interrupt_listener_start(struct cli_interrupt_listener *, pid_t group);
/* How often Ctrl-C was pressed since the last call. Never blocks. */
int cli_interrupt_listener_count(const struct cli_interrupt_listener *);
/* That child was reaped; if it was the interrupt listener, there is none any
 * more. */
void cli_interrupt_listener_reaped(struct cli_interrupt_listener *, pid_t);
/* Ends it; it is reaped like any child. */
void cli_interrupt_listener_stop(struct cli_interrupt_listener *);

struct cli_child_plan {
    char **command;
    bool is_shell;      /* /bin/sh -c command[0] */
    bool is_foreground; /* give it the terminal */
    bool is_of_us;      /* it stays in our process group */
    char *environment;  /* "K=V" strings, or "K" to remove, each NUL-ended */
    size_t length;      /* of all of them */
    const struct cli_signals *signals;
    const struct cli_terminal *terminal;
    const struct cli_priority *priority; /* the caller's; NULL: as ours */
};

/* Start it, in a process group of its own or ours; it dies with its parent.
 * Gives 0, the pid and a descriptor for cli_child_report(), or an errno. */
int cli_child_start(const struct cli_child_plan *, pid_t *ret_pid,
                    int *ret_report);
/* Did exec succeed? -1: not known yet, for exec may hang; else 0 or its
 * errno. Never blocks. */
int cli_child_report(int report);

#endif
