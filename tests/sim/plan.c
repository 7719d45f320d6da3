/* SPDX-License-Identifier: MIT */
/*
 * Draws the parameters of a schedule. This file decides how hostile a run
 * is; all times follow from the lease, so that a long one needs no longer
 * run than a short one.
 */
#include "tests/sim/plan.h"

/* Rates the deadline must survive: 1 % + 5 ms is believed of both together. */
enum { CLIENT_PPM = 5000, STORE_PPM = 500 };
enum { HEAL_LEASES = 24, SETTLE_LEASES = 5, QUIET_LEASES = 13 };

static int64_t draw_lease_ms(struct hf__world *w)
{
    static const int64_t most[] = {200, 1000, 5000, 30000, 600000};

    return hf__world_between(w, HF_LEASE_MIN_MS,
                             most[hf__world_between(w, 0, 4)]);
}

static unsigned draw_faults(struct hf__world *w)
{
    unsigned faults =
        (unsigned)hf__world_random(w) &
        (HF__FAULT_LOSE_REQUEST | HF__FAULT_LOSE_REPLY | HF__FAULT_DUPLICATE |
         HF__FAULT_LATE | HF__FAULT_PAUSE | HF__FAULT_CRASH);

    /* What excuses a second holder must stay rare. */
    if (hf__world_chance(w, 120)) {
        faults |= HF__FAULT_BREAK;
    }
    if (hf__world_chance(w, 120)) {
        faults |= HF__FAULT_CLOCK_STEP;
    }
    return faults;
}

void hf__plan_make(struct hf__plan *p, struct hf__world *w,
                   enum hf__mutant mutant)
{
    p->mutant = mutant;
    p->faults = draw_faults(w);
    p->clients = (int)hf__world_between(w, 2, HF__SIM_CLIENTS);
    p->permille = (int)hf__world_between(w, 20, 300);
    p->auto_renew = hf__world_chance(w, 750);
    p->hears_late = hf__world_chance(w, 500);
    p->is_hybrid = hf__world_chance(w, 500);
    p->lease_ms = draw_lease_ms(w);
    p->lease_ns = p->lease_ms * HF__MS;
    p->delay_ns = p->lease_ns / hf__world_between(w, 1, 20) / 20;
    p->limit_ns = hf__world_between(w, p->lease_ns / 6, p->lease_ns * 2);
    p->poll_ns = hf__world_between(w, p->lease_ns / 20, p->lease_ns / 3);
    p->think_ns = hf__world_between(w, p->lease_ns / 10, p->lease_ns * 2);
    p->hold_ns = hf__world_between(w, p->lease_ns / 10, p->lease_ns * 4);
    p->patience_ns = hf__world_between(w, p->lease_ns / 2, p->lease_ns * 8);
    for (int i = 0; i < HF__SIM_CLIENTS; i++) {
        p->client_ppm[i] = hf__world_between(w, -CLIENT_PPM, CLIENT_PPM);
    }
    p->store_ppm = hf__world_between(w, -STORE_PPM, STORE_PPM);
    p->heal_ns = p->lease_ns * HEAL_LEASES;
    p->settle_ns = p->heal_ns + p->lease_ns * SETTLE_LEASES;
    p->end_ns = p->settle_ns + p->lease_ns * QUIET_LEASES;
}

int64_t hf__plan_shown(int64_t true_ns, int64_t ppm)
{
    /* In two parts, since nanoseconds of hours times ppm overflow. */
    return true_ns + true_ns / 1000000 * ppm +
           true_ns % 1000000 * ppm / 1000000;
}

int64_t hf__plan_true(int64_t shown_ns, int64_t ppm)
{
    int64_t rate = 1000000 + ppm;
    int64_t t = shown_ns / rate * 1000000 + shown_ns % rate * 1000000 / rate;

    while (hf__plan_shown(t, ppm) < shown_ns) {
        t++;
    }
    return t;
}
