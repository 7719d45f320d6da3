/* SPDX-License-Identifier: MIT */
/*
 * A thread of the command, for one call that may block. Thread: main.
 */
#ifndef HF_CLI_WORKER_H
#define HF_CLI_WORKER_H

struct cli_worker;

/* Runs fn(arg) with all signals blocked. NULL: there can be no thread. */
struct cli_worker *cli_worker_start(void (*fn)(void *), void *arg);
/* Nobody waits for it: the process is about to end. */
void cli_worker_leave(struct cli_worker *);
/* Waits for its end and frees it. Takes NULL. */
void cli_worker_join(struct cli_worker *);

#endif
