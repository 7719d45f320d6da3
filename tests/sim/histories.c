/* SPDX-License-Identifier: MIT */
/*
 * The bad histories, at least one for each rule. This file decides what must
 * be flagged; that it is, and as just that, is tested in sim_oracles.c.
 */
#include "tests/sim/histories.h"

#include "tests/lib/test.h"

#define LEASE (1000 * HF__MS)

/* ---- bad histories: of an instant --------------------------------------- */

static void two_hold(void)
{
    hf__scene_own(0, 1);
    hf__scene_hold(0, 1);
    hf__scene_look(1);
    hf__scene_hold(1, 2);
    hf__scene_look(2);
}

static void one_holds_what_another_owns(void)
{
    hf__scene_own(0, 2);
    hf__scene_hold(0, 1);
    hf__scene_look(1);
}

static void one_holds_past_the_end(void)
{
    hf__scene_own(0, 1);
    hf__scene_hold(0, 1);
    hf__scene_look(1);
    hf__scene_look(200 * 1000);
}

static void one_holds_a_minority(void)
{
    hf__scene_begin(HF__MODEL_QUORUM, 5);
    hf__scene_own(0, 1);
    hf__scene_own(3, 1);
    hf__scene_hold(0, 1);
    hf__scene_look(1);
}

static void half_is_no_majority(void)
{
    hf__scene_begin(HF__MODEL_QUORUM, 4);
    hf__scene_own(0, 1);
    hf__scene_own(1, 1);
    hf__scene_hold(0, 1);
    hf__scene_look(1);
}

static void lost_is_left(void)
{
    hf__scene_own(0, 1);
    hf__scene_hold(0, 1);
    hf__scene.plan.auto_renew = false;
    hf__scene_look(1);
    hf__scene_let_go(0, HF__PHASE_LOST);
    hf__scene_look(2);
    hf__scene.views[0].phase = HF__PHASE_HELD;
    hf__scene_look(3);
}

static void one_holds_again(void)
{
    hf__scene_own(0, 1);
    hf__scene_hold(0, 1);
    hf__scene_look(1);
    hf__scene.views[0].is_held = false;
    hf__scene_look(2);
    hf__scene.views[0].is_held = true;
    hf__scene_look(3);
}

static void renewal_after_the_deadline(void)
{
    struct hf__message m = {.op = HF__OP_RENEW};

    hf__scene_hold(0, 1);
    hf__scene.views[0].now = (hf__time){5};
    hf__oracle_confirmed(&hf__scene.oracle, 0, true, (hf__time){0},
                         &hf__scene.views[0]);
    hf__oracle_sent(&hf__scene.oracle, &m, &hf__scene.views[0]);
    EXPECT_IS(hf__scene.oracle.broken, 0);
    hf__scene.views[0].now = (hf__time){LEASE - LEASE / 100 - 5 * HF__MS};
    hf__oracle_sent(&hf__scene.oracle, &m, &hf__scene.views[0]);
}

static void renewal_after_the_release(void)
{
    hf__scene_hold(0, 1);
    hf__oracle_confirmed(&hf__scene.oracle, 0, true, (hf__time){0},
                         &hf__scene.views[0]);
    hf__scene_let_go(0, HF__PHASE_RELEASING);
    hf__oracle_sent(&hf__scene.oracle,
                    &(struct hf__message){.op = HF__OP_RENEW},
                    &hf__scene.views[0]);
}

static void held_past_the_limit(void)
{
    hf__scene.plan.max_hold_ms = 50;
    hf__scene_own(0, 1);
    hf__scene_hold(0, 1);
    hf__scene_look(1);
    hf__scene.views[0].now = (hf__time){50 * HF__MS};
    hf__scene_look(51);
}

static void granted_when_it_is_over(void)
{
    hf__scene.views[0].now = (hf__time){LEASE};
    hf__oracle_confirmed(&hf__scene.oracle, 0, true, (hf__time){0},
                         &hf__scene.views[0]);
}

static void lose(bool gives_back, int64_t at_ns)
{
    struct hf__view *view = &hf__scene.views[0];

    hf__scene_own(0, 1);
    hf__scene_hold(0, 1);
    hf__scene.plan.settle_ns = INT64_MAX;
    hf__oracle_confirmed(&hf__scene.oracle, 0, true, (hf__time){0}, view);
    hf__scene_look(1);
    hf__scene_let_go(0, HF__PHASE_LOST);
    view->reason = HF_REASON_EXPIRED;
    view->now = (hf__time){at_ns};
    if (gives_back) {
        hf__oracle_sent(&hf__scene.oracle,
                        &(struct hf__message){.op = HF__OP_RELEASE, .token = 1},
                        view);
    }
    hf__scene_look(2);
}

