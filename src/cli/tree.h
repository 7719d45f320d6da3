/* SPDX-License-Identifier: MIT */
/*
 * One process as /proc shows it, and signals to it that never hit a stranger
 * who got its number; and all processes that descend from this one, which is a
 * child subreaper: who loses his parent becomes its child, so nobody leaves
 * the tree.
 * Thread: a single process any. The walk: main of the guardian, of the hook's
 * process, or of the wrapper after its guardian died; nothing else may wait
 * for children meanwhile.
 */
#ifndef HF_CLI_TREE_H
#define HF_CLI_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cli_process {
    pid_t pid;
    int folder; /* its /proc/PID: of it and of no later one. -1: a child of
                 * ours, whose number stays its own until we wait for it */
};

struct cli_process_stat {
    pid_t parent;
    char state;       /* 'Z': a zombie, or its first thread is one */
    long threads;     /* the zombie first thread counts, too */
    uint64_t started; /* ticks since boot: tells a number's owners apart */
    char name[32];
};

/* False: it is gone. */
bool cli_process_look(const struct cli_process *,
                      struct cli_process_stat *ret_stat);
/* False: it may not be signalled. Gone is as good as signalled. */
bool cli_process_signal(const struct cli_process *, int number);
bool cli_process_lives(const struct cli_process_stat *);
/* The start of a process in ticks since boot; 0: unknown. */
uint64_t cli_process_started(pid_t);

struct cli_tree {
    pid_t except;   /* not this one, and what it started; 0: none */
    uint64_t since; /* only what started then or later; 0: all */
};

typedef void (*cli_tree_fn)(void *arg, const struct cli_process *);

/* Call fn for each descendant, zombies too, parents before their children and
 * our own children first, and be back at that time, with some left out if it
 * must be; INT64_MAX: one round of some 200 ms at most, after which others
 * shall come. -1: /proc cannot be read. What forks meanwhile may be missed, but
 * never all of it: a walk that comes to nobody proves that nobody is left. */
int cli_tree_walk(const struct cli_tree *, int64_t until_ns, cli_tree_fn fn,
                  void *arg);

/* As cli_tree_walk(); but who forks fast enough may be missed as a whole, and
 * INT64_MAX is as long as it takes. */
int cli_scan(const struct cli_tree *, int64_t until_ns, cli_tree_fn fn,
             void *arg);

#endif
