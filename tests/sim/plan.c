/* SPDX-License-Identifier: MIT */
/*
 * Draws the parameters of a schedule. This file decides how hostile a run
 * is, and what the run then promises; all times follow from the lease, so
 * that a long one needs no longer run than a short one.
 */
#include "tests/sim/plan.h"

#include "src/backend/crowd.h"

#include <inttypes.h>
#include <stdio.h>

/* Rates the deadline must survive: 1 % + 5 ms is believed of both together. */
enum { CLIENT_PPM = 5000, STORE_PPM = 500, PROCESSES = 4 };
enum {
    SETTLE_LEASES = 6,
    DRAIN_LEASES = 1, /* before the end */
    END_LEASES = 40,  /* 20 faulty, 20 quiet */
    CROWD_LEASES = 28 /* so many clients as a crowd has meet more in less */
};

#define FAULTS_OF_MESSAGES                                                     \
    (HF__FAULT_LOSE_REQUEST | HF__FAULT_LOSE_REPLY | HF__FAULT_DUPLICATE |     \
     HF__FAULT_LATE | HF__FAULT_BLOCKED | HF__FAULT_RESET |                    \
     HF__FAULT_HALF_OPEN)
#define FAULTS_OF_CLIENTS                                                      \
    (HF__FAULT_PAUSE | HF__FAULT_SUSPEND | HF__FAULT_CRASH |                   \
     HF__FAULT_WALL_STEP | HF__FAULT_SPURIOUS | HF__FAULT_STUCK)
/* Who is stopped between the check and the act, or loses the name unforeseen,
 * writes after another: without a fence there updates are lost. */
#define FAULTS_OF_UPDATES                                                      \
    (HF__FAULT_PAUSE | HF__FAULT_SUSPEND | HF__FAULT_VM_STOP |                 \
     HF__FAULT_BREAK | HF__FAULT_CLOCK_STEP)

/* A ticket's patience does not go with the lease: a crowd's leases are from
 * a tenth of it to three times as long. */
static int64_t draw_lease_ms(const struct hf__plan *p, struct hf__world *w)
{
    static const int64_t most[] = {200, 1000, 5000, 30000, 600000};

    if (p->model == HF__MODEL_CROWD) {
        return hf__world_between(w, HF_LEASE_MIN_MS,
                                 3 * HF__TICKET_PATIENCE_MS);
    }
    return hf__world_between(w, HF_LEASE_MIN_MS,
                             most[hf__world_between(w, 0, 4)]);
}

static unsigned sometimes(struct hf__world *w, int permille, unsigned fault)
{
    return hf__world_chance(w, permille) ? fault : 0;
}

static unsigned draw_faults(const struct hf__plan *p, struct hf__world *w)
{
    unsigned faults = (unsigned)hf__world_random(w) &
                      (FAULTS_OF_MESSAGES | FAULTS_OF_CLIENTS);

    /* A quorum has to live with it. */
    faults |= sometimes(w, p->model == HF__MODEL_QUORUM ? 600 : 300,
                        HF__FAULT_MEMBER_CRASH);
    /* What excuses a second holder must stay rare. */
    faults |= sometimes(w, 120, HF__FAULT_BREAK);
    faults |= sometimes(w, 120, HF__FAULT_CLOCK_STEP);
    faults |= sometimes(w, 80, HF__FAULT_VM_STOP);
    faults |= sometimes(w, 250, HF__FAULT_FAILOVER);
    if ((p->model != HF__MODEL_ROW && p->model != HF__MODEL_CROWD) ||
        p->sees_death) {
        faults &= ~HF__FAULT_FAILOVER;
    }
    if (p->model == HF__MODEL_SESSION) {
        /* The session is the lock, and its bytes stay in order. */
        faults &= ~(HF__FAULT_STUCK | HF__FAULT_BLOCKED | HF__FAULT_DUPLICATE);
    }
    if (p->sees_death) {
        faults &= ~(HF__FAULT_VM_STOP | HF__FAULT_HALF_OPEN);
    }
    return faults;
}

static void draw_store(struct hf__plan *p, struct hf__world *w)
{
    static const enum hf__model models[] = {
        HF__MODEL_ROW,   HF__MODEL_ROW,    HF__MODEL_ROW,    HF__MODEL_SESSION,
        HF__MODEL_CROWD, HF__MODEL_QUORUM, HF__MODEL_QUORUM, HF__MODEL_CROWD};
    static const int members[] = {3, 3, 4, 5};
    bool may_lose = false;

    p->model = models[hf__world_between(w, 0, 7)];
    p->names = 1;
    p->members =
        p->model == HF__MODEL_QUORUM ? members[hf__world_between(w, 0, 3)] : 1;
    if (p->model == HF__MODEL_CROWD) {
        p->names = (int)hf__world_between(w, 1, HF__NAMES_MAX);
        p->members = p->names;
    }
    p->sees_death = (p->model == HF__MODEL_ROW && hf__world_chance(w, 250)) ||
                    (p->model == HF__MODEL_CROWD && hf__world_chance(w, 500));
    p->is_durable = p->sees_death || hf__world_chance(w, 500);
    p->faults = draw_faults(p, w);
    may_lose = (p->faults & HF__FAULT_FAILOVER) != 0 ||
               (!p->is_durable && (p->faults & HF__FAULT_MEMBER_CRASH) != 0);
    /* Every store that may forget takes its fences from the clock. */
    p->is_hybrid = may_lose || hf__world_chance(w, 500);
    p->promises_fence = !may_lose || (p->faults & HF__FAULT_CLOCK_STEP) == 0;
    p->promises_update =
        (p->faults & FAULTS_OF_UPDATES) == 0 &&
        (p->model == HF__MODEL_QUORUM || !may_lose) &&
        (p->model != HF__MODEL_SESSION ||
         (p->faults & (HF__FAULT_MEMBER_CRASH | FAULTS_OF_MESSAGES)) == 0);
}

