/* SPDX-License-Identifier: MIT */
/*
 * What the line wishes of a lock, for the verbs that get one: run, hold and
 * acquire. Thread: main checks; any thread may fill.
 */
#ifndef HF_CLI_WISH_H
#define HF_CLI_WISH_H

#include "include/holdfast.h"
#include "src/cli/options.h"

/* Ending a command in time needs a lease that long. */
#define CLI_RUN_LEASE_MIN_MS 1000

/* Can there be such a lock, for run, hold and acquire? 0, or 64 after having
 * said. */
int cli_wish_check(const struct cli_options *);
/* Does it fit the store: does a lock there exclude anybody, and may it have
 * the lease of all grants there? HF_OK, or a status and why. */
int cli_wish_fits(const struct cli_options *, const hf_caps_info *,
                  hf_error *ret_err);
/* The patience with a holder. */
int64_t cli_wish_wait_ms(const struct cli_options *);
/* All but wait_ms and cancel. */
void cli_wish_fill(const struct cli_options *, hf_acquire_opts *ret_opts);

/* What became of the lock, for --once-per and --once-key. */
enum cli_wish_end {
    CLI_WISH_UNUSED, /* nothing was started under it */
    CLI_WISH_FAILED,
    CLI_WISH_USED
};

/* Take the mark of the start back if this end does not count as one; says if
 * that failed. Before the release. Blocks. */
void cli_wish_settle(const struct cli_options *, hf_lock *, enum cli_wish_end);

#endif
