/* SPDX-License-Identifier: MIT */
/*
 * From a grant to its end. This file obeys the core: it sends what the core
 * leaves as a duty, and feeds it what becomes of that. A member of a quorum
 * that forgot the grant is told of it again by its renewals, with its fence.
 */
#include "tests/sim/sim_driver.h"

bool hf__driver_is_ours(const struct hf__sim_client *c)
{
    return c->grant.phase == HF__PHASE_HELD ||
           c->grant.phase == HF__PHASE_AT_RISK;
}

hf__time hf__driver_counted_from(const struct hf__sim_client *c, hf__time sent)
{
    if (hf__driver_is_mutant(c, HF__MUTANT_LEASE_FROM_REPLY)) {
        return hf__driver_now(c);
    }
    if (hf__driver_is_mutant(c, HF__MUTANT_NO_MARGIN)) {
        return hf__after_ns(sent, c->plan->lease_ns / 100 + 5 * HF__MS);
    }
    return sent;
}

/* ---- obeying the core --------------------------------------------------- */

static void send_renewal(struct hf__sim_client *c)
{
    bool is_shared = hf__driver_is_mutant(c, HF__MUTANT_SHARED_SESSION);

    if (is_shared && !hf__driver_is_past(c, c->stuck_until)) {
        c->has_renewal_due = true;
        return;
    }
    c->renewal.token = c->token;
    hf__round_send(c, &c->renewal, HF__OP_RENEW, c->grant.fence,
                   HF__ALL_MEMBERS);
}

static void send_release(struct hf__sim_client *c)
{
    /* The core settles it first; one that got no answer may come later. */
    if (c->plan->model == HF__MODEL_QUORUM && c->renewal.id != 0) {
        c->has_release_due = true;
        return;
    }
    c->has_release_due = false;
    c->release.token = c->token;
    hf__round_send(c, &c->release,
                   c->heir != 0 ? HF__OP_HANDOVER : HF__OP_RELEASE,
                   c->grant.fence, HF__ALL_MEMBERS);
}

unsigned hf__driver_feed(struct hf__sim_client *c, const struct hf__event *e)
{
    unsigned duties = hf__grant_step(&c->grant, e);

    if ((duties & HF__DO_RENEW) != 0 &&
        !hf__driver_is_mutant(c, HF__MUTANT_NEVER_RENEWS)) {
        send_renewal(c);
    }
    if ((duties & HF__DO_RELEASE) != 0 &&
        !hf__driver_is_mutant(c, HF__MUTANT_RELEASE_ORDER)) {
        send_release(c);
    }
    if ((duties & HF__DO_GIVE_BACK) != 0) {
        hf__debt_owe(c, c->token, HF__ALL_MEMBERS);
    }
    if ((duties & HF__DO_TELL) != 0) {
        c->tally->expired += c->grant.reason == HF_REASON_EXPIRED;
        c->tally->hold_limits += hf__driver_is_past(c, c->grant.hold_end) &&
                                 c->grant.max_hold_ms != 0;
        hf__driver_note(c, HF__DEED_IS_TOLD, -1, (int64_t)c->grant.reason);
        hf__driver_end_session(c); /* after the loss, not before */
        hf__round_end(&c->release);
        if (c->heir != 0) {
            hf__debt_owe(c, c->heir, HF__ALL_MEMBERS);
            c->heir = 0;
        }
        c->has_release_due = false;
        hf__driver_think(c);
    }
    return duties;
}

/* ---- renewals ----------------------------------------------------------- */

