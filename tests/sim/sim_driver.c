/* SPDX-License-Identifier: MIT */
/*
 * Drives the core as the real client does. This file decides what is sent
 * when the core leaves a duty, and which event an answer becomes; the mutants
 * that live in a client are the branches on plan->mutant.
 */
#include "tests/sim/sim_driver.h"

#include "tests/sim/network.h"
#include "tests/sim/sim_debt.h"

static bool is_mutant(const struct hf__sim_client *c, enum hf__mutant mutant)
{
    return c->plan->mutant == mutant;
}

hf__time hf__driver_now(const struct hf__sim_client *c)
{
    int64_t now = c->world->now;

    if (is_mutant(c, HF__MUTANT_CLOCK_STOPS)) {
        now = (c->is_paused ? c->paused_at : now) - c->slept_ns;
    }
    return (hf__time){c->offset +
                      hf__plan_shown(now, c->plan->client_ppm[c->index])};
}

hf__time hf__driver_soon(struct hf__sim_client *c, int64_t most_ns)
{
    return hf__after_ns(hf__driver_now(c),
                        hf__world_between(c->world, 1, most_ns));
}

void hf__driver_note(struct hf__sim_client *c, enum hf__deed deed, int op,
                     int64_t number)
{
    hf__world_note(c->world, &(struct hf__trace_line){.deed = deed,
                                                      .client = c->index,
                                                      .op = op,
                                                      .token = c->token,
                                                      .number = number});
}

/* ---- sending ------------------------------------------------------------ */

void hf__driver_send(struct hf__sim_client *c, struct hf__call *call,
                     enum hf__op_kind op, uint64_t token)
{
    struct hf__view view;
    struct hf__message m = {.op = op,
                            .client = c->index,
                            .life = c->life,
                            .id = ++c->world->seq,
                            .token = token,
                            .fence = c->grant.fence,
                            .sent = hf__driver_now(c)};

    call->id = m.id;
    call->until = hf__after_ns(m.sent, c->plan->limit_ns);
    hf__driver_note(c, HF__DEED_SENDS, (int)op, (int64_t)m.id);
    hf__sim_client_view(c, &view);
    hf__oracle_sent(c->oracle, &m, &view);
    hf__network_request(c->world, c->plan, &m);
}

void hf__driver_end_call(struct hf__call *call)
{
    call->id = 0;
    call->until = HF__NEVER;
}

bool hf__driver_is_past(const struct hf__sim_client *c, hf__time t)
{
    return !hf__before(hf__driver_now(c), t);
}

/* ---- obeying the core --------------------------------------------------- */

static void think(struct hf__sim_client *c)
{
    c->app = HF__APP_THINKS;
    c->app_at = hf__driver_soon(c, c->plan->think_ns);
    c->poll_at = HF__NEVER;
}

static unsigned feed(struct hf__sim_client *c, const struct hf__event *e)
{
    unsigned duties = hf__grant_step(&c->grant, e);

    if ((duties & HF__DO_RENEW) != 0 &&
        !is_mutant(c, HF__MUTANT_NEVER_RENEWS)) {
        hf__driver_send(c, &c->renewal, HF__OP_RENEW, c->token);
    }
    if ((duties & HF__DO_RELEASE) != 0) {
        hf__driver_send(c, &c->release, HF__OP_RELEASE, c->token);
    }
    if ((duties & HF__DO_GIVE_BACK) != 0) {
        hf__debt_owe(c, c->token);
    }
    if ((duties & HF__DO_TELL) != 0) {
        c->tally->expired += c->grant.reason == HF_REASON_EXPIRED;
        hf__driver_note(c, HF__DEED_IS_TOLD, -1, (int64_t)c->grant.reason);
        think(c);
    }
    return duties;
}

/* ---- claiming ----------------------------------------------------------- */

static void attempt(struct hf__sim_client *c)
{
    c->poll_at = HF__NEVER;
    hf__driver_send(c, &c->claim, HF__OP_ACQUIRE, c->token);
}

