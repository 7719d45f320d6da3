/* SPDX-License-Identifier: MIT */
/*
 * The mutants: broken variants of the client's driver, of the way it uses the
 * core, and of the stores, each with the rules of which it must break one.
 * They are the branches on plan->mutant in this folder. Mutants of a store's
 * own statements, which need a real one, are in tests/contract/mutants.c;
 * CONTRIBUTING.md says which listed mutant lives where.
 */
#ifndef HF_TESTS_SIM_MUTANTS_H
#define HF_TESTS_SIM_MUTANTS_H

/* The rules; a set of them is watched. In brackets, PROTOCOLS' names. */
#define HF__RULE_EXCLUSION  0x00001u /* M1, I1: two never hold the name */
#define HF__RULE_OWNERSHIP  0x00002u /* M1: who holds it owns the lease */
#define HF__RULE_FENCE      0x00004u /* M2, I2: fences are a witness order */
#define HF__RULE_RESOURCE   0x00008u /* M3: a fenced resource sees that order */
#define HF__RULE_UPDATE     0x00010u /* M4: no update is lost without a fence */
#define HF__RULE_RENEWAL    0x00020u /* M5: who renews was not superseded */
#define HF__RULE_RELEASE    0x00040u /* M6: it frees one's own, and once */
#define HF__RULE_ROW        0x00080u /* only the owner changes a live record */
#define HF__RULE_FINAL      0x00100u /* lost and released are final */
#define HF__RULE_REVIVAL    0x00200u /* what was not held is not held again */
#define HF__RULE_RENEW_SENT 0x00400u /* none after the deadline, a release */
#define HF__RULE_HEALED     0x00800u /* L1: faults over, it is given again */
#define HF__RULE_WAIT       0x01000u /* L2: a timed claim ends in its time */
#define HF__RULE_IDLE       0x02000u /* L3: free and wanted is soon given */
#define HF__RULE_HEALTHY    0x04000u /* faults over, no renewed lock is lost */
#define HF__RULE_ORDER      0x08000u /* F1: a line is served in its order */
#define HF__RULE_LEAK       0x10000u /* R1: at its end nothing is left */
#define HF__RULE_LIMIT      0x20000u /* nobody holds past max_hold */
#define HF__RULE_DUTY       0x40000u /* what the core must leave to do */
#define HF__RULE_MENDING    0x80000u /* who holds it may have it anywhere */
#define HF__RULES_ALL       0xfffffu
#define HF__RULES_BOTH_HOLD (HF__RULE_EXCLUSION | HF__RULE_OWNERSHIP)

