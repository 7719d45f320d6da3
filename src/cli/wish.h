/* SPDX-License-Identifier: MIT */
/*
 * What the line wishes of a lock, for the verbs that get one: run, hold and
 * acquire. Thread: main checks; any thread may fill.
 */
#ifndef HF_CLI_WISH_H
#define HF_CLI_WISH_H

#include "include/holdfast.h"
#include "src/cli/options.h"

/* Can there be a lock of this name? 0, or 64 after having said. */
int cli_name_check(const struct cli_options *);
/* The same for all that run, hold and acquire have in common. */
int cli_wish_check(const struct cli_options *);
/* The patience with a holder. */
int64_t cli_wish_wait_ms(const struct cli_options *);
/* All but wait_ms and cancel. */
void cli_wish_fill(const struct cli_options *, hf_acquire_opts *ret_opts);

#endif
