/* SPDX-License-Identifier: MIT */
/*
 * Who is hit by a fault, when, and for how long. This file decides that; how
 * a client or the store takes it is theirs.
 */
#include "tests/sim/run.h"

static const struct {
    unsigned fault;
    enum hf__sim_kind kind;
    bool lasts; /* also in quiet times: it must cost nobody anything */
} recurring[] = {
    {HF__FAULT_PAUSE, HF__SIM_PAUSE, false},
    {HF__FAULT_SUSPEND, HF__SIM_SUSPEND, false},
    {HF__FAULT_VM_STOP, HF__SIM_VM_STOP, false},
    {HF__FAULT_CRASH, HF__SIM_CRASH, false},
    {HF__FAULT_WALL_STEP, HF__SIM_WALL_STEP, true},
    {HF__FAULT_SPURIOUS, HF__SIM_SPURIOUS, true},
    {HF__FAULT_STUCK, HF__SIM_STUCK, true},
    {HF__FAULT_RESET, HF__SIM_RESET, false},
    {HF__FAULT_HALF_OPEN, HF__SIM_HALF_OPEN, false},
    {HF__FAULT_MEMBER_CRASH, HF__SIM_MEMBER_DOWN, false},
    {HF__FAULT_FAILOVER, HF__SIM_FAILOVER, false},
    {HF__FAULT_BREAK, HF__SIM_BREAK, false},
    {HF__FAULT_CLOCK_STEP, HF__SIM_CLOCK_STEP, false},
};

enum { RECURRING = (int)(sizeof recurring / sizeof recurring[0]) };

/* The same fault again, about every three leases, until the healing. */
static void schedule(struct hf__sim *s, enum hf__sim_kind kind)
{
    hf__sim_add(s, kind, -1, 0,
                hf__world_between(&s->world, 1, 6 * s->plan.lease_ns));
}

void hf__faults_start(struct hf__sim *s)
{
    for (int i = 0; i < RECURRING; i++) {
        if ((s->plan.faults & recurring[i].fault) != 0) {
            schedule(s, recurring[i].kind);
        }
    }
}

/* For a part of the lease, or for several. */
static void stop(struct hf__sim *s, int i, enum hf__nap nap)
{
    int64_t most = hf__world_chance(&s->world, 500) ? s->plan.lease_ns
                                                    : 4 * s->plan.lease_ns;

    for (int j = 0; j < s->plan.names; j++) {
        struct hf__sim_client *c = &s->clients[i].many->clients[j];

        if (nap == HF__NAP_VM && c->is_up && !c->is_paused) {
            /* None of its clocks can show how long it stood still. */
            hf__oracle_excuse(&s->oracle, c->token);
            hf__oracle_excuse(&s->oracle, c->heir);
            s->tally.excused++;
        }
        hf__sim_client_pause(c, nap);
    }
    hf__sim_add(s, HF__SIM_RESUME, i, 0, hf__world_between(&s->world, 1, most));
}

static void crash(struct hf__sim *s, int i)
{
    if (!s->clients[i].is_up) {
        return;
    }
    if (hf__network_meets(&s->network, HF__FAULT_HALF_OPEN)) {
        /* The whole machine: nobody is left to say so. */
        hf__network_cut(&s->network, i, 0, HF__WAY_OUT);
    }
    for (int j = 0; j < s->plan.names; j++) {
        hf__sim_client_crash(&s->clients[i].many->clients[j]);
    }
    hf__sim_add(s, HF__SIM_RESTART, i, 0,
                hf__world_between(&s->world, 1, 4 * s->plan.lease_ns));
}

static void strike_client(struct hf__sim *s, enum hf__sim_kind kind, int i)
{
    int64_t lease = s->plan.lease_ns;

    if (kind == HF__SIM_PAUSE) {
        stop(s, i, HF__NAP_STOP);
    } else if (kind == HF__SIM_SUSPEND) {
        stop(s, i, HF__NAP_SUSPEND);
    } else if (kind == HF__SIM_VM_STOP) {
        stop(s, i, HF__NAP_VM);
    } else if (kind == HF__SIM_CRASH) {
        crash(s, i);
    } else if (kind == HF__SIM_WALL_STEP) {
        hf__sim_client_step_wall(
            &s->clients[i], hf__world_between(&s->world, -3 * lease, lease));
    } else if (kind == HF__SIM_STUCK) {
        hf__sim_client_stick(&s->clients[i],
                             hf__world_between(&s->world, 1, 2 * lease));
    } else if (kind == HF__SIM_SPURIOUS) {
        hf__sim_client_wake(&s->clients[i], 0);
    }
}

static void strike_store(struct hf__sim *s, enum hf__sim_kind kind, int i)
{
    int member = (int)hf__world_between(&s->world, 0, s->plan.members - 1);
    int linked =
        s->plan.model == HF__MODEL_CROWD ? hf__plan_name(&s->plan, i) : member;
    enum hf__way way =
        hf__world_chance(&s->world, 500) ? HF__WAY_OUT : HF__WAY_BACK;

    if (kind == HF__SIM_RESET) {
        hf__network_reset(&s->network, i, linked);
    } else if (kind == HF__SIM_HALF_OPEN) {
        hf__network_cut(&s->network, i, linked, way);
    } else if (kind == HF__SIM_MEMBER_DOWN) {
        hf__sim_member_down(s, member);
    } else if (kind == HF__SIM_FAILOVER) {
        hf__sim_failover(s);
    } else if (kind == HF__SIM_BREAK) {
        hf__sim_break(s);
    } else if (kind == HF__SIM_CLOCK_STEP) {
        hf__sim_step_clock(s, member,
                           hf__world_between(&s->world, -s->plan.lease_ns,
                                             2 * s->plan.lease_ns));
    }
}

static bool lasts(enum hf__sim_kind kind)
{
    for (int i = 0; i < RECURRING; i++) {
        if (recurring[i].kind == kind) {
            return recurring[i].lasts;
        }
    }
    return false;
}

void hf__faults_strike(struct hf__sim *s, enum hf__sim_kind kind)
{
    int i = (int)hf__world_between(&s->world, 0, s->plan.clients - 1);

    if (s->world.now >= s->plan.heal_ns && !lasts(kind)) {
        return;
    }
    strike_client(s, kind, i);
    strike_store(s, kind, i);
    schedule(s, kind);
}

void hf__faults_hook(struct hf__sim *s, int client)
{
    const struct hf__sim_client *c = &s->clients[client];

    if (c->is_paused || !c->is_up) {
        return;
    }
    /* Between a renewal's request and its answer, or between the check and
     * the act, a stop hurts most. */
    if ((c->renewal.id != 0 || c->work == HF__WORK_HAS_CHECKED) &&
        hf__network_meets(&s->network, HF__FAULT_PAUSE)) {
        stop(s, client, HF__NAP_STOP);
    } else if (hf__network_buggify(&s->network, HF__FAULT_SUSPEND)) {
        stop(s, client, HF__NAP_SUSPEND);
    } else if (hf__network_buggify(&s->network, HF__FAULT_SPURIOUS)) {
        hf__sim_client_wake(&s->clients[client], 0);
    }
}

void hf__faults_heal(struct hf__sim *s)
{
    hf__sim_note(s, HF__DEED_HEALS, 0, 0);
    hf__network_heal(&s->network);
    for (int i = 0; i < s->plan.members; i++) {
        hf__sim_member_up(s, i);
    }
    for (int i = 0; i < s->plan.clients; i++) {
        hf__sim_client_resume(&s->clients[i]);
    }
}
