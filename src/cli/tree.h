/* SPDX-License-Identifier: MIT */
/*
 * All processes that descend from one, found in /proc, and signals to them.
 * The root is a child subreaper, so that whoever loses his parent becomes
 * the root's child: nobody leaves the tree. Thread: main of the guardian, or
 * of the wrapper after its guardian died.
 */
#ifndef HF_CLI_TREE_H
#define HF_CLI_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cli_process {
    pid_t pid;
    pid_t parent;
    pid_t group;
    char state;   /* 'Z': a zombie, or its first thread is one */
    long threads; /* the zombie first thread counts, too */
    bool is_ours;
    uint64_t started; /* ticks since boot: tells a pid's owners apart */
    char name[32];
};

struct cli_tree {
    pid_t root;
    pid_t except;   /* and not this process; 0: none */
    pid_t passed;   /* and not this group; 0: none */
    uint64_t since; /* only what started then or later; 0: all */
};

/* Called for each living descendant; `is_denied`: it may not be signalled. */
typedef void (*cli_tree_fn)(void *arg, const struct cli_process *,
                            bool is_denied);

/* Send `number` to each living descendant (0: only look) and tell `fn` of
 * each, which may be NULL. Gives how many there are; -1: /proc cannot be
 * read. */
int cli_tree_signal(const struct cli_tree *, int number, cli_tree_fn fn,
                    void *arg);
/* The start of a process in ticks since boot; 0: unknown. */
uint64_t cli_tree_started(pid_t);

#endif
