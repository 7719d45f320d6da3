/* SPDX-License-Identifier: MIT */
/*
 * Which event an answer, a silence or a broken connection becomes. This file
 * finds the round that it belongs to; what a round's verdict leads to is in
 * sim_claim.c and sim_hold.c.
 */
#include "tests/sim/sim_driver.h"

static struct hf__round *find(struct hf__sim_client *c,
                              const struct hf__message *m)
{
    struct hf__round *rounds[] = {&c->claim, &c->raise, &c->renewal,
                                  &c->release};

    for (size_t i = 0; i < sizeof rounds / sizeof rounds[0]; i++) {
        if (hf__round_awaits(rounds[i], m)) {
            return rounds[i];
        }
    }
    return NULL;
}

static void conclude(struct hf__sim_client *c, struct hf__round *round)
{
    struct hf__round done = *round;

    hf__round_end(round);
    if (round == &c->claim) {
        hf__driver_claimed(c, &done);
    } else if (round == &c->raise) {
        hf__driver_raised(c, &done);
    } else if (round == &c->renewal) {
        hf__driver_renewed(c, &done);
    } else {
        hf__driver_released(c, &done);
    }
}

/* ---- answers ------------------------------------------------------------ */

/* It is another's now, perhaps: to release it by token would be to free it
 * under whoever adopted it. */
static bool did_detach(const struct hf__sim_client *c, uint64_t token)
{
    for (int i = 0; i < HF__LEFT_MAX; i++) {
        if (c->left[i] == token) {
            return true;
        }
    }
    return false;
}

/* Nobody waits for it any more. */
static void hear_late(struct hf__sim_client *c, const struct hf__message *m)
{
    bool is_alive = m->token == c->token &&
                    (c->app == HF__APP_CLAIMS || hf__driver_is_ours(c));

    hf__driver_note(c, HF__DEED_HEARS_LATE, (int)m->op, m->result);
    if (m->op == HF__OP_ACQUIRE && (m->result == HF_OK || m->is_queued) &&
        !is_alive && !did_detach(c, m->token) &&
        !hf__driver_is_mutant(c, HF__MUTANT_LATE_GRANT_KEPT)) {
        hf__debt_owe(c, m->token, 1u << m->member);
    }
    if (m->op == HF__OP_HANDOVER && m->result == HF_OK &&
        m->next_token != c->token) {
        hf__debt_owe(c, m->next_token, 1u << m->member);
    }
    /* That nothing came was counted once; and who adopts holds nothing yet. */
    if (m->op == HF__OP_RENEW && m->result >= 0 && m->token == c->token &&
        c->grant.phase != HF__PHASE_CLAIMING && c->plan->hears_late &&
        (c->plan->model == HF__MODEL_ROW ||
         c->plan->model == HF__MODEL_CROWD)) {
        struct hf__round late = {.token = m->token,
                                 .sent = m->sent,
                                 .sent_true = m->sent_true,
                                 .out = 1u << m->member};

        hf__quorum_init(&late.quorum, 1);
        hf__round_note(c, &late, m);
        hf__driver_renewed(c, &late);
    }
}

void hf__driver_hear(struct hf__sim_client *c, const struct hf__message *m)
{
    struct hf__round *round = find(c, m);

    if (m->session != c->session) {
        return; /* that connection is closed */
    }
    if (c->session != 0 && m->result == HF_EUNAVAIL) {
        hf__driver_cut(c, 0); /* the server knows no such session */
        return;
    }
    if (m->is_wake) {
        if (c->app == HF__APP_CLAIMS && c->claim.id == 0) {
            hf__driver_attempt(c);
        }
        return;
    }
    if (round == NULL && hf__debt_hear(c, m)) {
        return;
    }
    if (round == NULL) {
        hear_late(c, m);
        return;
    }
    hf__driver_note(c, HF__DEED_HEARS, (int)m->op, m->result);
    if (hf__round_note(c, round, m)) {
        conclude(c, round);
    }
    hf__driver_hold_tick(c);
}

/* ---- silence ------------------------------------------------------------ */

