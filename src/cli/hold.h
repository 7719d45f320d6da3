/* SPDX-License-Identifier: MIT */
/*
 * A lock for a verb that starts no command: hold and acquire. Thread: main.
 */
#ifndef HF_CLI_HOLD_H
#define HF_CLI_HOLD_H

#include "src/cli/child.h"
#include "src/cli/claim.h"
#include "src/cli/text.h"
#include "src/cli/waiting.h"

struct cli_grant {
    const struct cli_options *options;
    struct cli_store store;
    struct cli_signals signals;
    struct cli_claim claim; /* .lock: the lock, once it is got */
    struct cli_waiting waiting;
    bool is_started; /* claim and signals are there */
};

/*
 * Wait for the lock. 0, or the exit code after having said why there is none.
 * From then on the signals of `signals` are read, never delivered.
 */
int cli_grant_get(const struct cli_options *, struct cli_grant *ret_grant);
/* Release what is still held, and forget all; also after a failed get. */
void cli_grant_finish(struct cli_grant *);

/* `"name":…, … "reach":…,"token":…`, as `who --json` shows the lock; asks
 * the store. The token may be NULL. */
void cli_grant_json(struct cli_text *, const struct cli_grant *,
                    const char *token);
/* With --verbose, one line on stderr. */
void cli_grant_tell(const struct cli_grant *);

#endif
