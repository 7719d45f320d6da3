/* SPDX-License-Identifier: MIT */
/*
 * The oracles proved by hand: small histories that break one rule each must
 * be flagged as just that, and good ones must not be. A rule without a bad
 * history fails the test.
 */
#include "tests/lib/test.h"
#include "tests/sim/histories.h"

#include <stdio.h>

#define LEASE (1000 * HF__MS)

static unsigned flag(const struct hf__history *h)
{
    hf__scene_begin(HF__MODEL_ROW, 1);
    h->play();
    printf("# %s: %s\n", h->name, hf__scene.oracle.text);
    EXPECT_IS(hf__scene.oracle.broken, h->rule);
    EXPECT_NOT(hf__scene.oracle.text[0], '\0');
    return hf__scene.oracle.broken;
}

TEST(every_bad_history_is_flagged)
{
    unsigned flagged = 0;

    for (const struct hf__history *h = hf__bad_histories; h->rule != 0; h++) {
        flagged |= flag(h);
    }
    EXPECT_IS(flagged, HF__RULES_ALL);
    for (const struct hf__history *h = hf__bad_crowds; h->rule != 0; h++) {
        flag(h);
    }
}

TEST(a_rule_that_is_not_watched_flags_nothing)
{
    for (const struct hf__history *h = hf__bad_histories; h->rule != 0; h++) {
        hf__scene.watched = HF__RULES_ALL & ~h->rule;
        hf__scene_begin(HF__MODEL_ROW, 1);
        h->play();
        EXPECT_NOT(hf__scene.oracle.broken, h->rule);
    }
}

/* ---- good histories ----------------------------------------------------- */

/* One after the other, with a write each, a release, a renewal, a line. */
static void good(uint64_t fence, int client)
{
    int64_t at = 100 * (int64_t)fence;

    hf__scene_own(0, 100 + fence);
    hf__scene_granted(client, fence, at, at + 1);
    hf__scene_hold(client, 100 + fence);
    hf__scene_look(at);
    hf__scene_wrote(fence, false);
    hf__oracle_renewed(&hf__scene.oracle, 100 + fence, at + 2);
    hf__scene_look(at + 50);
    hf__scene_let_go(client, HF__PHASE_RELEASING);
    hf__scene_look(at + 60);
    hf__scene.store.members[0].row.token = 0;
    hf__scene_let_go(client, HF__PHASE_RELEASED);
    hf__oracle_released_again(&hf__scene.oracle, 0);
    hf__scene_look(at + 61);
}

TEST(a_good_history_is_not_flagged)
{
    hf__scene_begin(HF__MODEL_ROW, 1);
    for (uint64_t fence = 1; fence < 50; fence++) {
        good(fence, (int)(fence % 3));
    }
    hf__scene_applied(HF__OP_ACQUIRE, HF_OK, 0, true);
    hf__scene_applied(HF__OP_RELEASE, HF_OK, 7, false);
    hf__scene_applied(HF__OP_RELEASE, HF_LOST, 3, false);
    hf__oracle_came(&hf__scene.oracle, 1);
    hf__oracle_came(&hf__scene.oracle, 2);
    hf__oracle_came(&hf__scene.oracle, 3);
    hf__oracle_left(&hf__scene.oracle, 2);
    hf__oracle_served(&hf__scene.oracle, 1);
    hf__oracle_served(&hf__scene.oracle, 3);
    hf__oracle_timed_out(&hf__scene.oracle, 0, 3 * LEASE + 99 * HF__MS);
    hf__oracle_end(&hf__scene.oracle, hf__scene.views, &hf__scene.store, 1);
    EXPECT_TEXT(hf__scene.oracle.text, "");
    EXPECT_IS(hf__scene.oracle.broken, 0);
}

/* Who lost it unforeseen may think that it holds; its fence may do nothing. */
TEST(an_excuse_covers_the_holder_and_not_the_fence)
{
    hf__scene_begin(HF__MODEL_ROW, 1);
    hf__scene_own(0, 2);
    hf__scene_hold(0, 1);
    hf__oracle_excuse(&hf__scene.oracle, 1);
    hf__scene_hold(1, 2);
    hf__scene_look(1);
    EXPECT_IS(hf__scene.oracle.broken, 0);
    hf__scene_wrote(9, false);
    hf__scene_wrote(8, false);
    EXPECT_IS(hf__scene.oracle.broken, HF__RULE_RESOURCE);
}

TEST(a_labelled_schedule_counts_its_lost_updates)
{
    hf__scene_begin(HF__MODEL_ROW, 1);
    hf__scene.plan.promises_update = false;
    hf__scene_wrote(9, false);
    hf__scene_wrote(9, true);
    EXPECT_IS(hf__scene.oracle.broken, 0);
    EXPECT_IS(hf__scene.oracle.lost_updates, 1);
}
