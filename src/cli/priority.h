/* SPDX-License-Identifier: MIT */
/*
 * Who must act in time goes before those whom it ends. Thread: main of the
 * guardian, and of what it forks.
 */
#ifndef HF_CLI_PRIORITY_H
#define HF_CLI_PRIORITY_H

#include <sched.h>
#include <stdbool.h>

struct cli_priority {
    bool is_raised;
    int policy; /* the rest is what it was */
    struct sched_param param;
    int nice;
    int slack_ns; /* of its timers */
};

/* As high as needed, if we may; children don't get it. */
void cli_priority_raise(struct cli_priority *ret_before);
/* In a child: as it was before. */
void cli_priority_restore(const struct cli_priority *before);

#endif