void hf__driver_claim(struct hf__sim_client *c)
{
    c->claim_no++;
    if (c->token == 0 || !is_mutant(c, HF__MUTANT_TOKEN_REUSED)) {
        c->token = ++c->world->seq;
    }
    c->is_uncertain = false;
    hf__driver_end_call(
        &c->renewal); /* of the last grant: its answer comes late now */
    hf__grant_init(&c->grant, c->plan->lease_ms, c->plan->auto_renew);
    hf__driver_note(c, HF__DEED_CLAIMS, -1, (int64_t)c->claim_no);
    attempt(c);
}

void hf__driver_give_up(struct hf__sim_client *c)
{
    hf__driver_note(c, HF__DEED_GIVES_UP, -1, c->is_uncertain);
    if (c->is_uncertain || c->claim.id != 0) {
        hf__debt_owe(c, c->token);
    }
    hf__driver_end_call(&c->claim);
    think(c);
}

/* From when a lease that was just confirmed is counted. */
static hf__time counted_from(const struct hf__sim_client *c,
                             const struct hf__message *m)
{
    if (is_mutant(c, HF__MUTANT_LEASE_FROM_REPLY)) {
        return hf__driver_now(c);
    }
    if (is_mutant(c, HF__MUTANT_NO_MARGIN)) {
        return hf__after_ns(m->sent, c->plan->lease_ns / 100 + 5 * HF__MS);
    }
    return m->sent;
}

static void hear_grant(struct hf__sim_client *c, const struct hf__message *m)
{
    struct hf__view view;
    unsigned duties = feed(c, &(struct hf__event){.kind = HF__EVENT_GRANTED,
                                                  .now = hf__driver_now(c),
                                                  .sent = counted_from(c, m),
                                                  .fence = m->fence,
                                                  .seen_fence = c->seen_fence});

    if (c->grant.phase != HF__PHASE_HELD) {
        HF_ASSERT(duties == HF__DO_GIVE_BACK);
        c->tally->late_grants++;
        think(c);
        return;
    }
    c->tally->grants++;
    c->tally->resettled += c->is_uncertain;
    c->seen_fence = m->fence;
    c->app = HF__APP_HOLDS;
    c->hold_until = hf__driver_soon(c, c->plan->hold_ns);
    c->app_at = c->hold_until;
    if (!c->plan->auto_renew) {
        c->app_at =
            hf__earlier(c->hold_until, hf__driver_soon(c, c->plan->lease_ns));
    }
    hf__driver_note(c, HF__DEED_HOLDS, -1, (int64_t)m->fence);
    hf__sim_client_view(c, &view);
    hf__oracle_confirmed(c->oracle, m, &view);
    hf__oracle_granted(c->oracle, m);
}

static void hear_claim(struct hf__sim_client *c, const struct hf__message *m)
{
    hf__driver_end_call(&c->claim);
    if (m->result == HF_OK) {
        hear_grant(c, m);
        return;
    }
    c->seen_fence = m->fence > c->seen_fence ? m->fence : c->seen_fence;
    c->poll_at = hf__driver_soon(c, c->plan->poll_ns);
}

/* ---- holding ------------------------------------------------------------ */

void hf__driver_renew(struct hf__sim_client *c)
{
    hf__time now = hf__driver_now(c);

    feed(c, &(struct hf__event){.kind = HF__EVENT_RENEW_BEGUN, .now = now});
    if (hf__grant_is_held(&c->grant, now)) {
        hf__driver_send(c, &c->renewal, HF__OP_RENEW, c->token);
    }
}

void hf__driver_release(struct hf__sim_client *c)
{
    c->app = HF__APP_RELEASES;
    c->app_at = HF__NEVER;
    feed(c, &(struct hf__event){.kind = HF__EVENT_RELEASE,
                                .now = hf__driver_now(c)});
}

/* As if the core did not look at the clock, nor at what it had decided. */
static void revive(struct hf__sim_client *c, struct hf__event *e)
{
    e->now = e->sent;
    if (c->grant.phase == HF__PHASE_LOST) {
        c->grant.phase = HF__PHASE_HELD;
        c->app = HF__APP_HOLDS;
        c->app_at = c->hold_until;
    }
}