static void lost_too_early(void)
{
    lose(true, LEASE / 2);
}

static void lost_and_kept(void)
{
    lose(false, LEASE);
}

static void owed_and_kept(void)
{
    hf__oracle_owes(&hf__scene.oracle, 0, 1);
    hf__scene_look(1);
}

static void not_tried_again(void)
{
    struct hf__view *view = &hf__scene.views[0];

    hf__scene_own(0, 1);
    hf__scene_hold(0, 1);
    view->phase = HF__PHASE_AT_RISK;
    view->is_awake = true;
    hf__scene_look(1);
    view->now = (hf__time){1};
    hf__scene_look(2);
    view->now = (hf__time){LEASE / 2};
    hf__scene_look(3);
}

static void own_fence_falls(void)
{
    hf__scene.plan.promises_fence = false;
    hf__scene_granted(0, 9, 1, 2);
    hf__scene_granted(0, 8, 3, 4);
}

static void lost_in_quiet_times(void)
{
    hf__scene_own(0, 1);
    hf__scene_hold(0, 1);
    hf__scene_look(1);
    hf__scene_let_go(0, HF__PHASE_LOST);
    hf__scene_look(2);
}

/* ---- bad histories: of the order ---------------------------------------- */

static void fence_falls(void)
{
    hf__scene_granted(0, 9, 1, 2);
    hf__scene_granted(1, 8, 3, 4);
}

static void fence_is_given_twice(void)
{
    struct hf__grant_fact g = {.token = 1, .fence = 9, .invoked = 1, .ok = 5};

    hf__oracle_granted(&hf__scene.oracle, &g);
    g.token = 2; /* at the same time: no order is asked of them */
    hf__oracle_granted(&hf__scene.oracle, &g);
}

static void stored_fence_falls(void)
{
    struct hf__message m = {.op = HF__OP_RELEASE, .token = 7};
    struct hf__row before = {.token = 7, .fence = 5};
    struct hf__row after = {.fence = 4};
    struct hf__applied a = {.m = &m, .before = &before, .after = &after};

    hf__oracle_applied(&hf__scene.oracle, &a);
}

static void lower_fence_is_taken(void)
{
    hf__scene_wrote(9, false);
    hf__scene_wrote(8, false);
}

static void older_holder_writes(void)
{
    hf__scene_granted(0, 5, 1, 2);
    hf__scene_granted(1, 6, 3, 4);
    hf__scene_wrote(6, false);
    hf__scene.oracle.written[0].fence =
        0; /* as if the resource had forgotten */
    hf__scene_wrote(5, false);
}

static void update_is_lost(void)
{
    hf__scene_wrote(9, false);
    hf__scene_wrote(9, true);
}

static void superseded_renews(void)
{
    hf__scene_granted(0, 5, 1, 2);
    hf__scene_granted(1, 6, 3, 4);
    hf__oracle_renewed(&hf__scene.oracle, 105, 5);
}

static void stranger_releases(void)
{
    hf__scene_applied(HF__OP_RELEASE, HF_OK, 3, false);
}

static void owner_may_not_release(void)
{
    hf__scene_applied(HF__OP_RELEASE, HF_LOST, 7, false);
}

static void stranger_releases_in_line(void)
{
    hf__scene_begin(HF__MODEL_SESSION, 1);
    hf__scene_applied(HF__OP_RELEASE, HF_OK, 3, false);
}

static void second_release_is_sent(void)
{
    hf__oracle_released_again(&hf__scene.oracle, HF__DO_RELEASE);
}

static void live_row_is_taken(void)
{
    hf__scene_applied(HF__OP_ACQUIRE, HF_OK, 3, true);
}

static void free_row_is_renewed(void)
{
    hf__scene_applied(HF__OP_RENEW, HF_OK, 0, true);
}

static void holder_is_kept_out(void)
{
    hf__scene_begin(HF__MODEL_QUORUM, 3);
    hf__scene_granted(0, 5, 1, 2);
    hf__scene_hold(0, 105);
    hf__scene_undone(6);
    hf__scene_refused(0, 6);
}

