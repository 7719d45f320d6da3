/* SPDX-License-Identifier: MIT */
/*
 * The pure grant whose renewals end: one that is not renewed by itself, one
 * with a limit to how long it may be held, and one whose renewal has no answer.
 */
#include "src/core/grant_fsm.h"
#include "tests/lib/test.h"

enum { LEASE = 3000, SENT = 1000, RENEW = 2000, BELIEVED = 2965 };
enum { DEADLINE = SENT + BELIEVED, RISK = RENEW + LEASE / 3 };

static hf__time at(int64_t ms)
{
    return (hf__time){ms * HF__MS};
}

static unsigned step(struct hf__grant_fsm *g, enum hf__fsm_event_kind kind,
                     int64_t now)
{
    return hf__grant_fsm_step(
        g, &(struct hf__fsm_event){
               .kind = kind, .sent = at(now), .now = at(now), .fence = 7});
}

static struct hf__grant_fsm held_at_most(int64_t max_hold_ms)
{
    struct hf__grant_fsm g;

    hf__grant_fsm_init(&g, LEASE, true);
    g.max_hold_ms = max_hold_ms;
    EXPECT_IS(step(&g, HF__FSM_GRANTED, SENT), 0);
    return g;
}

TEST(renewals_do_not_reach_past_the_longest_hold)
{
    struct hf__grant_fsm g = held_at_most(2 * LEASE);

    EXPECT_IS(step(&g, HF__FSM_RENEWED, SENT + LEASE / 2), 0);
    EXPECT_IS(g.deadline.ns,
              hf__lease_deadline(at(SENT + LEASE / 2), LEASE).ns);
    EXPECT(!hf__is_never(g.renew_at));
    EXPECT_IS(step(&g, HF__FSM_RENEWED, SENT + LEASE + LEASE / 4), 0);
    EXPECT_IS(g.deadline.ns, at(SENT + 2 * LEASE).ns);
    EXPECT(hf__is_never(g.renew_at));
    EXPECT(hf__grant_fsm_is_held(&g, at(SENT + 2 * LEASE - 1)));
    EXPECT_IS(step(&g, HF__FSM_TICK, SENT + 2 * LEASE),
              HF__DO_TELL | HF__DO_GIVE_BACK);
    EXPECT_IS(g.reason, HF_REASON_EXPIRED);
}

TEST(a_hold_shorter_than_the_lease_ends_early)
{
    struct hf__grant_fsm g = held_at_most(LEASE / 4);

    EXPECT_IS(g.deadline.ns, at(SENT + LEASE / 4).ns);
    EXPECT(hf__is_never(g.renew_at));
    EXPECT_IS(hf__grant_fsm_next_tick(&g).ns, g.deadline.ns);
}

TEST(without_automatic_renewal_only_the_deadline_matters)
{
    struct hf__grant_fsm g;
    int64_t end = SENT + BELIEVED;

    hf__grant_fsm_init(&g, LEASE, false);
    step(&g, HF__FSM_GRANTED, SENT);
    EXPECT_IS(hf__grant_fsm_next_tick(&g).ns, at(end).ns);
    EXPECT_IS(step(&g, HF__FSM_TICK, end - 1), 0);
    EXPECT_IS(step(&g, HF__FSM_RENEWED, RENEW), 0);
    end = RENEW + BELIEVED;
    EXPECT_IS(hf__grant_fsm_next_tick(&g).ns, at(end).ns);
    step(&g, HF__FSM_RENEW_FAILED, RENEW + 20);
    EXPECT_IS(hf__grant_fsm_next_tick(&g).ns, at(end).ns);
}

