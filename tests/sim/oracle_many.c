/* SPDX-License-Identifier: MIT */
/*
 * The rules of several names at once: all of them or none, no circle of
 * processes that keep what the others wait for (deadlock), and no crowd in
 * which each keeps the others from all that it wants (livelock). This file
 * decides how long is too long.
 */
#include "tests/sim/oracles.h"

#include "src/backend/crowd.h"

#include <inttypes.h>

void hf__oracle_many_granted(struct hf__oracle *o, int held, int wanted)
{
    if (held != wanted) {
        hf__oracle_convict(o, HF__RULE_OWNERSHIP,
                           "of %d names together %d are held", wanted, held);
    }
}

/* The processes that keep a name for which a client of this one waits. */
static unsigned waits_for(const struct hf__oracle *o,
                          const struct hf__view views[], int i)
{
    unsigned processes = 0;

    for (int j = hf__plan_name(o->plan, i); j < o->plan->clients;
         j += o->plan->names) {
        if (j != i && views[j].is_kept && views[j].is_held &&
            !hf__manners_agree(views[i].manner, views[j].manner)) {
            processes |= 1u << hf__plan_process(o->plan, j);
        }
    }
    return processes;
}

static bool is_circle(const struct hf__oracle *o, const struct hf__view views[])
{
    unsigned edges[HF__SIM_CLIENTS] = {0};
    int n = o->plan->clients / o->plan->names;

    for (int i = 0; i < o->plan->clients; i++) {
        if (views[i].is_part && views[i].is_claiming && views[i].is_awake) {
            edges[hf__plan_process(o->plan, i)] |= waits_for(o, views, i);
        }
    }
    for (int via = 0; via < n; via++) {
        for (int from = 0; from < n; from++) {
            edges[from] |= (edges[from] >> via & 1) != 0 ? edges[via] : 0;
        }
    }
    for (int i = 0; i < n; i++) {
        if ((edges[i] >> i & 1) != 0) {
            return true;
        }
    }
    return false;
}

static void check_circle(struct hf__oracle *o, const struct hf__view views[],
                         int64_t true_ns)
{
    if (!is_circle(o, views)) {
        o->circle_at = INT64_MAX;
    } else if (o->circle_at == INT64_MAX) {
        o->circle_at = true_ns;
    } else if (true_ns - o->circle_at > hf__oracle_idle_bound(o->plan)) {
        hf__oracle_convict(o, HF__RULE_HEALED,
                           "processes wait for each other for %" PRId64 " ms",
                           (true_ns - o->circle_at) / HF__MS);
    }
}

/* Somebody gets what it wants: else they keep each other from it. */
static void check_use(struct hf__oracle *o, const struct hf__view views[],
                      int64_t true_ns)
{
    const struct hf__plan *p = o->plan;
    int64_t most = 2 * p->lease_ns + HF__TICKET_PATIENCE_MS * HF__MS +
                   p->names * 2 * hf__oracle_idle_bound(p);
    bool is_wanted = false;
    bool is_used = false;

    for (int i = 0; i < p->clients; i++) {
        is_wanted = is_wanted || views[i].is_claiming;
        is_used = is_used || (views[i].is_held && !views[i].is_kept) ||
                  views[i].phase == HF__PHASE_RELEASING;
    }
    if (!is_wanted || is_used) {
        o->useless_at = INT64_MAX;
    } else if (o->useless_at == INT64_MAX) {
        o->useless_at = true_ns;
    } else if (true_ns - o->useless_at > most) {
        hf__oracle_convict(o, HF__RULE_HEALED,
                           "nobody gets what it wants for %" PRId64 " ms",
                           (true_ns - o->useless_at) / HF__MS);
    }
}

void hf__oracle_many_live(struct hf__oracle *o, const struct hf__view views[],
                          int64_t true_ns)
{
    if (o->plan->many > 0) {
        check_circle(o, views, true_ns);
    }
    check_use(o, views, true_ns);
}
