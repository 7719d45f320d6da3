/* SPDX-License-Identifier: MIT */
/*
 * Have the oracles teeth? Each mutant of mutants.h must break one of its
 * rules within as many schedules as a run of the tests has; the one that
 * survives is named. How many it took is printed.
 */
#include "tests/lib/test.h"
#include "tests/sim/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUDGET = 10000 };

static const struct {
    const char *name;
    const char *text;
    unsigned rules;
} mutants[HF__MUTANTS] = {
#define HF_X(name, text, rules) [HF__MUTANT_##name] = {#name, text, rules},
    HF__MUTANT_MAP(HF_X)
#undef HF_X
};

static struct hf__sim sim;

/* How many schedules it took; 0: it survived. */
static uint64_t find(enum hf__mutant mutant, unsigned rules)
{
    for (uint64_t i = 0; i < BUDGET; i++) {
        if (!hf__sim_run(&sim, hf__test_seed() + i, mutant, rules)) {
            return i + 1;
        }
    }
    return 0;
}

TEST_WITHIN(120, every_mutant_is_found)
{
    int survivors = 0;

    for (int i = HF__MUTANT_NONE + 1; i < HF__MUTANTS; i++) {
        uint64_t tried = find((enum hf__mutant)i, mutants[i].rules);

        printf("# %s: %s after %" PRIu64 ": %s\n", mutants[i].name,
               tried > 0 ? "found" : "SURVIVES", tried, sim.oracle.text);
        survivors += tried == 0;
    }
    EXPECT_IS(survivors, 0);
}

/* Each rule by itself: none leans on another that flags the same history
 * first. Above all two clients inside at once, which is what it is about. */
static const struct {
    enum hf__mutant mutant;
    unsigned rule;
} pairs[] = {
#define PAIR(mutant, rule)                                                     \
    {                                                                          \
        HF__MUTANT_##mutant, HF__RULE_##rule                                   \
    }
    PAIR(LEASE_FROM_REPLY, EXCLUSION),
    PAIR(CLOCK_STOPS, EXCLUSION),
    PAIR(WALL_CLOCK, EXCLUSION),
    PAIR(TOKEN_REUSED, EXCLUSION),
    PAIR(REVIVES, EXCLUSION),
    PAIR(RELEASE_ORDER, EXCLUSION),
    PAIR(SESSION_OUTLIVED, EXCLUSION),
    PAIR(RELEASE_ANYBODY, EXCLUSION),
    PAIR(RENEW_ANYBODY, EXCLUSION),
    PAIR(COUNTS_RESTARTED, EXCLUSION),
    PAIR(MINORITY, EXCLUSION),
    PAIR(OLD_NOW_SHORTENS, EXCLUSION),
    PAIR(NO_MARGIN, OWNERSHIP),
    PAIR(LIVENESS_BY_NAME, OWNERSHIP),
    PAIR(FENCE_RESET, FENCE),
    PAIR(FENCE_COUNTS, FENCE),
    PAIR(FENCE_BEFORE_RAISE, FENCE),
    PAIR(FENCE_RESET, RESOURCE),
    PAIR(FENCE_BEFORE_RAISE, RESOURCE),
    PAIR(LEASE_FROM_REPLY, UPDATE),
    PAIR(RELEASE_ANYBODY, UPDATE),
    PAIR(RENEW_ANYBODY, RENEWAL),
    PAIR(LAPSED_KEEPS_FENCE, RENEWAL),
    PAIR(RELEASE_ANYBODY, RELEASE),
    PAIR(RELEASE_ANYBODY, ROW),
    PAIR(RENEW_ANYBODY, ROW),
    PAIR(REVIVES, FINAL),
    PAIR(REVIVES, REVIVAL),
    PAIR(RENEWS_BLINDLY, RENEW_SENT),
    PAIR(NEVER_EXPIRES, HEALED),
    PAIR(NO_OFFER_TTL, HEALED),
    PAIR(WAITS_FOR_ANSWER, WAIT),
    PAIR(GRANT_OUTLIVES_SESSION, IDLE),
    PAIR(SHARED_SESSION, HEALTHY),
    PAIR(NO_RETRY, DUTY),
    PAIR(NO_GIVE_BACK, DUTY),
    PAIR(HOLDS_PAST_LIMIT, LIMIT),
    PAIR(ADOPTS_BLINDLY, EXCLUSION),
    PAIR(QUEUE_JUMPS, ORDER),
    PAIR(NO_GIVE_BACK, LEAK),
    PAIR(LATE_GRANT_KEPT, LEAK),
    PAIR(TICKET_FOR_EVER, IDLE),
    PAIR(BARGES, ORDER),
    PAIR(HANDS_PAST_LINE, ORDER),
    PAIR(TICKET_KEPT, LEAK),
    PAIR(SLOT_TOO_MANY, EXCLUSION),
    PAIR(SLOT_TWICE, EXCLUSION),
    PAIR(SHARED_FENCE_STAYS, FENCE),
    PAIR(KEEPS_ABOVE, HEALED),
    PAIR(KEEPS_PART, LEAK),
    PAIR(NO_UNDO, MENDING),
    PAIR(UNDOES_FENCE, FENCE),
#undef PAIR
};

TEST_WITHIN(180, each_rule_by_itself_finds_a_mutant)
{
    unsigned found = 0;

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        uint64_t tried = find(pairs[i].mutant, pairs[i].rule);

        printf("# %s by rule %#x after %" PRIu64 "\n",
               mutants[pairs[i].mutant].name, pairs[i].rule, tried);
        found |= tried > 0 ? pairs[i].rule : 0;
        EXPECT_MORE(tried, 0);
    }
    EXPECT_IS(found, HF__RULES_ALL);
}
