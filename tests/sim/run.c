/* SPDX-License-Identifier: MIT */
/*
 * The loop of the simulation. This file decides the order of a schedule's
 * life: faults for one half of the time, quiet for the other, and at the end
 * nobody claims and nothing may be left.
 */
#include "tests/sim/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void start(struct hf__sim *s, uint64_t seed, enum hf__mutant mutant,
                  unsigned rules)
{
    hf__world_init(&s->world, seed);
    hf__plan_make(&s->plan, &s->world, mutant);
    hf__store_init(&s->store, &s->plan);
    hf__network_init(&s->network, &s->world, &s->store);
    hf__oracle_init(&s->oracle, &s->plan, rules);
    memset(s->resources, 0, sizeof s->resources);
    memset(s->manies, 0, sizeof s->manies);
    s->owner_session = 0;
    for (int i = 0; i < s->plan.clients; i++) {
        int name = hf__plan_name(&s->plan, i);
        struct hf__sim_many *many = &s->manies[hf__plan_process(&s->plan, i)];

        many->clients = &s->clients[i - name];
        many->names = s->plan.names;
        s->clients[i] = (struct hf__sim_client){.many = many,
                                                .world = &s->world,
                                                .plan = &s->plan,
                                                .store = &s->store,
                                                .network = &s->network,
                                                .oracle = &s->oracle,
                                                .resource = &s->resources[name],
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
    } else {
        HF_ASSERT(e->kind == HF__SIM_RESUME || e->kind == HF__SIM_RESTART);
        for (int i = 0; i < s->plan.names; i++) {
            if (e->kind == HF__SIM_RESUME) {
                hf__sim_client_resume(&c->many->clients[i]);
            } else {
                hf__sim_client_start(&c->many->clients[i]);
            }
        }
    }
}

/* What its clients have together goes on after each step. */
static void go_on(struct hf__sim_many *many)
{
    if (many->phase == HF__MANY_IDLE || many->clients->is_paused) {
        return;
    }
    hf__many_step(many);
    for (int i = 0; i < many->names; i++) {
        hf__sim_client_arm(&many->clients[i]);
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

/* Whom an event may have changed, as a set. */
static unsigned touched(const struct hf__sim *s, const struct hf__sim_event *e)
{
    unsigned process = (1u << s->plan.names) - 1;

    switch (e->kind) {
    case HF__SIM_WAKE:
    case HF__SIM_REPLY:
    case HF__SIM_CUT:
    case HF__SIM_RESUME:
    case HF__SIM_RESTART:
        return process << (e->client - hf__plan_name(&s->plan, e->client));
    case HF__SIM_REQUEST:
    case HF__SIM_STATEMENT:
    case HF__SIM_FIN:
    case HF__SIM_SESSION_CHECK:
    case HF__SIM_DETECT:
    case HF__SIM_MEMBER_UP:
        return 0; /* it is for the store */
    case HF__SIM_PAUSE:
    case HF__SIM_SUSPEND:
    case HF__SIM_VM_STOP:
    case HF__SIM_CRASH:
    case HF__SIM_MEMBER_DOWN:
    case HF__SIM_FAILOVER:
    case HF__SIM_BREAK:
    case HF__SIM_CLOCK_STEP:
    case HF__SIM_WALL_STEP:
    case HF__SIM_RESET:
    case HF__SIM_HALF_OPEN:
    case HF__SIM_STUCK:
    case HF__SIM_SPURIOUS:
    case HF__SIM_HEAL:
    case HF__SIM_DRAIN:
        break;
    }
    return ~0u;
}

/* Who holds is looked at by the time as well. */
static void look(struct hf__sim *s, unsigned changed, struct hf__view views[])
{
    for (int i = 0; i < s->plan.clients; i++) {
        views[i].is_same = (changed >> i & 1) == 0 && !views[i].is_held;
        if (!views[i].is_same) {
            hf__sim_client_view(&s->clients[i], &views[i]);
        }
    }
}

bool hf__sim_run(struct hf__sim *s, uint64_t seed, enum hf__mutant mutant,
                 unsigned rules)
{
    struct hf__view views[HF__SIM_CLIENTS];
    struct hf__sim_event e;
    unsigned changed = ~0u;

    start(s, seed, mutant, rules);
    for (int i = 0; i < s->plan.clients; i++) {
        hf__sim_client_view(&s->clients[i], &views[i]);
    }
    while (s->oracle.broken == 0 &&
           hf__world_next(&s->world, s->plan.end_ns, &e)) {
        happen(s, &e);
        changed = touched(s, &e);
        for (int i = 0; i < s->plan.clients; i += s->plan.names) {
            if ((changed >> i & 1) != 0) {
                go_on(s->clients[i].many);
            }
        }
        look(s, changed, views);
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
