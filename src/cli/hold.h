/* SPDX-License-Identifier: MIT */
/*
 * Acquires a lock for a verb that starts no command: hold and acquire. Thread:
 * main.
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
    struct cli_claim claim; /* .lock: the lock, once granted */
    struct cli_waiting waiting;
    bool is_started; /* claim and signals are set up */
};

/*
 * Wait for the lock. Returns 0, or the exit code after having said why there is
 * no lock. From then on signals are read from `signals`, never delivered.
 */
int cli_grant_get(const struct cli_options *, struct cli_grant *ret_grant);
/* Release the lock if it is still held, and free everything; also after a
 * failed get. */
void cli_grant_finish(struct cli_grant *);

/* Add `"name":…, … "reach":…,"token":…`, as `who --json` shows the lock; asks
 * the store. The token may be NULL. */
void cli_grant_json(struct cli_text *, const struct cli_grant *,
                    const char *token);
/* Say on stderr that the lock is held, with --verbose. */
void cli_grant_tell(const struct cli_grant *);

#endif
