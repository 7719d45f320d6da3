/* SPDX-License-Identifier: MIT */
/*
 * The rules themselves. This file decides what counts as a broken promise;
 * the first one found ends the run.
 */
#include "tests/sim/oracles.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void hf__oracle_init(struct hf__oracle *o, const struct hf__plan *plan,
                     unsigned watched)
{
    memset(o, 0, sizeof *o);
    o->plan = plan;
    o->watched = watched;
}

__attribute__((format(printf, 3, 4))) static void
convict(struct hf__oracle *o, unsigned rule, const char *format, ...)
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

void hf__oracle_excuse(struct hf__oracle *o, uint64_t token)
{
    HF_ASSERT(o->excused_count < HF__EXCUSED_MAX);
    o->excused[o->excused_count++] = token;
}

static bool is_excused(const struct hf__oracle *o, uint64_t token)
{
    for (int i = 0; i < o->excused_count; i++) {
        if (o->excused[i] == token) {
            return true;
        }
    }
    return false;
}

/* ---- as it happens ------------------------------------------------------ */

void hf__oracle_granted(struct hf__oracle *o, const struct hf__message *m)
{
    if (is_excused(o, m->token)) {
        return;
    }
    if (m->fence <= o->last_fence) {
        convict(o, HF__RULE_FENCE,
                "client %d holds fence %" PRIu64 " after %" PRIu64, m->client,
                m->fence, o->last_fence);
    }
    o->last_fence = m->fence;
}

void hf__oracle_confirmed(struct hf__oracle *o, const struct hf__message *m,
                          const struct hf__view *view)
{
    struct hf__memory *c = &o->clients[m->client];
    int64_t lease_ns = o->plan->lease_ns;
    int64_t until = m->sent.ns + lease_ns - lease_ns / 100 - 5 * HF__MS;

    if (m->op == HF__OP_ACQUIRE) {
        c->deadline.ns = until;
    } else if (view->now.ns < c->deadline.ns && c->deadline.ns < until) {
        c->deadline.ns = until;
    }
}

void hf__oracle_sent(struct hf__oracle *o, const struct hf__message *m,
                     const struct hf__view *view)
{
    if (m->op != HF__OP_RENEW) {
        return;
    }
    if (view->now.ns >= o->clients[m->client].deadline.ns) {
        convict(o, HF__RULE_RENEW_SENT,
                "client %d sends a renewal after its deadline", m->client);
    }
    if (view->phase != HF__PHASE_HELD && view->phase != HF__PHASE_AT_RISK) {
        convict(o, HF__RULE_RENEW_SENT, "client %d sends a renewal in phase %d",
                m->client, (int)view->phase);
    }
}

void hf__oracle_applied(struct hf__oracle *o, const struct hf__message *m,
                        const struct hf__row *before,
                        const struct hf__model_store *s, int64_t true_ns)
{
    bool was_held =
        before->token != 0 && hf__model_store_now(s, true_ns) < before->ends;
    bool has_changed = before->token != s->row.token ||
                       before->ends != s->row.ends ||
                       before->fence != s->row.fence;

    if (has_changed && was_held && before->token != m->token) {
        convict(o, HF__RULE_ROW,
                "token %" PRIu64 " changes the row of %" PRIu64, m->token,
                before->token);
    }
    if (has_changed && m->op != HF__OP_ACQUIRE && before->token != m->token) {
        convict(o, HF__RULE_ROW,
                "token %" PRIu64 " changes a row that it does not own",
                m->token);
    }
    if (s->row.fence < before->fence) {
        convict(o, HF__RULE_ROW, "the stored fence falls from %" PRIu64,
                before->fence);
    }
}

/* ---- after every step --------------------------------------------------- */

static void check_ownership(struct hf__oracle *o, int i,
                            const struct hf__view *view,
                            const struct hf__model_store *s, int64_t true_ns)
{
    if (s->row.token != view->token) {
        convict(o, HF__RULE_OWNERSHIP,
                "client %d holds with token %" PRIu64
                ", the store says %" PRIu64,
                i, view->token, s->row.token);
    } else if (hf__model_store_now(s, true_ns) >= s->row.ends) {
        convict(o, HF__RULE_OWNERSHIP,
                "client %d holds %" PRId64 " ns after the end of its lease", i,
                hf__model_store_now(s, true_ns) - s->row.ends);
    }
}

