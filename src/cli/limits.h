/* SPDX-License-Identifier: MIT */
/*
 * When a command must end: the moments that follow from the options and from
 * the deadline of the lock. Pure. Thread: any.
 */
#ifndef HF_CLI_LIMITS_H
#define HF_CLI_LIMITS_H

#include "src/cli/options.h"

enum cli_on_lost { CLI_ON_LOST_TERM, CLI_ON_LOST_KILL, CLI_ON_LOST_IGNORE };

struct cli_limits {
    enum cli_on_lost on_lost;
    int64_t grace_ms;  /* between TERM and KILL */
    int64_t margin_ms; /* between KILL and the deadline */
};

/* Of a grant with this lease: the option's, or the store's own. */
void cli_limits_init(struct cli_limits *, const struct cli_options *,
                     int64_t lease_ms);
/* With this deadline TERM, and KILL, is due then; INT64_MAX: never. */
int64_t cli_limits_term_ns(const struct cli_limits *, int64_t deadline_ns);
int64_t cli_limits_kill_ns(const struct cli_limits *, int64_t deadline_ns);
/* The first moment at which a command would feel the deadline. A command
 * that cannot be started before it is not started. */
int64_t cli_limits_first_ns(const struct cli_limits *, int64_t deadline_ns);
int64_t cli_limits_last_ns(const struct cli_limits *, int64_t deadline_ns);

#endif
