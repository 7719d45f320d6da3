/* SPDX-License-Identifier: MIT */
/*
 * The guardian: the command's parent, which ends the command in time whatever
 * happens to the wrapper. Thread: main of the wrapper.
 */
#ifndef HF_CLI_GUARDIAN_H
#define HF_CLI_GUARDIAN_H

#include "src/cli/channel.h"
#include "src/cli/child.h"
#include "src/cli/options.h"

struct cli_guard_plan {
    const struct cli_options *options;
    const struct cli_signals *signals; /* the wrapper's signals */
    const struct cli_terminal *terminal;
    struct cli_limits limits;
    int hook; /* descriptor for cli_hook_order() */
};

struct cli_guardian {
    pid_t pid;
    int channel;      /* the wrapper's end of the channel */
    uint64_t started; /* ticks since boot */
    bool is_reaped;   /* its pid may belong to another process by now */
};

/* Fork the guardian, while there is one thread and before the store is opened.
 * Returns 0, or -1 and errno. */
int cli_guardian_start(struct cli_guard_plan *,
                       struct cli_guardian *ret_guardian);

#endif
