/* SPDX-License-Identifier: MIT */
/*
 * One process as /proc shows it, and signals that never hit another process
 * that got its pid; and all processes that descend from this one. This process
 * is a child subreaper: a descendant that loses its parent becomes its child,
 * so none leaves the tree.
 * Thread: any for a single process; the walk: main of the guardian, of the
 * hook's process, or of the wrapper after its guardian died; nothing else may
 * wait for children meanwhile.
 */
#ifndef HF_CLI_TREE_H
#define HF_CLI_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cli_process {
    pid_t pid;
    int folder; /* its open /proc/PID, which refers to no later process. -1: a
                   child of ours, whose pid is its own until we reap it */
};

struct cli_process_stat {
    pid_t parent;
    char state;       /* 'Z': a zombie, or only its first thread is one */
    long threads;     /* a first thread that is a zombie counts, too */
    uint64_t started; /* ticks since boot: tells processes with the same pid
                         apart */
    char name[32];
};

/* Read the process's state. Returns false if it is gone. */
bool cli_process_look(const struct cli_process *,
                      struct cli_process_stat *ret_stat);
/* Send a signal. Returns false if we may not signal the process; true also if
 * it is gone. */
bool cli_process_signal(const struct cli_process *, int number);
bool cli_process_lives(const struct cli_process_stat *);
/* Returns the start of a process in ticks since boot; 0: unknown. */
uint64_t cli_process_started(pid_t);

struct cli_tree {
    pid_t except;   /* a child to leave out, with its tree; 0: none */
    uint64_t since; /* only processes that started then or later; 0: all */
};

typedef void (*cli_tree_fn)(void *arg, const struct cli_process *);

/* Call fn for each descendant, zombies too, parents before their children and
 * our own children first. Returns by until_ns, leaving some out if it must;
 * INT64_MAX: one round of at most some 200 ms, to be followed by others.
 * Returns -1 if /proc cannot be read. Processes that fork meanwhile may be
 * missed, but never all of them: a walk that finds none proves that none is
 * left. */
int cli_tree_walk(const struct cli_tree *, int64_t until_ns, cli_tree_fn fn,
                  void *arg);

/* As cli_tree_walk(); but a set of processes that forks fast enough may be
 * missed entirely, and INT64_MAX means no limit of time. */
int cli_scan(const struct cli_tree *, int64_t until_ns, cli_tree_fn fn,
             void *arg);

#endif
