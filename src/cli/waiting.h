/* SPDX-License-Identifier: MIT */
/*
 * What is said while the lock is held by another, which signals end that wait,
 * and why the lock was not acquired. Thread: main, except for reads of the
 * store, which may block and run on a thread of their own.
 */
#ifndef HF_CLI_WAITING_H
#define HF_CLI_WAITING_H

#include "src/cli/claim.h"
#include "src/cli/report.h"

/* Say why the claim failed, and set outcome and exit code. */
void cli_failure_name(const struct cli_options *, const struct cli_claim *,
                      struct cli_result *);

struct cli_waiting {
    const struct cli_claim *claim; /* NULL: no wait has begun */
    struct cli_worker *worker;
    _Atomic(hf_info *) fresh; /* the last read, until main takes it */
    hf_info *info;            /* the last read that main took */
    int64_t look_ns;          /* when main took it */
    int64_t told_ns;          /* when the last line was written */
    int64_t period_ms;
    int stop_fd;
};

void cli_waiting_start(struct cli_waiting *, const struct cli_claim *);
/* Draw, or write, what is due; returns the milliseconds until the next time. A
 * background job must not draw. */
int cli_waiting_show(struct cli_waiting *, bool may_draw);
/* Handle a signal. *ended_by becomes the first one that ended the wait. Returns
 * true if the waiting process must stop, which harms nobody, since it holds
 * nothing yet. */
bool cli_waiting_hear(const struct cli_claim *, int number, int *ended_by);
/* Erase the line and tell the thread to end. */
void cli_waiting_stop(struct cli_waiting *);
/* Wait for the thread; to be called before the client is closed. */
void cli_waiting_finish(struct cli_waiting *);

#endif
