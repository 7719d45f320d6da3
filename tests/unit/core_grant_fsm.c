/* SPDX-License-Identifier: MIT */
/*
 * The life of a grant: every event in every phase, in time and after the
 * deadline, then what each timer task and each time of day must be.
 */
#include "src/core/grant_fsm.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

/* A grant asked for at 1000 ms with a lease of 3000: renewed at 2000, ours
 * until 3965. */
enum { LEASE = 3000, SENT = 1000, RENEW = 2000, DEADLINE = 3965 };
enum { IN_TIME = 1500, LATE = 5000, PHASES = 7, EVENTS = 12 };

static hf__time at(int64_t ms)
{
    return (hf__time){ms * HF__MS};
}

static unsigned step(struct hf__grant_fsm *g, enum hf__fsm_event_kind kind,
                     int64_t now)
{
    return hf__grant_fsm_step(
        g, &(struct hf__fsm_event){.kind = kind,
                                   .now = at(now),
                                   .sent = at(SENT),
                                   .fence = 7,
                                   .seen_fence = 6,
                                   .reason = HF_REASON_TAKEN});
}

static unsigned renewed(struct hf__grant_fsm *g, int64_t sent, int64_t now)
{
    return hf__grant_fsm_step(
        g, &(struct hf__fsm_event){
               .kind = HF__FSM_RENEWED, .sent = at(sent), .now = at(now)});
}

static unsigned release_ended(struct hf__grant_fsm *g, int result, int64_t now)
{
    return hf__grant_fsm_step(
        g, &(struct hf__fsm_event){.kind = HF__FSM_RELEASE_ENDED,
                                   .now = at(now),
                                   .result = result,
                                   .reason = HF_REASON_TAKEN});
}

static struct hf__grant_fsm wanted(void)
{
    struct hf__grant_fsm g;

    memset(&g, 0xff, sizeof g);
    hf__grant_fsm_init(&g, LEASE, true);
    return g;
}

static struct hf__grant_fsm held(void)
{
    struct hf__grant_fsm g = wanted();

    EXPECT_IS(step(&g, HF__FSM_GRANTED, SENT + 10), 0);
    return g;
}

static struct hf__grant_fsm in_phase(enum hf__phase phase)
{
    struct hf__grant_fsm g = phase == HF__PHASE_CLAIMING ? wanted() : held();

    if (phase == HF__PHASE_AT_RISK) {
        step(&g, HF__FSM_RENEW_FAILED, SENT + 20);
    } else if (phase == HF__PHASE_LOST) {
        step(&g, HF__FSM_REFUSED, SENT + 20);
    } else if (phase == HF__PHASE_RELEASING || phase == HF__PHASE_RELEASED) {
        step(&g, HF__FSM_RELEASE, SENT + 20);
    }
    if (phase == HF__PHASE_RELEASED) {
        release_ended(&g, HF_OK, SENT + 30);
    } else if (phase == HF__PHASE_DETACHED) {
        step(&g, HF__FSM_DETACHED, SENT + 30);
    }
    EXPECT_IS(g.phase, phase);
    return g;
}

/* ---- all pairs ---------------------------------------------------------- */

static unsigned nth_event(struct hf__grant_fsm *g, int n, int64_t now)
{
    static const int results[] = {HF_OK, HF_LOST, HF_EUNKNOWN};
    int past_results = n - HF__FSM_RELEASE_ENDED - 3;

    if (n < HF__FSM_RELEASE_ENDED) {
        return step(g, (enum hf__fsm_event_kind)n, now);
    }
    if (past_results >= 0) {
        int kind = HF__FSM_RELEASE_ENDED + 1 + past_results;

        return step(g, (enum hf__fsm_event_kind)kind, now);
    }
    return release_ended(g, results[n - HF__FSM_RELEASE_ENDED], now);
}

/* One cell: the phase as a letter (Claiming Held At-risk reLeasing Released
 * Detached lOst), then the actions (n renew, r release, t tell, b give
 * back). */
static void describe(const struct hf__grant_fsm *g, unsigned actions,
                     char cell[8])
{
    snprintf(cell, 8, "%c%s%s%s%s", "CHALRDO"[g->phase],
             (actions & HF__DO_RENEW) != 0 ? "n" : "",
             (actions & HF__DO_RELEASE) != 0 ? "r" : "",
             (actions & HF__DO_TELL) != 0 ? "t" : "",
             (actions & HF__DO_GIVE_BACK) != 0 ? "b" : "");
}

