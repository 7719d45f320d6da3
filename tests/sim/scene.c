/* SPDX-License-Identifier: MIT */
/*
 * The small world of the histories: what is done to it, in the words that the
 * histories are written in. What is bad is left to histories.c.
 */
#include "tests/sim/histories.h"

#include <string.h>

#define LEASE (1000 * HF__MS)

struct hf__scene hf__scene = {.watched = HF__RULES_ALL};

void hf__scene_begin(enum hf__model model, int members)
{
    hf__scene.plan = (struct hf__plan){.model = model,
                                       .clients = 3,
                                       .members = members,
                                       .names = 1,
                                       .auto_renew = true,
                                       .is_durable = true,
                                       .promises_fence = true,
                                       .promises_update = true,
                                       .lease_ms = 1000,
                                       .lease_ns = LEASE,
                                       .delay_ns = HF__MS,
                                       .limit_ns = 100 * HF__MS,
                                       .poll_ns = 100 * HF__MS,
                                       .patience_ns = 3 * LEASE,
                                       .settle_ns = 0};
    hf__store_init(&hf__scene.store, &hf__scene.plan);
    hf__oracle_init(&hf__scene.oracle, &hf__scene.plan, hf__scene.watched);
    memset(hf__scene.views, 0, sizeof hf__scene.views);
    for (int i = 0; i < HF__SIM_CLIENTS; i++) {
        hf__scene.views[i].is_settled = true;
    }
}

void hf__scene_own(int member, uint64_t token)
{
    hf__scene.store.members[member].row.token = token;
    hf__scene.store.members[member].row.ends = 100 * LEASE;
}

void hf__scene_hold(int client, uint64_t token)
{
    hf__scene.views[client].is_held = true;
    hf__scene.views[client].phase = HF__PHASE_HELD;
    hf__scene.views[client].claim = token;
    hf__scene.views[client].token = token;
}

void hf__scene_let_go(int client, enum hf__phase phase)
{
    hf__scene.views[client].is_held = false;
    hf__scene.views[client].phase = phase;
}

void hf__scene_look(int64_t at_ms)
{
    hf__oracle_check(&hf__scene.oracle, hf__scene.views, &hf__scene.store,
                     at_ms * HF__MS);
}

void hf__scene_granted(int client, uint64_t fence, int64_t invoked, int64_t ok)
{
    hf__oracle_granted(&hf__scene.oracle,
                       &(struct hf__grant_fact){.client = client,
                                                .token = 100 + fence,
                                                .fence = fence,
                                                .invoked = invoked,
                                                .asked = invoked,
                                                .ok = ok});
}

void hf__scene_wrote(uint64_t fence, bool is_lost)
{
    hf__oracle_wrote(&hf__scene.oracle,
                     &(struct hf__write){.token = 100 + fence,
                                         .fence = fence,
                                         .is_lost = is_lost,
                                         .is_accepted = true});
}

void hf__scene_applied(enum hf__op_kind op, int result, uint64_t owner,
                       bool changes)
{
    struct hf__message m = {.op = op, .token = 7, .result = result};
    struct hf__row before = {.token = owner, .fence = 5};
    struct hf__row after = {.token = changes ? 7 : owner, .fence = 5};
    struct hf__applied a = {
        .m = &m, .before = &before, .after = &after, .was_running = owner != 0};

    hf__oracle_applied(&hf__scene.oracle, &a);
}

static void apply_on_free(struct hf__message *m, uint64_t before,
                          uint64_t after)
{
    struct hf__row old = {.fence = before,
                          .token = m->op == HF__OP_RELEASE ? m->token : 0};
    struct hf__row new = {.fence = after,
                          .token = m->op == HF__OP_ACQUIRE ? m->token : 0};
    struct hf__applied a = {.m = m, .before = &old, .after = &new};

    hf__oracle_applied(&hf__scene.oracle, &a);
}

void hf__scene_undone(uint64_t fence)
{
    struct hf__message m = {.op = HF__OP_ACQUIRE, .client = 1, .token = 8};

    apply_on_free(&m, 0, fence);
    m.op = HF__OP_RELEASE;
    m.undoes = true;
    apply_on_free(&m, fence, fence);
}

void hf__scene_refused(int client, uint64_t fence)
{
    struct hf__message m = {.op = HF__OP_RENEW,
                            .client = client,
                            .token = hf__scene.views[client].token,
                            .result = HF_LOST};

    hf__scene.oracle.clients[client].last = hf__scene.views[client];
    apply_on_free(&m, fence, fence);
}
