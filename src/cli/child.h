/* SPDX-License-Identifier: MIT */
/*
 * Starting the command, and what is changed for it and later restored: signals,
 * the terminal, the priority. The signals of `run` are blocked in both
 * processes and read from a descriptor, so that no handler of ours ever runs,
 * none reaches a library's thread, and PID 1 gets them all. Thread: main of
 * each process; only the guardian and what it forks use the child, the
 * interrupt listener and the priority.
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
    int policy; /* this and the fields below: the values before */
    struct sched_param param;
    int nice;
    int slack_ns; /* slack of its timers */
};

/* Raise the priority of this process to real-time if the user may; its children
 * do not inherit it. */
void cli_priority_raise(struct cli_priority *ret_before);

struct cli_signals {
    sigset_t before;       /* the signal mask that the caller gave us */
    bool is_child_ignored; /* the caller ignored SIGCHLD */
    int fd;                /* signalfd */
};

/* Block the signals and open the descriptor, in the wrapper. A signal that the
 * caller ignores (nohup) stays ignored. Returns 0, or -1 and errno. */
int cli_signals_setup(struct cli_signals *);
/* Block every signal that can be blocked, in the guardian; the descriptor then
 * gives SIGCHLD. Returns 0, or -1 and errno. */
int cli_signals_guard(struct cli_signals *);
/* Restore the caller's signal state, for the command. Async-signal-safe. */
void cli_signals_restore(const struct cli_signals *);
/* Returns the next signal, 0: none is pending. Never blocks. */
int cli_signals_next(const struct cli_signals *);
/* The same, and tell who sent it. */
struct signalfd_siginfo;
int cli_signals_take(const struct cli_signals *,
                     struct signalfd_siginfo *ret_info);

struct cli_terminal {
    int fd;     /* -1: no terminal */
    pid_t home; /* the process group we were started in: a shell's job; 0: it is
                   outside of our pid namespace, so nothing can stop it */
};

void cli_terminal_open(struct cli_terminal *);
/* Tell whether our job is in the foreground. False without a terminal. */
bool cli_terminal_is_ours(const struct cli_terminal *);
/* Tell whether that group is in the foreground. */
bool cli_terminal_is_of(const struct cli_terminal *, pid_t group);
/* Tell whether the group may draw on the terminal: a background job must not.
 * True also if `fd` is no terminal of ours. */
bool cli_terminal_may_draw(int fd, pid_t group);
/* Put a group into the foreground. */
void cli_terminal_give(const struct cli_terminal *, pid_t group);
/* Put our own group back into the foreground if `group`, or a group without
 * processes, has it. Tells whether it did. */
bool cli_terminal_take(const struct cli_terminal *, pid_t group);

struct cli_interrupt_listener {
    pid_t pid; /* 0: none */
    int fd;    /* a byte for each Ctrl-C; -1: none */
};

/* Put an interrupt listener into the group; on failure its pid stays 0. */
void cli_interrupt_listener_start(struct cli_interrupt_listener *, pid_t group);
/* How often Ctrl-C was pressed since the last call. Never blocks. */
int cli_interrupt_listener_count(const struct cli_interrupt_listener *);
/* Note that this child was reaped; clears the listener if it was the one. */
void cli_interrupt_listener_reaped(struct cli_interrupt_listener *, pid_t);
/* Kill the listener; it is reaped like any child. */
void cli_interrupt_listener_stop(struct cli_interrupt_listener *);

struct cli_child_plan {
    char **command;
    bool is_shell;      /* /bin/sh -c command[0] */
    bool is_foreground; /* give it the terminal */
    bool is_of_us;      /* keep it in our process group */
    char *environment;  /* "K=V" strings, or "K" to remove, each NUL-ended */
    size_t length;      /* bytes in `environment` */
    const struct cli_signals *signals;
    const struct cli_terminal *terminal;
    const struct cli_priority *priority; /* the caller's priority; NULL: keep
                                            ours */
};

/* Start the command, in a process group of its own or in ours; it dies with its
 * parent. Returns 0, the pid and a descriptor for cli_child_report(), or an
 * errno. */
int cli_child_start(const struct cli_child_plan *, pid_t *ret_pid,
                    int *ret_report);
/* Tell whether exec succeeded: 0 or its errno; -1: not known yet, for exec may
 * hang. Never blocks. */
int cli_child_report(int report);

#endif