/* "!": a bug of the caller, tested below. */
static void check_table(const char *const table[PHASES][EVENTS], int64_t now)
{
    for (int phase = 0; phase < PHASES; phase++) {
        for (int n = 0; n < EVENTS; n++) {
            struct hf__grant_fsm g = in_phase((enum hf__phase)phase);
            char cell[8];

            if (strcmp(table[phase][n], "!") == 0) {
                continue;
            }
            describe(&g, nth_event(&g, n, now), cell);
            printf("# phase %d, event %d\n", phase, n);
            EXPECT_TEXT(cell, table[phase][n]);
            EXPECT_IS(hf__grant_fsm_is_held(&g, at(now)),
                      (cell[0] == 'H' || cell[0] == 'A') && now < DEADLINE);
        }
    }
}

/* Columns: GRANTED TICK RENEW_BEGUN RENEWED RENEW_FAILED REFUSED RELEASE,
 * RELEASE_ENDED with OK, LOST, EUNKNOWN, DETACHED, CLOSED. */
TEST(every_event_in_every_phase_in_time)
{
    static const char *const table[PHASES][EVENTS] = {
        {"H", "C", "C", "C", "C", "C", "C", "C", "C", "C", "C", "Ot"},
        {"!", "H", "H", "H", "A", "Ot", "Lr", "H", "H", "H", "D", "Ot"},
        {"!", "An", "A", "H", "A", "Ot", "Lr", "A", "A", "A", "D", "Ot"},
        {"!", "L", "L", "L", "L", "L", "L", "R", "Ot", "Rb", "L", "L"},
        {"!", "R", "R", "R", "R", "R", "R", "R", "R", "R", "R", "R"},
        {"!", "D", "D", "D", "D", "D", "D", "D", "D", "D", "D", "D"},
        {"Ob", "O", "O", "Ob", "O", "O", "O", "O", "O", "O", "O", "O"},
    };

    check_table(table, IN_TIME);
}

TEST(every_event_in_every_phase_after_the_deadline)
{
    static const char *const table[PHASES][EVENTS] = {
        {"Cb", "C", "C", "C", "C", "C", "C", "C", "C", "C", "C", "Ot"},
        {"!", "Otb", "Otb", "Otb", "Otb", "Ot", "Otb", "H", "H", "H", "Otb",
         "Ot"},
        {"!", "Otb", "Otb", "Otb", "Otb", "Ot", "Otb", "A", "A", "A", "Otb",
         "Ot"},
        {"!", "L", "L", "L", "L", "L", "L", "R", "Ot", "Rb", "L", "L"},
        {"!", "R", "R", "R", "R", "R", "R", "R", "R", "R", "R", "R"},
        {"!", "D", "D", "D", "D", "D", "D", "D", "D", "D", "D", "D"},
        {"Ob", "O", "O", "Ob", "O", "O", "O", "O", "O", "O", "O", "O"},
    };

    check_table(table, LATE);
}

MUST_FAIL(a_second_grant_while_held_is_a_bug)
{
    struct hf__grant_fsm g = held();

    step(&g, HF__FSM_GRANTED, IN_TIME);
}

MUST_FAIL(a_second_grant_after_the_release_is_a_bug)
{
    struct hf__grant_fsm g = in_phase(HF__PHASE_RELEASED);

    step(&g, HF__FSM_GRANTED, IN_TIME);
}

/* ---- being granted ------------------------------------------------------ */

TEST(a_wanted_grant_is_nothing_yet)
{
    struct hf__grant_fsm g = wanted();

    EXPECT_IS(g.phase, HF__PHASE_CLAIMING);
    EXPECT_IS(g.reason, HF_REASON_NONE);
    EXPECT(!hf__grant_fsm_is_held(&g, at(0)));
    EXPECT(hf__is_never(hf__grant_fsm_next_tick(&g)));
}

TEST(a_grant_counts_from_before_its_request)
{
    struct hf__grant_fsm g = wanted();

    /* The answer takes almost the whole lease. */
    EXPECT_IS(step(&g, HF__FSM_GRANTED, DEADLINE - 1), 0);
    EXPECT_IS(g.deadline.ns, at(DEADLINE).ns);
    EXPECT_IS(g.renew_at.ns, at(RENEW).ns);
    EXPECT_IS(g.fence, 7);
    EXPECT(hf__grant_fsm_is_held(&g, at(DEADLINE - 1)));
    EXPECT(!hf__grant_fsm_is_held(&g, at(DEADLINE)));
}

