/* SPDX-License-Identifier: MIT */
/*
 * The rules of one instant: who holds, who owns, what a grant's life is like.
 * This file decides what counts as a broken promise; the first one found ends
 * the run.
 */
#include "tests/sim/oracles.h"

#include "src/backend/crowd.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void hf__oracle_init(struct hf__oracle *o, const struct hf__plan *plan,
                     unsigned watched)
{
    /* The long lists are empty by their counts. */
    o->plan = plan;
    o->watched = watched;
    o->broken = 0;
    o->text[0] = '\0';
    o->lost_updates = 0;
    o->instant = 0;
    o->steps = 0;
    o->vacant_at = INT64_MAX;
    o->free_at = INT64_MAX;
    o->sleepers = 0;
    o->circle_at = INT64_MAX;
    o->useless_at = INT64_MAX;
    for (int i = 0; i < HF__NAMES_MAX; i++) {
        o->lines[i].count = 0;
        o->written[i] = (struct hf__written){.invoked = INT64_MIN};
    }
    for (int i = 0; i < HF__SIM_CLIENTS; i++) {
        o->open_at[i] = o->first_at[i] = INT64_MAX;
    }
    memset(o->clients, 0, sizeof o->clients);
    o->excused_count = 0;
    o->grant_count = 0;
    o->queue_count = 0;
    o->n_released = 0;
    memset(o->released, 0, sizeof o->released);
    memset(o->trails, 0, sizeof o->trails);
}

void hf__oracle_convict(struct hf__oracle *o, unsigned rule, const char *format,
                        ...)
{
    va_list args;

    if (o->broken != 0 || (o->watched & rule) == 0) {
        return;
    }
    o->broken = rule;
    va_start(args, format);
    vsnprintf(o->text, sizeof o->text, format, args);
    va_end(args);
}

bool hf__oracle_is_excused(const struct hf__oracle *o, uint64_t token)
{
    for (int i = 0; i < o->excused_count; i++) {
        if (o->excused[i] == token) {
            return true;
        }
    }
    return false;
}

void hf__oracle_excuse(struct hf__oracle *o, uint64_t token)
{
    if (token == 0 || hf__oracle_is_excused(o, token)) {
        return;
    }
    HF_ASSERT(o->excused_count < HF__EXCUSED_MAX);
    o->excused[o->excused_count++] = token;
}

/* ---- as it happens ------------------------------------------------------ */

void hf__oracle_confirmed(struct hf__oracle *o, int client, bool is_grant,
                          hf__time sent, const struct hf__view *view)
{
    struct hf__memory *c = &o->clients[client];
    int64_t lease_ns = o->plan->lease_ns;
    int64_t until = sent.ns + lease_ns - lease_ns / 100 - 5 * HF__MS;

    if (is_grant) {
        if (view->now.ns >= until) {
            hf__oracle_convict(o, HF__RULE_DUTY,
                               "client %d is granted what is over", client);
        }
        c->deadline.ns = until;
    } else if (view->now.ns < c->deadline.ns && c->deadline.ns < until) {
        c->deadline.ns = until;
    }
}

void hf__oracle_sent(struct hf__oracle *o, const struct hf__message *m,
                     const struct hf__view *view)
{
    struct hf__memory *c = &o->clients[m->client];

    if (m->op == HF__OP_RELEASE) {
        c->given_back = m->token == c->last.token ? m->token : c->given_back;
        c->owed = c->owed == m->token ? 0 : c->owed;
    }
    if (m->op != HF__OP_RENEW) {
        return;
    }
    c->tried_at = view->now;
    if (view->now.ns >= o->clients[m->client].deadline.ns) {
        hf__oracle_convict(o, HF__RULE_RENEW_SENT,
                           "client %d sends a renewal after its deadline",
                           m->client);
    }
    if (view->phase != HF__PHASE_HELD && view->phase != HF__PHASE_AT_RISK) {
        hf__oracle_convict(o, HF__RULE_RENEW_SENT,
                           "client %d sends a renewal in phase %d", m->client,
                           (int)view->phase);
    }
}

void hf__oracle_refused(struct hf__oracle *o, int client, uint64_t token)
{
    o->clients[client].refused = token;
}

void hf__oracle_owes(struct hf__oracle *o, int client, uint64_t token)
{
    if (o->plan->model != HF__MODEL_SESSION) {
        o->clients[client].owed = token;
    }
}

/* ---- after every step --------------------------------------------------- */

/* By which side they may not stand. */
static bool may_both_hold(const struct hf__view *a, const struct hf__view *b)
{
    return hf__manners_agree(a->manner, b->manner) &&
           (a->manner.mode != HF__MODE_SLOTS || a->slot != b->slot);
}

static void check_beside(struct hf__oracle *o, const struct hf__view *views,
                         unsigned holders, int i)
{
    struct hf__manner manner = views[i].manner;

    for (int j = hf__plan_name(o->plan, i); j < i; j += o->plan->names) {
        if ((holders >> j & 1) != 0 && !may_both_hold(&views[j], &views[i])) {
            hf__oracle_convict(o, HF__RULE_EXCLUSION,
                               "clients %d and %d both hold", j, i);
        }
    }
    if (manner.mode == HF__MODE_SLOTS &&
        (views[i].slot < 0 || views[i].slot >= manner.slots)) {
        hf__oracle_convict(o, HF__RULE_EXCLUSION,
                           "client %d holds slot %d of %d", i, views[i].slot,
                           manner.slots);
    }
}

