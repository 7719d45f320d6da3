/* SPDX-License-Identifier: MIT */
/*
 * From a wish to a grant. This file decides what an attempt's verdict leads
 * to: a grant, another attempt with the same token, or giving back what was
 * won and beginning anew; and that a quorum's fence is raised before it is
 * told to anybody.
 */
#include "tests/sim/sim_driver.h"

/* Permille of a crowd's claims that ask once, and of those for a slot that
 * believe in one more than there are. */
enum { TRIES = 100, MISFITS = 30 };

void hf__driver_think(struct hf__sim_client *c)
{
    hf__work_stop(c);
    c->app = HF__APP_THINKS;
    c->app_at =
        c->is_draining ? HF__NEVER : hf__driver_soon(c, c->plan->think_ns);
    c->poll_at = HF__NEVER;
}

void hf__driver_end_session(struct hf__sim_client *c)
{
    if (c->session != 0) {
        hf__network_close(c->network, c->index, c->session);
        c->session = 0;
    }
}

/* ---- attempts ----------------------------------------------------------- */

static bool is_quorum(const struct hf__sim_client *c)
{
    return c->plan->model == HF__MODEL_QUORUM;
}

/* How this claim wants its name. */
static void draw_manner(struct hf__sim_client *c)
{
    const struct hf__plan *p = c->plan;

    c->manner = (struct hf__manner){.mode = HF__MODE_EXCLUSIVE};
    c->queueing = HF__QUEUE_NEVER;
    if (p->model != HF__MODEL_CROWD) {
        return;
    }
    if (hf__world_chance(c->world, p->shared)) {
        c->manner.mode = HF__MODE_SHARED;
    } else if (hf__world_chance(c->world, p->slotted)) {
        c->manner.mode = HF__MODE_SLOTS;
        c->manner.slots = p->slots[hf__plan_name(p, c->index)] +
                          hf__world_chance(c->world, MISFITS);
    }
    if (!hf__world_chance(c->world, TRIES)) {
        c->queueing = hf__world_chance(c->world, p->fair)
                          ? HF__QUEUE_ALWAYS
                          : HF__QUEUE_BEHIND_SHARED;
    }
}

static void draw_token(struct hf__sim_client *c)
{
    if (c->token == 0 || !hf__driver_is_mutant(c, HF__MUTANT_TOKEN_REUSED)) {
        c->token = ++c->world->seq;
    }
    c->invoked = c->world->now;
    c->is_uncertain = false;
}

void hf__driver_attempt(struct hf__sim_client *c)
{
    c->poll_at = HF__NEVER;
    if (is_quorum(c) && hf__debt_is_any(c)) {
        c->poll_at = hf__driver_soon(c, c->plan->poll_ns);
        return;
    }
    if (c->token == 0) {
        draw_token(c);
    }
    if (c->plan->model == HF__MODEL_SESSION && c->session == 0) {
        c->session = ++c->world->seq;
        hf__network_connect(c->network, c->index);
    }
    c->claim.token = c->token;
    hf__round_send(c, &c->claim, HF__OP_ACQUIRE, 0, HF__ALL_MEMBERS);
}

void hf__driver_begin(struct hf__sim_client *c)
{
    c->claim_no++;
    c->has_ticket = false;
    c->slot = -1;
    c->claimed_at = hf__driver_now(c);
    c->has_napped = false;
    c->store->name_lives = true;
    c->parcel.token = 0;
    c->is_adopted = false;
    /* Of the last grant: its answer comes late now. */
    hf__round_end(&c->renewal);
    hf__grant_init(&c->grant, c->plan->lease_ms, c->plan->auto_renew);
    if (!hf__driver_is_mutant(c, HF__MUTANT_HOLDS_PAST_LIMIT)) {
        c->grant.max_hold_ms = c->plan->max_hold_ms;
    }
}

void hf__driver_claim(struct hf__sim_client *c)
{
    hf__driver_begin(c);
    if (c->role == HF__ROLE_ALONE) {
        draw_manner(c);
    }
    draw_token(c);
    hf__driver_note(c, HF__DEED_CLAIMS, -1, (int64_t)c->claim_no);
    hf__driver_attempt(c);
}