TEST(a_grant_that_comes_at_its_deadline_is_given_back)
{
    struct hf__grant_fsm g = wanted();

    EXPECT_IS(step(&g, HF__FSM_GRANTED, DEADLINE), HF__DO_GIVE_BACK);
    EXPECT_IS(g.phase, HF__PHASE_CLAIMING);
    EXPECT(!hf__grant_fsm_is_held(&g, at(SENT)));
}

TEST(a_fence_must_be_above_all_that_were_seen)
{
    for (uint64_t seen = 5; seen <= 9; seen++) {
        struct hf__grant_fsm g = wanted();
        struct hf__fsm_event e = {.kind = HF__FSM_GRANTED,
                                  .now = at(SENT + 1),
                                  .sent = at(SENT),
                                  .fence = 7,
                                  .seen_fence = seen};

        EXPECT_IS(hf__grant_fsm_step(&g, &e), seen < 7 ? 0 : HF__DO_GIVE_BACK);
        EXPECT_IS(hf__grant_fsm_is_held(&g, e.now), seen < 7);
    }
}

TEST(a_store_without_fences_gives_0)
{
    struct hf__grant_fsm g = wanted();
    struct hf__fsm_event e = {.kind = HF__FSM_GRANTED,
                              .now = at(SENT + 1),
                              .sent = at(SENT),
                              .seen_fence = 9};

    EXPECT_IS(hf__grant_fsm_step(&g, &e), 0);
    EXPECT(hf__grant_fsm_is_held(&g, e.now));
    EXPECT_IS(g.fence, 0);
}

/* ---- being renewed ------------------------------------------------------ */

TEST(a_renewal_goes_out_once_when_it_is_due)
{
    struct hf__grant_fsm g = held();

    EXPECT_IS(hf__grant_fsm_next_tick(&g).ns, at(RENEW).ns);
    EXPECT_IS(step(&g, HF__FSM_TICK, RENEW - 1), 0);
    EXPECT_IS(step(&g, HF__FSM_TICK, RENEW), HF__DO_RENEW);
    EXPECT(g.is_renewing);
    EXPECT_IS(step(&g, HF__FSM_TICK, RENEW + 1), 0);
    EXPECT_IS(hf__grant_fsm_next_tick(&g).ns, at(RENEW + LEASE / 3).ns);
}

TEST(a_confirmed_renewal_counts_from_before_its_request)
{
    struct hf__grant_fsm g = held();

    step(&g, HF__FSM_TICK, RENEW);
    EXPECT_IS(renewed(&g, RENEW, DEADLINE - 1), 0);
    EXPECT_IS(g.phase, HF__PHASE_HELD);
    EXPECT_IS(g.deadline.ns, at(RENEW + 2965).ns);
    EXPECT_IS(g.renew_at.ns, at(RENEW + 1000).ns);
    EXPECT(!g.is_renewing);
    EXPECT_IS(step(&g, HF__FSM_TICK, DEADLINE), HF__DO_RENEW);
}

TEST(an_older_confirmation_never_shortens_the_deadline)
{
    struct hf__grant_fsm g = held();

    renewed(&g, 2500, 2600);
    renewed(&g, 2000, 2700);
    EXPECT_IS(g.deadline.ns, at(2500 + 2965).ns);
}

TEST(a_confirmation_after_the_deadline_revives_nothing)
{
    for (int64_t sent = SENT; sent < DEADLINE; sent += 5) {
        struct hf__grant_fsm g = held();

        EXPECT_IS(renewed(&g, sent, DEADLINE), HF__DO_TELL | HF__DO_GIVE_BACK);
        EXPECT_IS(g.phase, HF__PHASE_LOST);
        EXPECT_IS(g.reason, HF_REASON_EXPIRED);
        EXPECT(!hf__grant_fsm_is_held(&g, at(DEADLINE)));
        EXPECT_IS(renewed(&g, sent, DEADLINE + 1), HF__DO_GIVE_BACK);
        EXPECT_IS(g.phase, HF__PHASE_LOST);
    }
}

TEST(a_failed_renewal_is_tried_again_after_a_twelfth)
{
    struct hf__grant_fsm g = held();

    step(&g, HF__FSM_TICK, RENEW);
    EXPECT_IS(step(&g, HF__FSM_RENEW_FAILED, RENEW + 100), 0);
    EXPECT_IS(g.phase, HF__PHASE_AT_RISK);
    EXPECT(hf__grant_fsm_is_held(&g, at(RENEW + 100)));
    EXPECT_IS(g.deadline.ns, at(DEADLINE).ns);
    EXPECT_IS(hf__grant_fsm_next_tick(&g).ns, at(RENEW + 350).ns);
    EXPECT_IS(step(&g, HF__FSM_TICK, RENEW + 350), HF__DO_RENEW);
    EXPECT_IS(renewed(&g, RENEW + 350, RENEW + 400), 0);
    EXPECT_IS(g.phase, HF__PHASE_HELD);
}