/* X(name, what it does, rules). */
#define HF__MUTANT_MAP(X)                                                      \
    X(LEASE_FROM_REPLY, "the lease is counted from the reply",                 \
      HF__RULES_BOTH_HOLD)                                                     \
    X(NO_MARGIN, "the lease is believed to its last moment",                   \
      HF__RULES_BOTH_HOLD)                                                     \
    X(CLOCK_STOPS, "the client's clock stops in suspend", HF__RULES_BOTH_HOLD) \
    X(WALL_CLOCK, "the lease is counted on the wall clock",                    \
      HF__RULES_BOTH_HOLD)                                                     \
    X(TOKEN_REUSED, "a token is used for two claims", HF__RULES_BOTH_HOLD)     \
    X(REVIVES, "held after lost: a late renewal is believed",                  \
      HF__RULE_FINAL | HF__RULE_REVIVAL)                                       \
    X(RENEWS_BLINDLY, "a renewal is sent after the deadline",                  \
      HF__RULE_RENEW_SENT)                                                     \
    X(NEVER_RENEWS, "nothing is renewed", HF__RULE_HEALTHY)                    \
    X(SHARED_SESSION, "renewals wait behind claims in one session",            \
      HF__RULE_HEALTHY)                                                        \
    X(RELEASE_ORDER, "the release is sent before the claim to hold ends",      \
      HF__RULES_BOTH_HOLD)                                                     \
    X(NO_GIVE_BACK, "what was given up is not given back", HF__RULE_LEAK)      \
    X(LATE_GRANT_KEPT, "a grant that comes late is not given back",            \
      HF__RULE_LEAK)                                                           \
    X(WAITS_FOR_ANSWER, "a timed claim waits for the store's answer",          \
      HF__RULE_WAIT)                                                           \
    X(SESSION_OUTLIVED, "a grant is believed after its session was closed",    \
      HF__RULES_BOTH_HOLD)                                                     \
    X(RELEASE_ANYBODY, "no owner check at release",                            \
      HF__RULE_ROW | HF__RULE_RELEASE)                                         \
    X(RENEW_ANYBODY, "no owner check at renewal",                              \
      HF__RULE_ROW | HF__RULE_RENEWAL)                                         \
    X(FENCE_RESET, "a release resets the fence", HF__RULE_FENCE)               \
    X(FENCE_COUNTS, "the fence is a counter that is lost with the data",       \
      HF__RULE_FENCE)                                                          \
    X(LAPSED_KEEPS_FENCE, "a lapsed record, claimed again, keeps its fence",   \
      HF__RULE_FENCE | HF__RULE_RENEWAL)                                       \
    X(NEVER_EXPIRES, "a lease never ends", HF__RULE_HEALED | HF__RULE_IDLE)    \
    X(OLD_NOW_SHORTENS, "a statement that was held up shortens the lease",     \
      HF__RULES_BOTH_HOLD)                                                     \
    X(LIVENESS_BY_NAME, "a holder's life is seen by the name's, not its own",  \
      HF__RULES_BOTH_HOLD | HF__RULE_ROW | HF__RULE_IDLE)                      \
    X(QUEUE_JUMPS, "the last to come is served first", HF__RULE_ORDER)         \
    X(NO_OFFER_TTL, "a waiter that was served may be silent for ever",         \
      HF__RULE_HEALED | HF__RULE_IDLE)                                         \
    X(GRANT_OUTLIVES_SESSION, "a dead session keeps its grant",                \
      HF__RULE_HEALED | HF__RULE_IDLE)                                         \
    X(COUNTS_RESTARTED, "a majority counts a member that has forgotten",       \
      HF__RULES_BOTH_HOLD)                                                     \
    X(FENCE_BEFORE_RAISE, "the fence is used before a majority knows it",      \
      HF__RULE_FENCE)                                                          \
    X(NO_RETRY, "a renewal that failed is not tried again", HF__RULE_DUTY)     \
    X(HOLDS_PAST_LIMIT, "max_hold is not looked at", HF__RULE_LIMIT)           \
    X(ADOPTS_BLINDLY, "a detached grant is adopted without asking for it",     \
      HF__RULES_BOTH_HOLD)                                                     \
    X(TICKET_FOR_EVER, "a ticket whose claim is silent counts for ever",       \
      HF__RULE_HEALED | HF__RULE_IDLE)                                         \
    X(BARGES, "a claim that is not fair goes before the line", HF__RULE_ORDER) \
    X(READERS_PASS, "a shared claim overlooks the line", HF__RULE_ORDER)       \
    X(SLOT_TOO_MANY, "one slot more than there are", HF__RULE_EXCLUSION)       \
    X(SLOT_TWICE, "a slot that is held is given again", HF__RULE_EXCLUSION)    \
    X(HANDS_PAST_LINE, "handed over although others are in line",              \
      HF__RULE_ORDER)                                                          \
    X(TICKET_KEPT, "a claim that gives up leaves its ticket", HF__RULE_LEAK)   \
    X(SHARED_FENCE_STAYS, "a grant beside others has the last one's fence",    \
      HF__RULE_FENCE)                                                          \
    X(TICKET_LOST, "a claim that asks again goes to the end of the line",      \
      HF__RULE_ORDER)                                                          \
    X(KEEPS_ABOVE, "of several names, those after the busy one are kept",      \
      HF__RULE_HEALED)                                                         \
    X(KEEPS_PART, "of several names, those granted outlive the failure",       \
      HF__RULE_LEAK)                                                           \
    X(MINORITY, "half of the members are enough", HF__RULES_BOTH_HOLD)         \
    X(FEW_AGREE, "two members that gave one fence need no raise",              \
      HF__RULE_FENCE)                                                          \
    X(NO_TOMBSTONE, "a renewal that is late makes anew what was released",     \
      HF__RULE_ROW)                                                            \
    X(MENDS_THE_PAST, "a renewal makes anew what others had since",            \
      HF__RULES_BOTH_HOLD | HF__RULE_FENCE | HF__RULE_RENEWAL)                 \
    X(NO_UNDO, "an attempt that came to nothing leaves its fence",             \
      HF__RULE_MENDING)                                                        \
    X(UNDOES_FENCE, "a fence that was undone may be given again",              \
      HF__RULE_FENCE)                                                          \
    X(UNDOES_ALL, "the release of a grant that was told is undone, too",       \
      HF__RULES_BOTH_HOLD | HF__RULE_FENCE | HF__RULE_RENEWAL)

enum hf__mutant {
    HF__MUTANT_NONE,
#define HF_X(name, text, rules) HF__MUTANT_##name,
    HF__MUTANT_MAP(HF_X)
#undef HF_X
        HF__MUTANTS
};

#endif
