/* SPDX-License-Identifier: MIT */
/*
 * The loop of the simulation and its faults. This file decides who is hit by
 * a fault and when; how a client or the store takes it is theirs.
 */
#include "tests/sim/run.h"

#include "tests/sim/network.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void note(struct hf__sim *s, enum hf__deed deed, int64_t number)
{
    hf__world_note(&s->world,
                   &(struct hf__trace_line){.deed = deed,
                                            .client = -1,
                                            .op = -1,
                                            .token = s->store.row.token,
                                            .number = number});
}

static void add(struct hf__sim *s, enum hf__sim_kind kind, int client,
                int64_t after_ns)
{
    hf__world_add(&s->world,
                  &(struct hf__sim_event){.at = s->world.now + after_ns,
                                          .kind = kind,
                                          .client = client});
}

/* ---- the store ---------------------------------------------------------- */

static void apply(struct hf__sim *s, const struct hf__message *request)
{
    struct hf__row before = s->store.row;
    struct hf__message m = *request;

    hf__model_store_apply(&s->store, &m, s->world.now);
    hf__world_note(&s->world,
                   &(struct hf__trace_line){.deed = HF__DEED_IS_APPLIED,
                                            .client = m.client,
                                            .op = (int)m.op,
                                            .token = m.token,
                                            .number = m.result});
    s->tally.takeovers += m.op == HF__OP_ACQUIRE && m.result == HF_OK &&
                          before.token != 0 && before.token != m.token;
    hf__oracle_applied(&s->oracle, &m, &before, &s->store, s->world.now);
    hf__network_reply(&s->world, &s->plan, &m);
}

/* The owner, if any, loses the name by force. */
static void excuse_owner(struct hf__sim *s)
{
    if (s->store.row.token != 0) {
        s->tally.excused++;
        hf__oracle_excuse(&s->oracle, s->store.row.token);
    }
}

static void break_grant(struct hf__sim *s)
{
    if (!hf__model_store_is_held(&s->store, s->world.now)) {
        return;
    }
    excuse_owner(s);
    note(s, HF__DEED_IS_BROKEN, (int64_t)s->store.row.fence);
    hf__model_store_break(&s->store);
}

static void step_clock(struct hf__sim *s)
{
    int64_t step =
        hf__world_between(&s->world, -s->plan.lease_ns, 2 * s->plan.lease_ns);

    excuse_owner(s);
    note(s, HF__DEED_CLOCK_STEPS, step);
    s->store.stepped_ns += step;
}

/* ---- faults ------------------------------------------------------------- */

/* The same fault again, about every three leases, until the healing. */
static void schedule_fault(struct hf__sim *s, enum hf__sim_kind kind)
{
    add(s, kind, -1, hf__world_between(&s->world, 1, 6 * s->plan.lease_ns));
}

/* For a part of the lease, or for several. */
static void pause(struct hf__sim *s, int i)
{
    int64_t most = hf__world_chance(&s->world, 500) ? s->plan.lease_ns
                                                    : 4 * s->plan.lease_ns;

    hf__sim_client_pause(&s->clients[i]);
    add(s, HF__SIM_RESUME, i, hf__world_between(&s->world, 1, most));
}

static void wake(struct hf__sim *s, const struct hf__sim_event *e)
{
    struct hf__sim_client *c = &s->clients[e->client];

    hf__sim_client_wake(c, e->id);
    /* Between a renewal's request and its answer a pause hurts most. */
    if (c->renewal.id != 0 && !c->is_paused &&
        hf__network_meets(&s->world, &s->plan, HF__FAULT_PAUSE)) {
        pause(s, e->client);
    }
}

static void strike(struct hf__sim *s, enum hf__sim_kind kind)
{
    int i = (int)hf__world_between(&s->world, 0, s->plan.clients - 1);
    int64_t lasts = hf__world_between(&s->world, 1, 4 * s->plan.lease_ns);

    if (s->world.now >= s->plan.heal_ns) {
        return;
    }
    if (kind == HF__SIM_PAUSE) {
        pause(s, i);
    } else if (kind == HF__SIM_CRASH && s->clients[i].is_up) {
        hf__sim_client_crash(&s->clients[i]);
        add(s, HF__SIM_RESTART, i, lasts);
    } else if (kind == HF__SIM_BREAK) {
        break_grant(s);
    } else if (kind == HF__SIM_CLOCK_STEP) {
        step_clock(s);
    }
    schedule_fault(s, kind);
}