static void hear_renewal(struct hf__sim_client *c, const struct hf__message *m)
{
    struct hf__view view;
    struct hf__event e = {.kind = HF__EVENT_RENEWED,
                          .now = hf__driver_now(c),
                          .sent = counted_from(c, m),
                          .reason = m->reason};

    hf__sim_client_view(c, &view);
    if (m->result != HF_OK) {
        e.kind = HF__EVENT_REFUSED;
        c->tally->refused += view.is_held;
    } else {
        hf__oracle_confirmed(c->oracle, m, &view);
        c->tally->recovered += c->grant.phase == HF__PHASE_AT_RISK;
        c->tally->late_renewals += !view.is_held;
        if (is_mutant(c, HF__MUTANT_REVIVES)) {
            revive(c, &e);
        }
    }
    feed(c, &e);
}

static void end_release(struct hf__sim_client *c, int result, hf_reason reason)
{
    hf__driver_end_call(&c->release);
    feed(c, &(struct hf__event){.kind = HF__EVENT_RELEASE_ENDED,
                                .now = hf__driver_now(c),
                                .result = result,
                                .reason = reason});
    think(c);
}

/* ---- answers ------------------------------------------------------------ */

static bool is_ours(const struct hf__sim_client *c)
{
    return c->grant.phase == HF__PHASE_HELD ||
           c->grant.phase == HF__PHASE_AT_RISK;
}

/* Nobody waits for it any more. */
static void hear_late(struct hf__sim_client *c, const struct hf__message *m)
{
    bool is_alive =
        m->token == c->token && (c->app == HF__APP_CLAIMS || is_ours(c));

    hf__driver_note(c, HF__DEED_HEARS_LATE, (int)m->op, m->result);
    if (m->op == HF__OP_ACQUIRE && m->result == HF_OK && !is_alive) {
        hf__debt_owe(c, m->token);
    }
    if (m->op == HF__OP_RENEW && m->token == c->token && c->plan->hears_late) {
        hear_renewal(c, m);
    }
}

void hf__driver_hear(struct hf__sim_client *c, const struct hf__message *m)
{
    if (hf__debt_hear(c, m)) {
        return;
    }
    hf__driver_note(c, HF__DEED_HEARS, (int)m->op, m->result);
    if (m->id == c->claim.id) {
        hear_claim(c, m);
    } else if (m->id == c->renewal.id) {
        hf__driver_end_call(&c->renewal);
        hear_renewal(c, m);
    } else if (m->id == c->release.id) {
        end_release(c, m->result, m->reason);
    } else {
        hear_late(c, m);
    }
}

/* ---- timers ------------------------------------------------------------- */

static void tick_limits(struct hf__sim_client *c)
{
    if (hf__driver_is_past(c, c->claim.until)) {
        hf__driver_note(c, HF__DEED_HEARS_NOTHING, HF__OP_ACQUIRE, 0);
        c->is_uncertain = true;
        attempt(c);
    }
    if (hf__driver_is_past(c, c->renewal.until)) {
        hf__driver_note(c, HF__DEED_HEARS_NOTHING, HF__OP_RENEW, 0);
        hf__driver_end_call(&c->renewal);
        feed(c, &(struct hf__event){.kind = HF__EVENT_RENEW_FAILED,
                                    .now = hf__driver_now(c)});
        if (is_mutant(c, HF__MUTANT_RENEWS_BLINDLY)) {
            hf__driver_send(c, &c->renewal, HF__OP_RENEW, c->token);
        }
    }
    if (hf__driver_is_past(c, c->release.until)) {
        hf__driver_note(c, HF__DEED_HEARS_NOTHING, HF__OP_RELEASE, 0);
        end_release(c, HF_EUNKNOWN, HF_REASON_NONE);
    }
}

void hf__driver_tick(struct hf__sim_client *c)
{
    hf__time now = hf__driver_now(c);

    tick_limits(c);
    if (hf__driver_is_past(c, hf__grant_next_tick(&c->grant))) {
        feed(c, &(struct hf__event){.kind = HF__EVENT_TICK, .now = now});
    }
    if (hf__driver_is_past(c, c->poll_at)) {
        attempt(c);
    }
    hf__debt_tick(c);
}

hf__time hf__driver_next(const struct hf__sim_client *c)
{
    hf__time next = hf__earlier(c->poll_at, hf__grant_next_tick(&c->grant));

    next = hf__earlier(next, c->claim.until);
    next = hf__earlier(next, c->renewal.until);
    next = hf__earlier(next, c->release.until);
    return hf__earlier(next, hf__debt_next(c));
}
