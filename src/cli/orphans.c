/* SPDX-License-Identifier: MIT */
/*
 * Decides who was the dead guardian's: the wrapper is a subreaper, too, so
 * they became its children; those that it had before the guardian was born
 * belong to its caller and are left alone. Thread: main.
 */
#include "src/cli/orphans.h"
#include "src/cli/ending.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#define SWEEP_MS 10

void cli_orphans_kill(const struct cli_guardian *guardian, pid_t except,
                      pid_t group)
{
    struct cli_ending ending = {
        .tree = {.root = getpid(),
                 .except = except,
                 .since = guardian->started},
        .group = group,
        .is_reaped = true,
    };

    do {
        cli_ending_kill(&ending);
        while (waitpid(-1, NULL, WNOHANG) > 0) {
            continue;
        }
    } while (cli_tree_signal(&ending.tree, 0, NULL, NULL) > 0 &&
             poll(NULL, 0, SWEEP_MS) == 0);
}