void hf__driver_give_up(struct hf__sim_client *c)
{
    bool is_out = c->claim.id != 0 || c->raise.id != 0;
    bool is_ours = c->token != 0 && c->parcel.token == 0;

    hf__driver_note(c, HF__DEED_GIVES_UP, -1, c->is_uncertain);
    c->tally->timed_out++;
    c->store->name_lives = false;
    c->tally->returned += c->has_ticket;
    is_ours =
        is_ours &&
        (c->is_uncertain || is_out || c->session != 0 ||
         (c->has_ticket && !hf__driver_is_mutant(c, HF__MUTANT_TICKET_KEPT)));
    if (is_ours) {
        hf__debt_undo(c, c->token);
    }
    hf__round_end(&c->claim);
    hf__round_end(&c->raise);
    hf__driver_think(c);
}

/* ---- verdicts ----------------------------------------------------------- */

void hf__driver_grant(struct hf__sim_client *c, const struct hf__round *won,
                      uint64_t fence)
{
    struct hf__view view;
    unsigned duties = hf__driver_feed(
        c, &(struct hf__event){.kind = HF__EVENT_GRANTED,
                               .now = hf__driver_now(c),
                               .sent = hf__driver_counted_from(c, won->sent),
                               .fence = fence,
                               .seen_fence = c->seen_fence});

    if (c->grant.phase != HF__PHASE_HELD) {
        HF_ASSERT(duties == HF__DO_GIVE_BACK);
        if (c->role != HF__ROLE_ALONE) {
            c->role = HF__ROLE_FAILED;
        }
        c->tally->late_grants++;
        hf__driver_think(c);
        return;
    }
    c->slot = won->slot;
    c->has_ticket = false;
    c->tally->shares += c->manner.mode != HF__MODE_EXCLUSIVE;
    c->tally->grants++;
    c->tally->resettled += c->is_uncertain;
    c->seen_fence = fence;
    c->app = HF__APP_HOLDS;
    c->hold_until = c->is_draining ? hf__driver_now(c)
                                   : hf__driver_soon(c, c->plan->hold_ns);
    if (c->role != HF__ROLE_ALONE) {
        c->role = HF__ROLE_KEEPS;
        c->hold_until = c->many->until;
    }
    c->app_at = c->hold_until;
    if (!c->plan->auto_renew) {
        c->app_at =
            hf__earlier(c->hold_until, hf__driver_soon(c, c->plan->lease_ns));
    }
    hf__driver_note(c, HF__DEED_HOLDS, -1, (int64_t)fence);
    hf__sim_client_view(c, &view);
    hf__oracle_confirmed(c->oracle, c->index, true, won->sent, &view);
    hf__oracle_granted(c->oracle,
                       &(struct hf__grant_fact){.client = c->index,
                                                .is_adopted = c->is_adopted,
                                                .manner = c->manner,
                                                .token = c->token,
                                                .fence = fence,
                                                .invoked = c->invoked,
                                                .asked = won->sent_true,
                                                .ok = c->world->now});
    if (c->role == HF__ROLE_ALONE && c->manner.mode == HF__MODE_EXCLUSIVE) {
        hf__work_begin(c);
    }
}

/* A quorum is not asked again with a token that some have granted and some
 * refused: two clients with half of it each would wait for ever. */
static void begin_anew(struct hf__sim_client *c, const struct hf__quorum *q)
{
    if (q->granted > 0 || q->unknown > 0 || c->is_uncertain) {
        c->tally->split += q->granted > 0;
        hf__debt_undo(c, c->token);
    }
    if (!hf__driver_is_mutant(c, HF__MUTANT_TOKEN_REUSED)) {
        c->token = 0;
    }
    c->poll_at = hf__driver_soon(c, c->plan->poll_ns);
}

/* It asked once; what may have been applied is given back. */
static void leave(struct hf__sim_client *c)
{
    if (c->is_uncertain || c->has_ticket) {
        hf__debt_owe(c, c->token, HF__ALL_MEMBERS);
    }
    hf__driver_think(c);
}

static void try_again(struct hf__sim_client *c, const struct hf__round *done,
                      int verdict)
{
    hf__oracle_saw(c->oracle, c->index, done->quorum.fence);
    if (done->quorum.fence > c->seen_fence) {
        c->seen_fence = done->quorum.fence;
    }
    if (verdict == HF_BUSY && c->plan->model == HF__MODEL_CROWD) {
        c->is_uncertain = false;
        c->tally->queued += done->is_queued && !c->has_ticket;
        c->has_ticket = done->is_queued;
    }
    if (is_quorum(c)) {
        begin_anew(c, &done->quorum);
    } else if (c->role == HF__ROLE_TRIES) {
        c->role = verdict == HF_BUSY ? HF__ROLE_REFUSED : HF__ROLE_FAILED;
        c->is_uncertain = verdict != HF_BUSY;
        leave(c);
    } else if (verdict == HF_EINVAL ||
               (verdict == HF_BUSY && c->plan->model == HF__MODEL_CROWD &&
                c->queueing == HF__QUEUE_NEVER)) {
        c->tally->misfits += verdict == HF_EINVAL;
        leave(c);
    } else if (verdict == HF_EUNKNOWN) {
        /* Idempotent by token: what was perhaps applied is found again. */
        c->is_uncertain = true;
        hf__driver_attempt(c);
    } else {
        c->poll_at = hf__driver_soon(c, c->plan->poll_ns);
    }
}