static void give_up_on(struct hf__sim_client *c, struct hf__round *round,
                       unsigned members)
{
    if (round->id == 0 || (round->out & members) == 0) {
        return;
    }
    hf__round_give_up(round, members);
    if (hf__quorum_is_decided(&round->quorum)) {
        conclude(c, round);
    }
}

/* As if what it owned lived on in the next. */
static void outlive_session(struct hf__sim_client *c)
{
    hf__driver_end_session(c);
    c->session = ++c->world->seq;
    hf__network_connect(c->network, c->index);
    hf__round_end(&c->renewal);
    hf__driver_feed(c, &(struct hf__event){.kind = HF__EVENT_RENEW_FAILED,
                                           .now = hf__driver_now(c)});
}

/* A wire that failed is closed; what the session owned is lost before. */
static void lose_session(struct hf__sim_client *c)
{
    if (hf__driver_is_ours(c)) {
        c->tally->cut_off++;
        if (hf__driver_is_mutant(c, HF__MUTANT_SESSION_OUTLIVED)) {
            outlive_session(c);
            return;
        }
        hf__round_end(&c->renewal);
        hf__driver_feed(c, &(struct hf__event){.kind = HF__EVENT_CLOSED,
                                               .now = hf__driver_now(c),
                                               .reason = HF_REASON_SESSION});
        hf__driver_end_session(c);
    } else if (c->app == HF__APP_CLAIMS) {
        hf__round_end(&c->claim);
        hf__driver_end_session(c);
        c->poll_at = hf__driver_soon(c, c->plan->poll_ns);
    } else {
        give_up_on(c, &c->release, HF__ALL_MEMBERS);
    }
}

void hf__driver_cut(struct hf__sim_client *c, int member)
{
    unsigned bit = 1u << member;

    c->tally->cuts++;
    hf__driver_note(c, HF__DEED_IS_CUT, -1, member);
    if (c->plan->model == HF__MODEL_SESSION) {
        if (c->session != 0) {
            lose_session(c);
        }
        return;
    }
    give_up_on(c, &c->claim, bit);
    give_up_on(c, &c->raise, bit);
    give_up_on(c, &c->renewal, bit);
    give_up_on(c, &c->release, bit);
    hf__driver_hold_tick(c);
}

static void tick_limit(struct hf__sim_client *c, struct hf__round *round,
                       int op)
{
    if (round->id == 0 || !hf__driver_is_past(c, round->until)) {
        return;
    }
    hf__driver_note(c, HF__DEED_HEARS_NOTHING, op, 0);
    if (c->plan->model == HF__MODEL_SESSION && c->session != 0) {
        lose_session(c);
        return;
    }
    give_up_on(c, round, HF__ALL_MEMBERS);
}

/* ---- timers ------------------------------------------------------------- */

void hf__driver_tick(struct hf__sim_client *c)
{
    tick_limit(c, &c->claim, HF__OP_ACQUIRE);
    tick_limit(c, &c->raise, HF__OP_RAISE);
    tick_limit(c, &c->renewal, HF__OP_RENEW);
    tick_limit(c, &c->release, HF__OP_RELEASE);
    if (hf__driver_is_past(c, hf__grant_next_tick(&c->grant))) {
        hf__driver_feed(c, &(struct hf__event){.kind = HF__EVENT_TICK,
                                               .now = hf__driver_now(c)});
    }
    if (hf__driver_is_past(c, c->poll_at)) {
        hf__driver_attempt(c);
    }
    hf__driver_hold_tick(c);
    hf__debt_tick(c);
}

hf__time hf__driver_next(const struct hf__sim_client *c)
{
    hf__time next = hf__earlier(c->poll_at, hf__grant_next_tick(&c->grant));

    next = hf__earlier(next, c->claim.until);
    next = hf__earlier(next, c->raise.until);
    next = hf__earlier(next, c->renewal.until);
    next = hf__earlier(next, c->release.until);
    if (c->has_renewal_due) {
        next = hf__earlier(next, c->stuck_until);
    }
    return hf__earlier(next, hf__debt_next(c));
}
