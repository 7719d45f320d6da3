/* SPDX-License-Identifier: MIT */
/*
 * All processes that descend from this one, which is a child subreaper: who
 * loses his parent becomes its child, so nobody leaves the tree.
 * Thread: main of the guardian, of the hook's process, or of the wrapper after
 * its guardian died; nothing else may wait for children meanwhile.
 */
#ifndef HF_CLI_TREE_H
#define HF_CLI_TREE_H

#include "src/cli/process.h"

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

#endif