TEST(a_hold_that_begins_later_counts_its_limit_from_then)
{
    struct hf__grant_fsm g = held_at_most(0);

    hf__grant_fsm_begin(&g, 2 * LEASE, true, at(RENEW));
    EXPECT_IS(g.deadline.ns, hf__lease_deadline(at(SENT), LEASE).ns);
    EXPECT_IS(g.renew_at.ns, at(RENEW).ns);
    EXPECT_IS(step(&g, HF__FSM_RENEWED, RENEW + LEASE / 2), 0);
    EXPECT_IS(step(&g, HF__FSM_RENEWED, RENEW + LEASE + LEASE / 4), 0);
    EXPECT_IS(g.deadline.ns, at(RENEW + 2 * LEASE).ns);
    hf__grant_fsm_begin(&g, LEASE / 4, true, at(RENEW + LEASE + LEASE / 4));
    EXPECT_IS(g.deadline.ns, at(RENEW + LEASE + LEASE / 2).ns);
    EXPECT(hf__is_never(g.renew_at));
}

TEST(a_hold_that_begins_without_renewal_is_renewed_no_more)
{
    struct hf__grant_fsm g = held_at_most(0);

    hf__grant_fsm_begin(&g, 0, false, at(SENT + 1));
    EXPECT_IS(g.deadline.ns, hf__lease_deadline(at(SENT), LEASE).ns);
    EXPECT(hf__is_never(g.renew_at));
    EXPECT_IS(step(&g, HF__FSM_TICK, RENEW + 1), 0);
    EXPECT_IS(step(&g, HF__FSM_TICK, 2 * LEASE + SENT),
              HF__DO_TELL | HF__DO_GIVE_BACK);
    hf__grant_fsm_begin(&g, 0, true, at(2 * LEASE + SENT));
    EXPECT_IS(g.phase, HF__PHASE_LOST);
    EXPECT(hf__is_never(hf__grant_fsm_next_tick(&g)));
}

/* ---- without an answer -------------------------------------------------- */

static struct hf__grant_fsm renewing_since(int64_t begun)
{
    struct hf__grant_fsm g = held_at_most(0);

    EXPECT_IS(step(&g, HF__FSM_RENEW_BEGUN, begun), 0);
    return g;
}

TEST(a_renewal_without_an_answer_for_a_third_is_a_risk)
{
    struct hf__grant_fsm g = renewing_since(RENEW);

    EXPECT_IS(hf__grant_fsm_next_tick(&g).ns, at(RISK).ns);
    EXPECT_IS(step(&g, HF__FSM_TICK, RISK - 1), 0);
    EXPECT_IS(g.phase, HF__PHASE_HELD);
    EXPECT_IS(step(&g, HF__FSM_TICK, RISK), 0);
    EXPECT_IS(g.phase, HF__PHASE_AT_RISK);
    EXPECT(g.is_renewing);
    EXPECT(hf__grant_fsm_is_held(&g, at(RISK)));
    EXPECT_IS(hf__grant_fsm_next_tick(&g).ns, at(DEADLINE).ns);
}

TEST(an_answer_ends_the_risk)
{
    struct hf__grant_fsm g = renewing_since(RENEW);

    step(&g, HF__FSM_TICK, RISK);
    EXPECT_IS(step(&g, HF__FSM_RENEWED, RISK + 1), 0);
    EXPECT_IS(g.phase, HF__PHASE_HELD);
    EXPECT_IS(hf__grant_fsm_next_tick(&g).ns, at(RISK + 1 + LEASE / 3).ns);
    EXPECT_IS(step(&g, HF__FSM_TICK, RISK + 2), 0);
    EXPECT_IS(g.phase, HF__PHASE_HELD);
}

TEST(the_failure_of_one_that_was_a_risk_is_tried_again)
{
    struct hf__grant_fsm g = renewing_since(RENEW);

    step(&g, HF__FSM_TICK, RISK);
    EXPECT_IS(step(&g, HF__FSM_RENEW_FAILED, RISK + 1), 0);
    EXPECT_IS(g.phase, HF__PHASE_AT_RISK);
    EXPECT_IS(hf__grant_fsm_next_tick(&g).ns, at(RISK + 1 + LEASE / 12).ns);
    EXPECT_IS(step(&g, HF__FSM_TICK, RISK + 1 + LEASE / 12), HF__DO_RENEW);
}

TEST(a_renewal_near_the_deadline_is_no_risk_before_it)
{
    struct hf__grant_fsm g = renewing_since(DEADLINE - 1);

    EXPECT_IS(hf__grant_fsm_next_tick(&g).ns, at(DEADLINE).ns);
}
