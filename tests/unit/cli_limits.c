/* SPDX-License-Identifier: MIT */
/*
 * The moments at which a command is ended, as docs/reference.md gives them.
 */
#include "src/cli/channel.h"
#include "src/cli/clock.h"
#include "tests/lib/test.h"

#define S  (INT64_C(1000) * CLI_NS_PER_MS)
#define AT (1000 * S)

static struct cli_limits limits(const char *on_lost, int64_t lease_ms)
{
    struct cli_options o = {
        .on_lost = on_lost, .lease_ms = lease_ms, .grace_ms = 5000};
    struct cli_limits found;

    cli_limits_init(&found, &o, o.lease_ms);
    return found;
}

TEST(term_comes_a_grace_before_kill_and_kill_a_margin_before_the_deadline)
{
    struct cli_limits l = limits("term", 30000);

    EXPECT_IS(l.grace_ms, 5000);
    EXPECT_IS(l.margin_ms, 1500);
    EXPECT_IS(cli_limits_kill_ns(&l, AT), AT - 3 * S / 2);
    EXPECT_IS(cli_limits_term_ns(&l, AT), AT - 13 * S / 2);
    EXPECT_IS(cli_limits_first_ns(&l, AT), AT - 13 * S / 2);
    EXPECT_IS(cli_limits_last_ns(&l, AT), AT - 3 * S / 2);
}

TEST(a_short_lease_has_a_sixth_of_it_as_grace_and_a_quarter_second_margin)
{
    struct cli_limits l = limits("term", 1000);

    EXPECT_IS(l.grace_ms, 166);
    EXPECT_IS(l.margin_ms, 250);
    EXPECT(cli_limits_term_ns(&l, AT) > AT - S / 2);
}

TEST(kill_only_has_no_term)
{
    struct cli_limits l = limits("kill", 30000);

    EXPECT_IS(cli_limits_term_ns(&l, AT), INT64_MAX);
    EXPECT_IS(cli_limits_kill_ns(&l, AT), AT - 3 * S / 2);
    EXPECT_IS(cli_limits_first_ns(&l, AT), AT - 3 * S / 2);
}

TEST(who_ignores_a_loss_learns_of_it_at_the_deadline)
{
    struct cli_limits l = limits("ignore", 30000);

    EXPECT_IS(cli_limits_term_ns(&l, AT), INT64_MAX);
    EXPECT_IS(cli_limits_kill_ns(&l, AT), INT64_MAX);
    EXPECT_IS(cli_limits_last_ns(&l, AT), AT);
    EXPECT_IS(cli_limits_first_ns(&l, AT), AT);
}

TEST(without_a_deadline_there_is_no_moment)
{
    static const char *const modes[] = {"term", "kill", "ignore"};

    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct cli_limits l = limits(modes[i], 30000);

        EXPECT_IS(cli_limits_first_ns(&l, INT64_MAX), INT64_MAX);
        EXPECT_IS(cli_limits_last_ns(&l, INT64_MAX), INT64_MAX);
    }
}
