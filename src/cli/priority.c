/* SPDX-License-Identifier: MIT */
/*
 * Decides by which policy the guardian gets the processor: before all that is
 * not real-time, where the user may (root, or by ulimit -r). Among a thousand
 * processes that want to run it would else have a thousandth. A nice value is
 * not enough: it counts among the processes of one session only, where the
 * kernel groups them so. Thread: main.
 */
#include "src/cli/priority.h"

#include <sys/prctl.h>
#include <sys/resource.h>

void cli_priority_raise(struct cli_priority *ret_before)
{
    const struct sched_param lowest = {.sched_priority = 1};

    ret_before->policy = sched_getscheduler(0);
    ret_before->slack_ns = prctl(PR_GET_TIMERSLACK);
    ret_before->nice = getpriority(PRIO_PROCESS, 0);
    ret_before->is_raised =
        !sched_getparam(0, &ret_before->param) &&
        !ret_before->param.sched_priority && !prctl(PR_GET_SECCOMP) &&
        !sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest);
}

void cli_priority_restore(const struct cli_priority *before)
{
    if (before->is_raised) {
        (void)sched_setscheduler(0, before->policy, &before->param);
        (void)setpriority(PRIO_PROCESS, 0, before->nice);
        /* A real-time process has none, and its children neither. */
        (void)prctl(PR_SET_TIMERSLACK, (unsigned long)before->slack_ns);
    }
}
