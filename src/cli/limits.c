/* SPDX-License-Identifier: MIT */
/*
 * Decides the moments around a deadline: TERM at D - margin - grace and KILL
 * at D - margin; with --on-lost kill no TERM, with ignore neither. Who acts
 * on them is the guardian. Thread: any.
 */
#include "src/cli/limits.h"
#include "src/cli/clock.h"

#include <string.h>

/* A renewal comes at a third of the lease and is tried again each twelfth:
 * a sixth for the grace leaves two more tries before TERM. */
#define GRACE_PART 6
#define MARGIN_MS  250

static int64_t before(int64_t deadline_ns, int64_t ms)
{
    return deadline_ns == INT64_MAX ? INT64_MAX
                                    : deadline_ns - ms * CLI_NS_PER_MS;
}

void cli_limits_init(struct cli_limits *limits, const struct cli_options *o,
                     int64_t lease_ms)
{
    int64_t grace_ms = lease_ms / GRACE_PART;
    int64_t margin_ms = lease_ms / 20;

    grace_ms = grace_ms > o->grace_ms ? o->grace_ms : grace_ms;
    limits->grace_ms = cli_option_given(o, "grace") ? o->grace_ms : grace_ms;
    limits->margin_ms = margin_ms < MARGIN_MS ? MARGIN_MS : margin_ms;
    limits->on_lost = !strcmp(o->on_lost, "ignore") ? CLI_ON_LOST_IGNORE
                      : !strcmp(o->on_lost, "kill") ? CLI_ON_LOST_KILL
                                                    : CLI_ON_LOST_TERM;
}

int64_t cli_limits_term_ns(const struct cli_limits *limits, int64_t deadline_ns)
{
    return limits->on_lost == CLI_ON_LOST_TERM
               ? before(deadline_ns, limits->margin_ms + limits->grace_ms)
               : INT64_MAX;
}

int64_t cli_limits_kill_ns(const struct cli_limits *limits, int64_t deadline_ns)
{
    return limits->on_lost == CLI_ON_LOST_IGNORE
               ? INT64_MAX
               : before(deadline_ns, limits->margin_ms);
}

int64_t cli_limits_last_ns(const struct cli_limits *limits, int64_t deadline_ns)
{
    return limits->on_lost == CLI_ON_LOST_IGNORE
               ? deadline_ns
               : cli_limits_kill_ns(limits, deadline_ns);
}

int64_t cli_limits_first_ns(const struct cli_limits *limits,
                            int64_t deadline_ns)
{
    return limits->on_lost == CLI_ON_LOST_TERM
               ? cli_limits_term_ns(limits, deadline_ns)
               : cli_limits_last_ns(limits, deadline_ns);
}