static void heal(struct hf__sim *s)
{
    note(s, HF__DEED_HEALS, 0);
    for (int i = 0; i < s->plan.clients; i++) {
        hf__sim_client_resume(&s->clients[i]);
    }
}

/* ---- the loop ----------------------------------------------------------- */

static void start(struct hf__sim *s, uint64_t seed, enum hf__mutant mutant,
                  unsigned rules)
{
    static const struct {
        unsigned fault;
        enum hf__sim_kind kind;
    } recurring[] = {
        {HF__FAULT_PAUSE, HF__SIM_PAUSE},
        {HF__FAULT_CRASH, HF__SIM_CRASH},
        {HF__FAULT_BREAK, HF__SIM_BREAK},
        {HF__FAULT_CLOCK_STEP, HF__SIM_CLOCK_STEP},
    };

    hf__world_init(&s->world, seed);
    hf__plan_make(&s->plan, &s->world, mutant);
    hf__model_store_init(&s->store, &s->plan);
    hf__oracle_init(&s->oracle, &s->plan, rules);
    for (int i = 0; i < s->plan.clients; i++) {
        s->clients[i] = (struct hf__sim_client){.world = &s->world,
                                                .plan = &s->plan,
                                                .oracle = &s->oracle,
                                                .tally = &s->tally,
                                                .index = i};
        hf__sim_client_start(&s->clients[i]);
    }
    for (size_t i = 0; i < sizeof recurring / sizeof recurring[0]; i++) {
        if ((s->plan.faults & recurring[i].fault) != 0) {
            schedule_fault(s, recurring[i].kind);
        }
    }
    add(s, HF__SIM_HEAL, -1, s->plan.heal_ns);
}

static void happen(struct hf__sim *s, const struct hf__sim_event *e)
{
    switch (e->kind) {
    case HF__SIM_WAKE:
        wake(s, e);
        return;
    case HF__SIM_REQUEST:
        apply(s, &e->message);
        return;
    case HF__SIM_REPLY:
        hf__sim_client_hear(&s->clients[e->client], &e->message);
        return;
    case HF__SIM_RESUME:
        hf__sim_client_resume(&s->clients[e->client]);
        return;
    case HF__SIM_RESTART:
        hf__sim_client_start(&s->clients[e->client]);
        return;
    case HF__SIM_PAUSE:
    case HF__SIM_CRASH:
    case HF__SIM_BREAK:
    case HF__SIM_CLOCK_STEP:
        strike(s, e->kind);
        return;
    case HF__SIM_HEAL:
        heal(s);
        return;
    }
}

bool hf__sim_run(struct hf__sim *s, uint64_t seed, enum hf__mutant mutant,
                 unsigned rules)
{
    struct hf__view views[HF__SIM_CLIENTS];
    struct hf__sim_event e;

    start(s, seed, mutant, rules);
    while (s->oracle.broken == 0 &&
           hf__world_next(&s->world, s->plan.end_ns, &e)) {
        happen(s, &e);
        for (int i = 0; i < s->plan.clients; i++) {
            hf__sim_client_view(&s->clients[i], &views[i]);
        }
        hf__oracle_check(&s->oracle, views, &s->store, s->world.now);
        s->steps++;
    }
    return s->oracle.broken == 0;
}

void hf__sim_report(const struct hf__sim *s, uint64_t seed)
{
    const struct hf__plan *p = &s->plan;

    hf__world_print(&s->world);
    printf("# rule %#x is broken: %s\n", s->oracle.broken, s->oracle.text);
    printf("# %d clients, lease %" PRId64 " ms, faults %#x at %d permille, "
           "delay %" PRId64 " ms, limit %" PRId64 " ms\n",
           p->clients, p->lease_ms, p->faults, p->permille,
           p->delay_ns / HF__MS, p->limit_ns / HF__MS);
    printf("# to see it again: --seed %" PRIu64 "\n", seed);
}
