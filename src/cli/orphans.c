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

void cli_orphans_reap(struct cli_guardian *guardian, struct cli_hook *hook,
                      int left)
{
    pid_t pid;

    do {
        pid = waitpid(-1, NULL, WNOHANG);
        guardian->is_reaped |= pid > 0 && pid == guardian->pid;
        hook->is_reaped |= pid > 0 && pid == hook->pid;
    } while (pid > 0 && --left > 0);
}

void cli_orphans_kill(struct cli_guardian *guardian, struct cli_hook *hook,
                      pid_t group)
{
    struct cli_ending ending = {
        .tree.since = guardian->started,
        .group = group,
    };

    for (;;) {
        ending.tree.except = hook->is_reaped ? 0 : hook->pid;
        if (cli_ending_kill(&ending) <= 0) {
            break;
        }
        (void)poll(NULL, 0, SWEEP_MS);
        cli_orphans_reap(guardian, hook, REAP_MAX);
    }
}