TEST(nothing_is_renewed_at_or_after_the_deadline)
{
    struct hf__grant_fsm g = held();

    EXPECT_IS(step(&g, HF__FSM_TICK, DEADLINE), HF__DO_TELL | HF__DO_GIVE_BACK);
    EXPECT_IS(step(&g, HF__FSM_TICK, DEADLINE), 0);
    EXPECT(hf__is_never(hf__grant_fsm_next_tick(&g)));
}

TEST(a_renewal_by_hand_begins_only_while_it_is_held)
{
    struct hf__grant_fsm g = held();

    EXPECT_IS(step(&g, HF__FSM_RENEW_BEGUN, RENEW), 0);
    EXPECT(g.is_renewing);
    EXPECT_IS(step(&g, HF__FSM_TICK, RENEW + 1), 0);
    g = held();
    EXPECT_IS(step(&g, HF__FSM_RENEW_BEGUN, DEADLINE),
              HF__DO_TELL | HF__DO_GIVE_BACK);
    EXPECT(!g.is_renewing);
    g = in_phase(HF__PHASE_RELEASING);
    step(&g, HF__FSM_RENEW_BEGUN, RENEW);
    EXPECT(!g.is_renewing);
}

/* ---- the end ------------------------------------------------------------ */

TEST(it_is_told_once_and_the_first_reason_stays)
{
    struct hf__grant_fsm g = held();

    EXPECT_IS(step(&g, HF__FSM_REFUSED, IN_TIME), HF__DO_TELL);
    EXPECT_IS(g.reason, HF_REASON_TAKEN);
    EXPECT_IS(step(&g, HF__FSM_REFUSED, IN_TIME), 0);
    EXPECT_IS(step(&g, HF__FSM_TICK, LATE), 0);
    EXPECT_IS(step(&g, HF__FSM_RELEASE, LATE), 0);
    EXPECT_IS(g.reason, HF_REASON_TAKEN);
}

TEST(a_release_ends_belief_and_renewals_at_once)
{
    struct hf__grant_fsm g = held();

    EXPECT_IS(step(&g, HF__FSM_RELEASE, RENEW), HF__DO_RELEASE);
    EXPECT(!hf__grant_fsm_is_held(&g, at(RENEW)));
    EXPECT(hf__is_never(g.renew_at));
    EXPECT(hf__is_never(hf__grant_fsm_next_tick(&g)));
    EXPECT_IS(step(&g, HF__FSM_RELEASE, RENEW), 0);
    /* A renewal that was on its way changes nothing any more. */
    EXPECT_IS(renewed(&g, RENEW - 1, RENEW + 1), 0);
    EXPECT_IS(g.phase, HF__PHASE_RELEASING);
}

TEST(a_release_without_an_answer_is_owed)
{
    static const int failures[] = {HF_EUNKNOWN, HF_EUNAVAIL, HF_EAUTH};

    for (int i = 0; i < 3; i++) {
        struct hf__grant_fsm g = in_phase(HF__PHASE_RELEASING);

        EXPECT_IS(release_ended(&g, failures[i], IN_TIME), HF__DO_GIVE_BACK);
        EXPECT_IS(g.phase, HF__PHASE_RELEASED);
        EXPECT_IS(g.reason, HF_REASON_NONE);
    }
}

TEST(a_release_can_learn_of_the_loss)
{
    struct hf__grant_fsm g = in_phase(HF__PHASE_RELEASING);

    EXPECT_IS(release_ended(&g, HF_LOST, IN_TIME), HF__DO_TELL);
    EXPECT_IS(g.reason, HF_REASON_TAKEN);
}

/* hf_close() during an acquire: what the store still grants is given back,
 * however often it says so. */
TEST(a_grant_for_a_closed_claim_is_given_back)
{
    struct hf__grant_fsm g = wanted();

    EXPECT_IS(step(&g, HF__FSM_CLOSED, SENT), HF__DO_TELL);
    EXPECT_IS(step(&g, HF__FSM_GRANTED, SENT + 10), HF__DO_GIVE_BACK);
    EXPECT_IS(g.phase, HF__PHASE_LOST);
    EXPECT(!hf__grant_fsm_is_held(&g, at(SENT + 10)));
}
