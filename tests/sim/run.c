/* SPDX-License-Identifier: MIT */
/*
 * The loop of the simulation. This file decides the order of a schedule's
 * life: faults for one half of the time, quiet for the other, and at the end
 * nobody claims and nothing may be left.
 */
#include "tests/sim/run.h"

#include <inttypes.h>
#include <stdio.h>

static void start(struct hf__sim *s, uint64_t seed, enum hf__mutant mutant,
                  unsigned rules)
{
    hf__world_init(&s->world, seed);
    hf__plan_make(&s->plan, &s->world, mutant);
    hf__store_init(&s->store, &s->plan);
    hf__network_init(&s->network, &s->world, &s->store);
    hf__oracle_init(&s->oracle, &s->plan, rules);
    s->resource = (struct hf__resource){.value = 0};
    s->owner_session = 0;
    for (int i = 0; i < s->plan.clients; i++) {
        s->clients[i] = (struct hf__sim_client){.world = &s->world,
                                                .plan = &s->plan,
                                                .store = &s->store,
                                                .network = &s->network,
                                                .oracle = &s->oracle,
                                                .resource = &s->resource,
                                                .tally = &s->tally,
                                                .index = i};
        hf__sim_client_start(&s->clients[i]);
    }
    hf__faults_start(s);
    hf__sim_add(s, HF__SIM_HEAL, -1, 0, s->plan.heal_ns);
    hf__sim_add(s, HF__SIM_DRAIN, -1, 0, s->plan.drain_ns);
}

static void drain(struct hf__sim *s)
{
    hf__sim_note(s, HF__DEED_DRAINS, 0, 0);
    for (int i = 0; i < s->plan.clients; i++) {
        hf__sim_client_drain(&s->clients[i]);
    }
}

static void cut(struct hf__sim *s, const struct hf__sim_event *e)
{
    int member = e->message.member;

    if (e->message.epoch == s->network.links[e->client][member].epoch) {
        hf__sim_client_cut(&s->clients[e->client], member);
    }
}

static void happen_to_client(struct hf__sim *s, const struct hf__sim_event *e)
{
    struct hf__sim_client *c = &s->clients[e->client];

    if (e->kind == HF__SIM_WAKE) {
        hf__sim_client_wake(c, e->id);
        hf__faults_hook(s, e->client);
    } else if (e->kind == HF__SIM_REPLY) {
        if (hf__network_brings(&s->network, &e->message, HF__WAY_BACK)) {
            hf__sim_client_hear(c, &e->message);
        }
    } else if (e->kind == HF__SIM_CUT) {
        cut(s, e);
    } else if (e->kind == HF__SIM_RESUME) {
        hf__sim_client_resume(c);
    } else {
        HF_ASSERT(e->kind == HF__SIM_RESTART);
        hf__sim_client_start(c);
    }
}

static void happen(struct hf__sim *s, const struct hf__sim_event *e)
{
    switch (e->kind) {
    case HF__SIM_WAKE:
    case HF__SIM_REPLY:
    case HF__SIM_CUT:
    case HF__SIM_RESUME:
    case HF__SIM_RESTART:
        happen_to_client(s, e);
        return;
    case HF__SIM_REQUEST:
        hf__sim_serve(s, &e->message);
        return;
    case HF__SIM_STATEMENT:
        hf__sim_go_on(s, &e->message);
        return;
    case HF__SIM_FIN:
        hf__sim_leave(s, e->id);
        return;
    case HF__SIM_SESSION_CHECK:
        hf__sim_check_session(s, e->id);
        return;
    case HF__SIM_DETECT:
        hf__sim_detect(s, e->id);
        return;
    case HF__SIM_MEMBER_UP:
        hf__sim_member_up(s, (int)e->id);
        return;
    case HF__SIM_FAILOVER:
        if (e->id != 0) {
            hf__sim_failover(s); /* once */
            return;
        }
        hf__faults_strike(s, e->kind);
        return;
    case HF__SIM_PAUSE:
    case HF__SIM_SUSPEND:
    case HF__SIM_VM_STOP:
    case HF__SIM_CRASH:
    case HF__SIM_MEMBER_DOWN:
    case HF__SIM_BREAK:
    case HF__SIM_CLOCK_STEP:
    case HF__SIM_WALL_STEP:
    case HF__SIM_RESET:
    case HF__SIM_HALF_OPEN:
    case HF__SIM_STUCK:
    case HF__SIM_SPURIOUS:
        hf__faults_strike(s, e->kind);
        return;
    case HF__SIM_HEAL:
        hf__faults_heal(s);
        return;
    case HF__SIM_DRAIN:
        drain(s);
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
    if (s->oracle.broken == 0) {
        hf__oracle_end(&s->oracle, views, &s->store, s->plan.end_ns);
    }
    return s->oracle.broken == 0;
}

void hf__sim_report(const struct hf__sim *s, uint64_t seed)
{
    hf__world_print(&s->world);
    printf("# rule %#x is broken: %s\n", s->oracle.broken, s->oracle.text);
    hf__plan_print(&s->plan);
    printf("# to see it again: sim --filter every_schedule --seed %" PRIu64
           " 1\n",
           seed);
}
