/* SPDX-License-Identifier: MIT */
/*
 * What is said while somebody else holds the lock, which signals end that
 * wait, and why the lock was not got. Thread: main, but for the looks at the
 * store, which may block and have a thread of their own.
 */
#ifndef HF_CLI_WAITING_H
#define HF_CLI_WAITING_H

#include "src/cli/claim.h"
#include "src/cli/report.h"

/* Says it, and names outcome and exit code. */
void cli_failure_name(const struct cli_options *, const struct cli_claim *,
                      struct cli_result *);

struct cli_waiting {
    const struct cli_claim *claim; /* NULL: nobody waits */
    struct cli_worker *worker;
    _Atomic(hf_info *) fresh; /* the last look, until main takes it */
    hf_info *info;            /* main's */
    int64_t look_ns;          /* when that was taken */
    int64_t told_ns;          /* when a line was written last */
    int64_t period_ms;
    int stop_fd;
};

void cli_waiting_start(struct cli_waiting *, const struct cli_claim *);
/* Draw, or write, what is due; gives the milliseconds to the next time. A
 * job in the background must not draw. */
int cli_waiting_show(struct cli_waiting *, bool may_draw);
/* A signal came. *ended_by becomes the first that ended the wait. True: who
 * waits shall stop; nothing is held yet, so that this harms nobody. */
bool cli_waiting_hear(const struct cli_claim *, int number, int *ended_by);
/* No line any more; the thread is told to end. */
void cli_waiting_stop(struct cli_waiting *);
/* Wait for the thread; before the client is closed. */
void cli_waiting_finish(struct cli_waiting *);

#endif