static void check_exclusion(struct hf__oracle *o, const struct hf__view *views,
                            const struct hf__store *s, int64_t true_ns)
{
    int majority =
        o->plan->model == HF__MODEL_CROWD ? 1 : o->plan->members / 2 + 1;
    unsigned holders = 0;

    for (int i = 0; i < o->plan->clients; i++) {
        int owned = 0;

        if (!views[i].is_held || hf__oracle_is_excused(o, views[i].token)) {
            continue;
        }
        check_beside(o, views, holders, i);
        holders |= 1u << i;
        owned = hf__store_owned(s, views[i].token, true_ns);
        if (owned < majority) {
            hf__oracle_convict(o, HF__RULE_OWNERSHIP,
                               "client %d holds with token %" PRIu64
                               ", which owns %d of %d",
                               i, views[i].token, owned, o->plan->members);
        }
    }
}

/* Only a renewing client that gained it in quiet times may count on it. */
static void check_health(struct hf__oracle *o, int i,
                         const struct hf__memory *c)
{
    if (o->plan->auto_renew && o->plan->max_hold_ms == 0 && c->has_held &&
        c->held_at >= o->plan->settle_ns) {
        hf__oracle_convict(o, HF__RULE_HEALTHY,
                           "client %d loses a lock in quiet times", i);
    }
}

static void check_limit(struct hf__oracle *o, int i,
                        const struct hf__view *view)
{
    int64_t held_ns = view->now.ns - o->clients[i].held_from.ns;

    if (o->plan->max_hold_ms != 0 && view->is_held &&
        held_ns >= o->plan->max_hold_ms * HF__MS) {
        hf__oracle_convict(o, HF__RULE_LIMIT,
                           "client %d holds for %" PRId64 " ms of %" PRId64, i,
                           held_ns / HF__MS, o->plan->max_hold_ms);
    }
}

/* By the clock alone, and then at once: not before it is over, and what the
 * store may still think ours is given back. */
static void check_expiry(struct hf__oracle *o, int i,
                         const struct hf__view *view)
{
    const struct hf__memory *c = &o->clients[i];
    int64_t held_ns = view->now.ns - c->held_from.ns;
    bool is_limited =
        o->plan->max_hold_ms != 0 && held_ns >= o->plan->max_hold_ms * HF__MS;
    bool is_free = o->plan->model == HF__MODEL_SESSION
                       ? view->session == 0
                       : c->given_back == view->token;

    if (view->reason != HF_REASON_EXPIRED || c->refused == view->token) {
        return;
    }
    if (hf__before(view->now, c->deadline) && !is_limited) {
        hf__oracle_convict(o, HF__RULE_DUTY,
                           "client %d loses its lock before it is over", i);
    }
    if (!is_free) {
        hf__oracle_convict(o, HF__RULE_DUTY,
                           "client %d does not give back what it lost", i);
    }
}

/* A renewal that failed is tried again while there is time. */
static void check_retry(struct hf__oracle *o, int i,
                        const struct hf__view *view)
{
    struct hf__memory *c = &o->clients[i];
    int64_t most = o->plan->limit_ns + o->plan->lease_ns / 6;
    bool is_due = o->plan->auto_renew && view->is_held &&
                  view->phase == HF__PHASE_AT_RISK && view->is_awake;

    if (!is_due || !c->last.is_awake || c->last.phase != view->phase) {
        c->tried_at = view->now;
    } else if (view->now.ns - c->tried_at.ns > most) {
        hf__oracle_convict(o, HF__RULE_DUTY, "client %d does not renew again",
                           i);
    }
}

/* One life: claiming, then held once and without a gap, then over for good. */
static void check_life(struct hf__oracle *o, int i, const struct hf__view *view,
                       int64_t true_ns)
{
    struct hf__memory *c = &o->clients[i];
    bool was_final = c->last.phase == HF__PHASE_LOST ||
                     c->last.phase == HF__PHASE_RELEASED ||
                     c->last.phase == HF__PHASE_DETACHED;

    if (view->claim != c->last.claim) {
        c->has_held = false;
        c->has_ended = false;
    } else {
        if (was_final && view->phase != c->last.phase) {
            hf__oracle_convict(o, HF__RULE_FINAL,
                               "client %d leaves phase %d for %d", i,
                               (int)c->last.phase, (int)view->phase);
        }
        if (c->has_ended && view->is_held) {
            hf__oracle_convict(o, HF__RULE_REVIVAL, "client %d holds again", i);
        }
        if (!was_final && view->phase == HF__PHASE_LOST) {
            check_health(o, i, c);
            check_expiry(o, i, view);
        }
    }
    if (view->is_held && !c->has_held) {
        c->held_at = true_ns;
        c->held_from = view->now;
    }
    check_limit(o, i, view);
    check_retry(o, i, view);
    if (c->owed != 0) {
        hf__oracle_convict(o, HF__RULE_DUTY,
                           "client %d keeps what it is to give back", i);
    }
    c->has_held = c->has_held || view->is_held;
    c->has_ended = c->has_ended || (c->has_held && !view->is_held);
    c->last = *view;
}

void hf__oracle_check(struct hf__oracle *o, const struct hf__view views[],
                      const struct hf__store *s, int64_t true_ns)
{
    check_exclusion(o, views, s, true_ns);
    for (int i = 0; i < o->plan->clients; i++) {
        if (!views[i].is_same) {
            check_life(o, i, &views[i], true_ns);
        }
    }
    hf__oracle_live(o, views, s, true_ns);
}

void hf__oracle_forget(struct hf__oracle *o, int client)
{
    memset(&o->clients[client], 0, sizeof o->clients[client]);
}