static void check_exclusion(struct hf__oracle *o, const struct hf__view *views,
                            const struct hf__model_store *s, int64_t true_ns)
{
    int holder = -1;

    for (int i = 0; i < o->plan->clients; i++) {
        if (!views[i].is_held || is_excused(o, views[i].token)) {
            continue;
        }
        if (holder >= 0) {
            convict(o, HF__RULE_EXCLUSION, "clients %d and %d both hold",
                    holder, i);
        }
        holder = i;
        check_ownership(o, i, &views[i], s, true_ns);
    }
}

/* Only a renewing client that gained it in quiet times may count on it. */
static void check_health(struct hf__oracle *o, int i,
                         const struct hf__memory *c)
{
    if (o->plan->auto_renew && c->has_held &&
        c->held_at >= o->plan->settle_ns) {
        convict(o, HF__RULE_HEALTHY, "client %d loses a lock in quiet times",
                i);
    }
}

/* One life: claiming, then held once and without a gap, then over for good. */
static void check_life(struct hf__oracle *o, int i, const struct hf__view *view,
                       int64_t true_ns)
{
    struct hf__memory *c = &o->clients[i];
    bool was_final =
        c->last.phase == HF__PHASE_LOST || c->last.phase == HF__PHASE_RELEASED;

    if (view->claim != c->last.claim) {
        c->has_held = false;
        c->has_ended = false;
    } else {
        if (was_final && view->phase != c->last.phase) {
            convict(o, HF__RULE_FINAL, "client %d leaves phase %d for %d", i,
                    (int)c->last.phase, (int)view->phase);
        }
        if (c->has_ended && view->is_held) {
            convict(o, HF__RULE_REVIVAL, "client %d holds again", i);
        }
        if (!was_final && view->phase == HF__PHASE_LOST) {
            check_health(o, i, c);
        }
    }
    if (view->is_held && !c->has_held) {
        c->held_at = true_ns;
    }
    c->has_held = c->has_held || view->is_held;
    c->has_ended = c->has_ended || (c->has_held && !view->is_held);
    c->last = *view;
}

static void check_liveness(struct hf__oracle *o, const struct hf__view *views,
                           int64_t true_ns)
{
    const struct hf__plan *p = o->plan;
    int64_t bound = p->lease_ns + p->lease_ns / 10 + p->limit_ns +
                    2 * p->poll_ns + 10 * p->delay_ns;
    bool is_wanted = false;
    bool is_busy = false;

    for (int i = 0; i < p->clients; i++) {
        is_wanted = is_wanted || views[i].is_claiming;
        is_busy = is_busy || views[i].is_held ||
                  views[i].phase == HF__PHASE_RELEASING;
    }
    if (!is_wanted || is_busy || true_ns < p->settle_ns) {
        o->busy_at = true_ns;
    } else if (true_ns - o->busy_at > bound) {
        convict(o, HF__RULE_LIVENESS,
                "free and wanted for %" PRId64 " ms after the faults",
                (true_ns - o->busy_at) / HF__MS);
    }
}

/* Timers that are due for ever would hang the run, and spin a real core. */
static void check_progress(struct hf__oracle *o, int64_t true_ns)
{
    o->steps = true_ns == o->instant ? o->steps + 1 : 0;
    o->instant = true_ns;
    if (o->steps > HF__STEPS_MAX) {
        convict(o, HF__RULE_LIVENESS, "time stands still: a timer spins");
    }
}

void hf__oracle_check(struct hf__oracle *o, const struct hf__view views[],
                      const struct hf__model_store *s, int64_t true_ns)
{
    check_exclusion(o, views, s, true_ns);
    for (int i = 0; i < o->plan->clients; i++) {
        check_life(o, i, &views[i], true_ns);
    }
    check_liveness(o, views, true_ns);
    check_progress(o, true_ns);
}

void hf__oracle_forget(struct hf__oracle *o, int client)
{
    memset(&o->clients[client], 0, sizeof o->clients[client]);
}
