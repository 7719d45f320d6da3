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

#define SWEEP_MS 10
/* Nobody dies so fast that we are kept from the next round. */
#define REAP_MAX 1024

void cli_orphans_kill(const struct cli_guardian *guardian, pid_t except,
                      pid_t group)
{
    struct cli_ending ending = {
        .tree = {.except = except, .since = guardian->started},
        .group = group,
    };

    while (cli_ending_kill(&ending) > 0) {
        int left = REAP_MAX;

        (void)poll(NULL, 0, SWEEP_MS);
        while (left > 0 && waitpid(-1, NULL, WNOHANG) > 0) {
            left--;
        }
    }
}
