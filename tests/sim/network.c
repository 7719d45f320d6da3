/* SPDX-License-Identifier: MIT */
/*
 * Carries messages. This file decides whether and when each arrives; what
 * it does there is left to the store and the client.
 */
#include "tests/sim/network.h"

bool hf__network_meets(struct hf__world *w, const struct hf__plan *p,
                       unsigned fault)
{
    return (p->faults & fault) != 0 && w->now < p->heal_ns &&
           hf__world_chance(w, p->permille);
}

static void carry(struct hf__world *w, const struct hf__plan *p,
                  enum hf__sim_kind kind, const struct hf__message *m)
{
    bool is_late = hf__network_meets(w, p, HF__FAULT_LATE);
    int64_t most = is_late ? 3 * p->lease_ns : p->delay_ns;

    hf__world_add(
        w, &(struct hf__sim_event){.at = w->now + hf__world_between(w, 1, most),
                                   .kind = kind,
                                   .client = m->client,
                                   .message = *m});
}

static void lose(struct hf__world *w, const struct hf__message *m)
{
    hf__world_note(w, &(struct hf__trace_line){.deed = HF__DEED_NEVER_ARRIVES,
                                               .client = m->client,
                                               .op = (int)m->op,
                                               .token = m->token,
                                               .number = (int64_t)m->id});
}

void hf__network_request(struct hf__world *w, const struct hf__plan *p,
                         const struct hf__message *m)
{
    if (hf__network_meets(w, p, HF__FAULT_DUPLICATE)) {
        carry(w, p, HF__SIM_REQUEST, m);
    }
    if (hf__network_meets(w, p, HF__FAULT_LOSE_REQUEST)) {
        lose(w, m);
        return;
    }
    carry(w, p, HF__SIM_REQUEST, m);
}

void hf__network_reply(struct hf__world *w, const struct hf__plan *p,
                       const struct hf__message *m)
{
    if (hf__network_meets(w, p, HF__FAULT_LOSE_REPLY)) {
        lose(w, m);
        return;
    }
    carry(w, p, HF__SIM_REPLY, m);
}