/* How the claims of a crowd want their names; often one way alone, so that a
 * writer may meet nobody but readers. */
static void draw_crowd(struct hf__plan *p, struct hf__world *w)
{
    static const int parts[] = {0, 300, 600, 900};

    p->shared = parts[hf__world_between(w, 0, 3)];
    p->slotted = parts[hf__world_between(w, 0, 3)];
    p->fair = parts[hf__world_between(w, 0, 3)];
    p->many = p->names > 1 ? parts[hf__world_between(w, 0, 3)] : 0;
    for (int i = 0; i < HF__NAMES_MAX; i++) {
        p->slots[i] = (int)hf__world_between(w, 1, 3);
    }
    /* A waiter looks every 200 ms at the latest. */
    p->poll_ns = hf__world_between(w, 50 * HF__MS, 200 * HF__MS);
    p->limit_ns = hf__world_between(w, p->lease_ns / 6, p->lease_ns / 3);
    p->work_ns = hf__world_between(w, p->lease_ns / 20, p->lease_ns / 2);
    p->think_ns = hf__world_between(w, p->lease_ns / 4, p->lease_ns * 2);
    p->hold_ns = hf__world_between(w, p->lease_ns / 4, p->lease_ns * 3);
}

static void draw_times(struct hf__plan *p, struct hf__world *w)
{
    int64_t lease = p->lease_ms * HF__MS;
    int64_t most = p->model == HF__MODEL_QUORUM ? lease / 3 : lease * 2;
    const int64_t detect[] = {lease / 20, lease / 2, -1};

    p->lease_ns = lease;
    p->delay_ns = lease / hf__world_between(w, 1, 20) / 20;
    p->limit_ns = hf__world_between(w, lease / 6, most);
    p->poll_ns = hf__world_between(w, lease / 20, lease / 3);
    p->think_ns = hf__world_between(w, lease / 10, lease * 2);
    p->hold_ns = hf__world_between(w, lease / 10, lease * 4);
    p->max_hold_ms =
        hf__world_chance(w, 250) ? hf__world_between(w, 1, 4 * p->lease_ms) : 0;
    p->work_ns = hf__world_between(w, lease / 100, lease / 4);
    p->detect_ns = detect[hf__world_between(w, 0, 2)];
    p->lag_ns = hf__world_between(w, 1, lease);
    p->patience_ns = hf__world_between(w, lease / 2, lease * 8);
    p->end_ns =
        lease * (p->model == HF__MODEL_CROWD ? CROWD_LEASES : END_LEASES);
    p->heal_ns = p->end_ns / 2;
    p->settle_ns = p->heal_ns + lease * SETTLE_LEASES;
    p->drain_ns = p->end_ns - lease * DRAIN_LEASES;
}

void hf__plan_make(struct hf__plan *p, struct hf__world *w,
                   enum hf__mutant mutant)
{
    *p = (struct hf__plan){.mutant = mutant};
    draw_store(p, w);
    p->clients = (int)hf__world_between(w, 2, PROCESSES) * p->names;
    p->permille = (int)hf__world_between(w, 20, 300);
    p->buggify = (int)hf__world_between(w, 10, 50);
    p->auto_renew = hf__world_chance(w, 750);
    p->hears_late = hf__world_chance(w, 500);
    /* A session's grants can't outlive it, nor a process's that is seen. */
    p->detaches = p->model != HF__MODEL_SESSION && !p->sees_death &&
                  hf__world_chance(w, 300);
    p->lease_ms = draw_lease_ms(p, w);
    draw_times(p, w);
    if (p->model == HF__MODEL_CROWD) {
        draw_crowd(p, w);
    }
    for (int i = 0; i < p->clients; i++) {
        /* A process has one clock. */
        p->client_ppm[i] = hf__plan_name(p, i) > 0
                               ? p->client_ppm[i - 1]
                               : hf__world_between(w, -CLIENT_PPM, CLIENT_PPM);
    }
    for (int i = 0; i < HF__MEMBERS_MAX; i++) {
        p->member_ppm[i] = hf__world_between(w, -STORE_PPM, STORE_PPM);
    }
}

int64_t hf__plan_detaches_until(const struct hf__plan *p)
{
    return p->drain_ns - 3 * p->lease_ns;
}

void hf__plan_print(const struct hf__plan *p)
{
    static const char *const models[] = {"row", "session", "quorum", "crowd"};

    printf("# %s of %d, %d clients, %s, fences %s%s\n", models[p->model],
           p->members, p->clients, p->is_durable ? "durable" : "volatile",
           p->is_hybrid ? "hybrid" : "counted",
           p->sees_death ? ", sees death" : "");
    printf("# faults %#x at %d permille, hooks at %d, auto_renew %d\n",
           p->faults, p->permille, p->buggify, p->auto_renew);
    printf("# ms: lease %" PRId64 " delay %" PRId64 " limit %" PRId64
           " poll %" PRId64 " hold %" PRId64 " patience %" PRId64 "\n",
           p->lease_ms, p->delay_ns / HF__MS, p->limit_ns / HF__MS,
           p->poll_ns / HF__MS, p->hold_ns / HF__MS, p->patience_ns / HF__MS);
    if (p->model == HF__MODEL_CROWD) {
        printf("# permille: shared %d, of the rest in slots %d, fair %d, many "
               "%d; slots %d %d %d\n",
               p->shared, p->slotted, p->fair, p->many, p->slots[0],
               p->slots[1], p->slots[2]);
    }
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