void hf__driver_renew(struct hf__sim_client *c)
{
    hf__time now = hf__driver_now(c);

    hf__driver_feed(
        c, &(struct hf__event){.kind = HF__EVENT_RENEW_BEGUN, .now = now});
    if (hf__grant_is_held(&c->grant, now)) {
        send_renewal(c);
    }
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

static void confirm(struct hf__sim_client *c, const struct hf__round *done)
{
    struct hf__view view;
    struct hf__event e = {.kind = HF__EVENT_RENEWED,
                          .now = hf__driver_now(c),
                          .sent = hf__driver_counted_from(c, done->sent)};

    hf__sim_client_view(c, &view);
    hf__oracle_confirmed(c->oracle, c->index, false, done->sent, &view);
    hf__oracle_renewed(c->oracle, done->token, done->sent_true);
    c->tally->recovered += c->grant.phase == HF__PHASE_AT_RISK;
    c->tally->late_renewals += !view.is_held;
    if (hf__driver_is_mutant(c, HF__MUTANT_REVIVES)) {
        revive(c, &e);
    }
    if (view.phase == HF__PHASE_LOST) {
        hf__oracle_owes(c->oracle, c->index, done->token);
    }
    hf__driver_feed(c, &e);
}

void hf__driver_renewed(struct hf__sim_client *c, const struct hf__round *done)
{
    int verdict = hf__round_verdict(c, done);
    struct hf__event e = {.kind = HF__EVENT_RENEW_FAILED,
                          .now = hf__driver_now(c),
                          .reason = done->reason};

    if (verdict == HF_OK) {
        confirm(c, done);
        return;
    }
    if (verdict > 0) {
        e.kind = HF__EVENT_REFUSED;
        hf__oracle_refused(c->oracle, c->index, done->token);
        c->tally->refused += hf__grant_is_held(&c->grant, e.now);
    }
    if (verdict < 0 && hf__driver_is_mutant(c, HF__MUTANT_NO_RETRY)) {
        hf__driver_feed(c, &e);
        c->grant.renew_at = HF__NEVER;
        return;
    }
    hf__driver_feed(c, &e);
    if (verdict < 0 && hf__driver_is_mutant(c, HF__MUTANT_RENEWS_BLINDLY)) {
        send_renewal(c);
    }
}

/* Who adopts has looked while the lease ran, and renews within his limit; so
 * nobody does who comes when members that forgot what followed count again:
 * there a quorum makes anew what is renewed. */
static int64_t adoptable_until(const struct hf__sim_client *c)
{
    return hf__driver_true(c, c->grant.deadline) + c->plan->limit_ns;
}

void hf__driver_detach(struct hf__sim_client *c)
{
    hf__work_stop(c);
    hf__driver_feed(c, &(struct hf__event){.kind = HF__EVENT_DETACHED,
                                           .now = hf__driver_now(c)});
    if (c->grant.phase != HF__PHASE_DETACHED) {
        return; /* it was lost just now */
    }
    c->tally->detached++;
    hf__driver_note(c, HF__DEED_DETACHES, -1, (int64_t)c->grant.fence);
    c->left[c->left_count++ % HF__LEFT_MAX] = c->token;
    c->resource->parcel = (struct hf__parcel){.until = adoptable_until(c),
                                              .token = c->token,
                                              .fence = c->grant.fence,
                                              .invoked = c->invoked,
                                              .manner = c->manner};
    hf__driver_think(c);
}

/* ---- the end ------------------------------------------------------------ */

void hf__driver_release(struct hf__sim_client *c)
{
    hf__work_stop(c);
    c->app = HF__APP_RELEASES;
    c->app_at = HF__NEVER;
    if (hf__driver_is_mutant(c, HF__MUTANT_RELEASE_ORDER)) {
        send_release(c);
        return;
    }
    hf__driver_feed(c, &(struct hf__event){.kind = HF__EVENT_RELEASE,
                                           .now = hf__driver_now(c)});
}

static void release_again(struct hf__sim_client *c)
{
    struct hf__event e = {.kind = HF__EVENT_RELEASE, .now = hf__driver_now(c)};

    hf__oracle_released_again(c->oracle, hf__grant_step(&c->grant, &e));
}

/* The next claim of this process has it. */
static void go_on_as_heir(struct hf__sim_client *c,
                          const struct hf__round *done, uint64_t heir)
{
    hf__driver_begin(c);
    c->token = heir;
    c->invoked = done->sent_true;
    c->is_uncertain = false;
    c->tally->handed++;
    hf__driver_note(c, HF__DEED_IS_HEIR, -1, (int64_t)done->quorum.fence);
    hf__driver_grant(c, done, done->quorum.fence);
}

/* True: a hand-over that was refused for those in line; it is released. */
static bool is_refused(struct hf__sim_client *c, int verdict)
{
    if (c->heir == 0 || verdict != HF_BUSY) {
        return false;
    }
    c->tally->not_handed++;
    c->heir = 0;
    send_release(c);
    return true;
}

void hf__driver_released(struct hf__sim_client *c, const struct hf__round *done)
{
    int verdict = hf__round_verdict(c, done);
    uint64_t heir = c->heir;

    if (is_refused(c, verdict)) {
        return;
    }
    c->heir = 0;
    if (verdict > 0) {
        hf__oracle_refused(c->oracle, c->index, done->token);
    } else if (verdict < 0) {
        hf__oracle_owes(c->oracle, c->index, done->token);
    }
    if (hf__driver_is_mutant(c, HF__MUTANT_RELEASE_ORDER)) {
        hf__driver_feed(c, &(struct hf__event){.kind = HF__EVENT_RELEASE,
                                               .now = hf__driver_now(c)});
    }
    hf__driver_feed(c, &(struct hf__event){.kind = HF__EVENT_RELEASE_ENDED,
                                           .now = hf__driver_now(c),
                                           .result = verdict,
                                           .reason = done->reason});
    release_again(c);
    hf__driver_end_session(c);
    if (heir != 0 && verdict == HF_OK) {
        go_on_as_heir(c, done, heir);
        return;
    }
    if (heir != 0) {
        hf__debt_owe(c, heir, HF__ALL_MEMBERS); /* it may have it */
    }
    hf__driver_think(c);
}

void hf__driver_hold_tick(struct hf__sim_client *c)
{
    if (c->has_release_due && c->grant.phase == HF__PHASE_RELEASING) {
        send_release(c);
    }
    if (c->has_renewal_due && hf__driver_is_past(c, c->stuck_until)) {
        c->has_renewal_due = false;
        if (hf__grant_is_held(&c->grant, hf__driver_now(c)) &&
            c->app == HF__APP_HOLDS) {
            send_renewal(c);
        }
    }
}