static void last_is_first(void)
{
    hf__oracle_came(&hf__scene.oracle, 1);
    hf__oracle_came(&hf__scene.oracle, 2);
    hf__oracle_served(&hf__scene.oracle, 2);
}

/* ---- bad histories: of time --------------------------------------------- */

static void nobody_gets_it(void)
{
    hf__scene.views[0].is_claiming = true;
    hf__scene_own(0, 1); /* a token that nobody has */
    hf__scene.store.members[0].row.ends = INT64_MAX;
    for (int i = 1; i < 30; i++) {
        hf__scene_look(i * 100);
    }
}

static void nobody_gets_what_is_free(void)
{
    hf__scene.views[0].is_claiming = true;
    for (int i = 1; i < 10; i++) {
        hf__scene_look(i * 100);
    }
}

static void time_stands_still(void)
{
    for (int i = 0; i < HF__STEPS_MAX + 2; i++) {
        hf__scene_look(1);
    }
}

static void claim_ends_late(void)
{
    hf__oracle_timed_out(&hf__scene.oracle, 0, 3 * LEASE + 101 * HF__MS);
}

static void claim_ends_early(void)
{
    hf__oracle_timed_out(&hf__scene.oracle, 0, 3 * LEASE - 2 * HF__MS);
}

static void row_is_left(void)
{
    hf__scene_own(0, 1);
    hf__oracle_end(&hf__scene.oracle, hf__scene.views, &hf__scene.store, 1);
}

static void session_is_left(void)
{
    hf__scene_begin(HF__MODEL_SESSION, 1);
    hf__scene.store.line.count = 1;
    hf__scene.store.line.seats[0] = (struct hf__seat){.session = 4};
    hf__scene.views[0].session = 4;
    hf__oracle_end(&hf__scene.oracle, hf__scene.views, &hf__scene.store, 1);
}

static void debt_is_left(void)
{
    hf__scene.views[1].is_settled = false;
    hf__oracle_end(&hf__scene.oracle, hf__scene.views, &hf__scene.store, 1);
}

/* ---- all of them -------------------------------------------------------- */

const struct hf__history hf__bad_histories[] = {
#define BAD(rule, history)                                                     \
    {                                                                          \
        HF__RULE_##rule, #history, history                                     \
    }
    BAD(EXCLUSION, two_hold),
    BAD(OWNERSHIP, one_holds_what_another_owns),
    BAD(OWNERSHIP, one_holds_past_the_end),
    BAD(OWNERSHIP, one_holds_a_minority),
    BAD(OWNERSHIP, half_is_no_majority),
    BAD(FENCE, fence_falls),
    BAD(FENCE, fence_is_given_twice),
    BAD(FENCE, stored_fence_falls),
    BAD(RESOURCE, lower_fence_is_taken),
    BAD(RESOURCE, older_holder_writes),
    BAD(UPDATE, update_is_lost),
    BAD(RENEWAL, superseded_renews),
    BAD(RELEASE, stranger_releases),
    BAD(RELEASE, owner_may_not_release),
    BAD(RELEASE, stranger_releases_in_line),
    BAD(RELEASE, second_release_is_sent),
    BAD(ROW, live_row_is_taken),
    BAD(ROW, free_row_is_renewed),
    BAD(FINAL, lost_is_left),
    BAD(REVIVAL, one_holds_again),
    BAD(RENEW_SENT, renewal_after_the_deadline),
    BAD(RENEW_SENT, renewal_after_the_release),
    BAD(HEALED, nobody_gets_it),
    BAD(HEALED, time_stands_still),
    BAD(WAIT, claim_ends_late),
    BAD(WAIT, claim_ends_early),
    BAD(IDLE, nobody_gets_what_is_free),
    BAD(HEALTHY, lost_in_quiet_times),
    BAD(LIMIT, held_past_the_limit),
    BAD(DUTY, granted_when_it_is_over),
    BAD(DUTY, lost_too_early),
    BAD(DUTY, lost_and_kept),
    BAD(DUTY, owed_and_kept),
    BAD(DUTY, not_tried_again),
    BAD(FENCE, own_fence_falls),
    BAD(ORDER, last_is_first),
    BAD(MENDING, holder_is_kept_out),
    BAD(LEAK, row_is_left),
    BAD(LEAK, session_is_left),
    BAD(LEAK, debt_is_left),
    {0, NULL, NULL},
#undef BAD
};
