/* SPDX-License-Identifier: MIT */
/*
 * The rules of time: after the faults the name is given again (L1), a timed
 * claim ends in its time (L2), nobody waits for what is free (L3), no timer
 * spins, and at the end nothing is left (R1). This file decides the bounds.
 */
#include "tests/sim/oracles.h"

#include <inttypes.h>

/* What a call may be late by, as it is on a machine. */
#define GRACE_NS (100 * HF__MS)

void hf__oracle_timed_out(struct hf__oracle *o, int client, int64_t waited_ns)
{
    int64_t asked = o->plan->patience_ns;

    if (waited_ns < asked - HF__MS || waited_ns > asked + GRACE_NS) {
        hf__oracle_convict(o, HF__RULE_WAIT,
                           "client %d waited %" PRId64 " ms of %" PRId64,
                           client, waited_ns / HF__MS, asked / HF__MS);
    }
}

/* One attempt may have just begun and be refused, and another claim's may be
 * in between. */
int64_t hf__oracle_idle_bound(const struct hf__plan *p)
{
    int64_t attempt = p->limit_ns + 8 * p->delay_ns + p->poll_ns;

    /* Attempts that split the members between them all begin again. */
    return p->model == HF__MODEL_QUORUM ? 12 * attempt : 2 * attempt;
}

/* Sessions in line of which nobody is at the other end any more: each may
 * be served, and own until it has been silent for a lease. */
static int count_sleepers(const struct hf__store *s,
                          const struct hf__view views[])
{
    int sleepers = 0;

    for (int i = 0; i < s->line.count; i++) {
        const struct hf__seat *seat = &s->line.seats[i];

        sleepers += views[seat->client].session != seat->session;
    }
    return sleepers;
}

/* Faults over: from the last holder on, by what the clients say. */
static void check_healed(struct hf__oracle *o, const struct hf__view views[],
                         const struct hf__store *s, int64_t true_ns)
{
    const struct hf__plan *p = o->plan;
    int64_t lease = p->lease_ns + p->lease_ns / 10;
    bool is_wanted = false;
    bool is_busy = false;

    for (int i = 0; i < p->clients; i++) {
        is_wanted = is_wanted || views[i].is_claiming;
        is_busy = is_busy || views[i].is_held ||
                  views[i].phase == HF__PHASE_RELEASING;
    }
    if (!is_wanted || is_busy || true_ns < p->settle_ns) {
        o->vacant_at = INT64_MAX;
    } else if (o->vacant_at == INT64_MAX) {
        o->vacant_at = true_ns;
        o->sleepers = count_sleepers(s, views);
    } else if (true_ns - o->vacant_at >
               lease * (1 + o->sleepers) + hf__oracle_idle_bound(p)) {
        hf__oracle_convict(o, HF__RULE_HEALED,
                           "free and wanted for %" PRId64 " ms after faults",
                           (true_ns - o->vacant_at) / HF__MS);
    }
}

/* By what the store says, and of one claim. */
static void check_idle(struct hf__oracle *o, const struct hf__view views[],
                       const struct hf__store *s, int64_t true_ns)
{
    bool is_wanted = false;
    bool is_owned = false;

    for (int i = 0; i < o->plan->clients; i++) {
        is_wanted = is_wanted || views[i].is_claiming;
        is_owned = is_owned || views[i].is_held;
    }
    for (int i = 0; i < o->plan->members && !is_owned; i++) {
        is_owned = o->plan->model != HF__MODEL_QUORUM &&
                   hf__store_is_held(s, i, true_ns);
    }
    if (!is_wanted || is_owned || true_ns < o->plan->settle_ns) {
        o->free_at = INT64_MAX;
    } else if (o->free_at == INT64_MAX) {
        o->free_at = true_ns;
    } else if (true_ns - o->free_at > hf__oracle_idle_bound(o->plan)) {
        hf__oracle_convict(o, HF__RULE_IDLE,
                           "a waiter waits %" PRId64 " ms for a free name",
                           (true_ns - o->free_at) / HF__MS);
    }
}

/* Timers that are due for ever would hang the run, and spin a real core. */
static void check_progress(struct hf__oracle *o, int64_t true_ns)
{
    o->steps = true_ns == o->instant ? o->steps + 1 : 0;
    o->instant = true_ns;
    if (o->steps > HF__STEPS_MAX) {
        hf__oracle_convict(o, HF__RULE_HEALED,
                           "time stands still: a timer spins");
    }
}

void hf__oracle_live(struct hf__oracle *o, const struct hf__view views[],
                     const struct hf__store *s, int64_t true_ns)
{
    if (o->plan->model == HF__MODEL_CROWD) {
        hf__oracle_crowd_live(o, views, s, true_ns);
    } else {
        check_healed(o, views, s, true_ns);
        check_idle(o, views, s, true_ns);
    }
    check_progress(o, true_ns);
}

void hf__oracle_end(struct hf__oracle *o, const struct hf__view views[],
                    const struct hf__store *s, int64_t true_ns)
{
    for (int i = 0; i < o->plan->members; i++) {
        if (o->plan->model != HF__MODEL_SESSION &&
            hf__store_is_held(s, i, true_ns)) {
            hf__oracle_convict(o, HF__RULE_LEAK,
                               "token %" PRIu64 " is left owning member %d",
                               s->members[i].row.token, i);
        }
    }
    hf__oracle_crowd_end(o, s);
    /* The server can't know of those that died in silence. */
    if (s->line.count > count_sleepers(s, views)) {
        hf__oracle_convict(o, HF__RULE_LEAK, "%d sessions are left in line",
                           s->line.count);
    }
    for (int i = 0; i < o->plan->clients; i++) {
        if (!views[i].is_settled) {
            hf__oracle_convict(o, HF__RULE_LEAK,
                               "client %d still owes something", i);
        }
    }
}
