/* SPDX-License-Identifier: MIT */
/*
 * The deterministic simulation: thousands of seeded schedules over the pure
 * core must keep every promise, the same seed must do the same thing, and
 * each mutant must be found. A failing seed replays with --seed N; a number
 * after the harness's arguments is how many schedules to run from there.
 */
#include "tests/lib/test.h"
#include "tests/sim/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { SCHEDULES = 6000, REPLAYS = 200 };

static struct hf__sim sim;

static uint64_t schedules(void)
{
    const char *given = hf__test_args != NULL ? hf__test_args[0] : NULL;

    return given != NULL ? strtoull(given, NULL, 10) : SCHEDULES;
}

TEST_WITHIN(3600, every_schedule_keeps_the_promises)
{
    uint64_t first = hf__test_seed();
    int64_t began_ms = hf__test_now_ms();
    uint64_t n = schedules();

    for (uint64_t seed = first; seed < first + n; seed++) {
        bool is_kept = hf__sim_run(&sim, seed, HF__MUTANT_NONE, HF__RULES_ALL);

        if (!is_kept) {
            hf__sim_report(&sim, seed);
        }
        EXPECT(is_kept);
    }
    printf("# %" PRIu64 " schedules, %" PRId64 " steps, %" PRId64 " ms\n", n,
           sim.steps, hf__test_now_ms() - began_ms);
}

TEST(a_seed_replays_to_the_byte)
{
    uint64_t last = 0;

    for (uint64_t i = 0; i < REPLAYS; i++) {
        uint64_t seed = hf__test_seed() + i;
        uint64_t hash = 0;
        uint64_t lines = 0;

        hf__sim_run(&sim, seed, HF__MUTANT_NONE, HF__RULES_ALL);
        hash = sim.world.hash;
        lines = sim.world.lines;
        hf__sim_run(&sim, seed + 1, HF__MUTANT_NONE, HF__RULES_ALL);
        hf__sim_run(&sim, seed, HF__MUTANT_NONE, HF__RULES_ALL);
        EXPECT_IS(sim.world.hash, hash);
        EXPECT_IS(sim.world.lines, lines);
        EXPECT_MORE(lines, 50);
        EXPECT_NOT(hash, last);
        last = hash;
    }
}

/* A simulation in which nothing bad happens proves nothing. */
TEST(the_schedules_meet_what_they_are_for)
{
    const struct hf__tally *t = &sim.tally;

    for (uint64_t i = 0; i < 500; i++) {
        hf__sim_run(&sim, hf__test_seed() + i, HF__MUTANT_NONE, HF__RULES_ALL);
    }
    printf("# grants %" PRId64 " resettled %" PRId64 " late %" PRId64
           " takeovers %" PRId64 " excused %" PRId64 "\n",
           t->grants, t->resettled, t->late_grants, t->takeovers, t->excused);
    printf("# recovered %" PRId64 " late renewals %" PRId64 " expired %" PRId64
           " refused %" PRId64 " debts %" PRId64 "\n",
           t->recovered, t->late_renewals, t->expired, t->refused, t->debts);
    printf("# slept over the lease %" PRId64 " crashed holding %" PRId64 "\n",
           t->slept_over, t->crashed_holding);
    EXPECT_MORE(t->grants, 500 * 5);
    EXPECT_MORE(t->resettled, 100);
    EXPECT_MORE(t->late_grants, 20);
    EXPECT_MORE(t->takeovers, 100);
    EXPECT_MORE(t->excused, 20);
    EXPECT_MORE(t->recovered, 100);
    EXPECT_MORE(t->late_renewals, 100);
    EXPECT_MORE(t->expired, 100);
    EXPECT_MORE(t->refused, 20);
    EXPECT_MORE(t->debts, 100);
    EXPECT_MORE(t->slept_over, 100);
    EXPECT_MORE(t->crashed_holding, 50);
}

/* ---- mutants ------------------------------------------------------------ */

/* The mutant must break one of these rules within so many seeds. */
static void must_find(enum hf__mutant mutant, unsigned rules, uint64_t within)
{
    bool is_found = false;
    uint64_t tried = 0;

    while (!is_found && tried < within) {
        is_found = !hf__sim_run(&sim, hf__test_seed() + tried++, mutant, rules);
    }
    printf("# %s after %" PRIu64 " seeds: %s\n",
           is_found ? "found" : "NOT FOUND", tried, sim.oracle.text);
    EXPECT(is_found);
}

TEST(a_lease_counted_from_the_reply_is_found)
{
    must_find(HF__MUTANT_LEASE_FROM_REPLY, HF__RULES_ALL, 100);
    must_find(HF__MUTANT_LEASE_FROM_REPLY, HF__RULE_OWNERSHIP, 100);
    must_find(HF__MUTANT_LEASE_FROM_REPLY, HF__RULE_EXCLUSION, 500);
}

TEST(a_release_without_owner_check_is_found)
{
    must_find(HF__MUTANT_RELEASE_ANYBODY, HF__RULE_ROW, 100);
    must_find(HF__MUTANT_RELEASE_ANYBODY, HF__RULE_OWNERSHIP, 200);
    must_find(HF__MUTANT_RELEASE_ANYBODY, HF__RULE_EXCLUSION, 500);
}

TEST(a_fence_that_starts_again_is_found)
{
    must_find(HF__MUTANT_FENCE_RESET, HF__RULE_ROW, 100);
    must_find(HF__MUTANT_FENCE_RESET, HF__RULE_FENCE, 100);
}

TEST(a_revived_grant_is_found)
{
    must_find(HF__MUTANT_REVIVES, HF__RULE_FINAL, 200);
    must_find(HF__MUTANT_REVIVES, HF__RULE_REVIVAL, 500);
    must_find(HF__MUTANT_REVIVES, HF__RULE_EXCLUSION, 1000);
}

TEST(a_renewal_without_owner_check_is_found)
{
    must_find(HF__MUTANT_RENEW_ANYBODY, HF__RULE_ROW, 100);
    must_find(HF__MUTANT_RENEW_ANYBODY, HF__RULE_OWNERSHIP, 1000);
    must_find(HF__MUTANT_RENEW_ANYBODY, HF__RULE_EXCLUSION, 2000);
}

TEST(a_clock_that_stops_in_suspend_is_found)
{
    must_find(HF__MUTANT_CLOCK_STOPS, HF__RULE_OWNERSHIP, 100);
    must_find(HF__MUTANT_CLOCK_STOPS, HF__RULE_EXCLUSION, 500);
}

TEST(a_token_used_twice_is_found)
{
    must_find(HF__MUTANT_TOKEN_REUSED, HF__RULES_ALL, 100);
    must_find(HF__MUTANT_TOKEN_REUSED, HF__RULE_EXCLUSION, 1000);
}

TEST(a_lease_without_margin_for_drift_is_found)
{
    must_find(HF__MUTANT_NO_MARGIN, HF__RULE_OWNERSHIP, 2000);
}

TEST(a_renewal_after_the_end_is_found)
{
    must_find(HF__MUTANT_RENEWS_BLINDLY, HF__RULE_RENEW_SENT, 100);
}

TEST(a_client_that_does_not_renew_is_found)
{
    must_find(HF__MUTANT_NEVER_RENEWS, HF__RULE_HEALTHY, 100);
}

TEST(a_lease_that_never_ends_is_found)
{
    must_find(HF__MUTANT_NEVER_EXPIRES, HF__RULE_LIVENESS, 100);
}