/* ---- adoption ----------------------------------------------------------- */

static void take_over(struct hf__sim_client *c, const struct hf__round *won)
{
    uint64_t fence = c->parcel.fence;

    if (!is_quorum(c) && won->quorum.fence != 0) {
        /* An acquire that came late may have made a lapsed grant anew. */
        fence = won->quorum.fence;
    }
    if (c->seen_fence == fence) {
        c->seen_fence = 0; /* it was ours before */
    }
    c->parcel.token = 0;
    c->is_adopted = true;
    c->tally->adopted++;
    hf__driver_grant(c, won, fence);
}

bool hf__driver_adopt(struct hf__sim_client *c)
{
    struct hf__parcel found = c->resource->parcel;

    if (found.token == 0 || c->world->now > hf__plan_detaches_until(c->plan)) {
        return false;
    }
    c->resource->parcel.token = 0;
    if (is_quorum(c) && c->world->now >= found.until) {
        return false;
    }
    hf__driver_begin(c);
    c->parcel = found;
    c->manner = found.manner;
    c->queueing = HF__QUEUE_NEVER;
    c->token = found.token;
    c->invoked = found.invoked;
    c->is_uncertain = false;
    hf__driver_note(c, HF__DEED_ADOPTS, -1, (int64_t)found.fence);
    c->claim.token = c->token;
    if (hf__driver_is_mutant(c, HF__MUTANT_ADOPTS_BLINDLY)) {
        c->claim.sent = hf__driver_now(c);
        c->claim.sent_true = c->world->now;
        take_over(c, &c->claim);
        return true;
    }
    /* A renewal by token proves that it is still there. */
    hf__round_send(c, &c->claim, HF__OP_RENEW, found.fence, HF__ALL_MEMBERS);
    return true;
}

/* What is not surely there is left to its lease. */
static void end_adoption(struct hf__sim_client *c, const struct hf__round *done,
                         int verdict)
{
    if (verdict == HF_OK) {
        take_over(c, done);
    } else {
        hf__driver_think(c);
    }
}

/* Has a majority given one fence? The highest, if not. */
static bool is_agreed(struct hf__sim_client *c, const struct hf__round *done,
                      uint64_t *ret_fence)
{
    int needed = hf__driver_is_mutant(c, HF__MUTANT_FEW_AGREE)
                     ? 2
                     : hf__quorum_majority(c->plan->members);

    *ret_fence = done->quorum.fence;
    for (int i = 0; i < c->plan->members; i++) {
        int same = 0;

        for (int j = 0; j < c->plan->members; j++) {
            same += (done->granted >> i & done->granted >> j & 1) != 0 &&
                    done->fences[i] == done->fences[j];
        }
        if (same >= needed) {
            *ret_fence = done->fences[i];
            c->tally->agreed++;
            return true;
        }
    }
    return false;
}

void hf__driver_claimed(struct hf__sim_client *c, const struct hf__round *done)
{
    uint64_t fence = done->quorum.fence;
    int verdict = hf__round_verdict(c, done);

    if (c->parcel.token != 0) {
        end_adoption(c, done, verdict);
    } else if (verdict != HF_OK) {
        try_again(c, done, verdict);
    } else if (is_quorum(c) && !is_agreed(c, done, &fence) &&
               !hf__driver_is_mutant(c, HF__MUTANT_FENCE_BEFORE_RAISE)) {
        c->won = *done;
        c->raise.token = c->token;
        hf__round_send(c, &c->raise, HF__OP_RAISE, done->quorum.fence,
                       HF__ALL_MEMBERS);
    } else {
        hf__driver_grant(c, done, fence);
    }
}

void hf__driver_raised(struct hf__sim_client *c, const struct hf__round *done)
{
    if (hf__round_verdict(c, done) != HF_OK) {
        c->is_uncertain = true;
        begin_anew(c, &done->quorum);
        return;
    }
    c->tally->raised++;
    hf__driver_grant(c, &c->won, done->fence);
}
