/* SPDX-License-Identifier: MIT */
/*
 * Carries messages. This file decides whether and when each arrives; what
 * it does there is left to the store and the client.
 */
#include "tests/sim/network.h"

#include <string.h>

enum { MOST_LATE_LEASES = 4, THOUSANDFOLD = 1000 };

void hf__network_init(struct hf__network *net, struct hf__world *w,
                      const struct hf__store *store)
{
    net->world = w;
    net->plan = store->plan;
    net->store = store;
    memset(net->links, 0, sizeof net->links);
}

static bool strikes(const struct hf__network *net, unsigned fault, int permille)
{
    return (net->plan->faults & fault) != 0 &&
           net->world->now < net->plan->heal_ns &&
           hf__world_chance(net->world, permille);
}

static bool is_ordered(const struct hf__network *net)
{
    return net->plan->model == HF__MODEL_SESSION;
}

bool hf__network_meets(const struct hf__network *net, unsigned fault)
{
    /* What breaks a session leaves a dead one in line, for a lease each. */
    return strikes(net, fault,
                   is_ordered(net) ? net->plan->buggify : net->plan->permille);
}

bool hf__network_buggify(const struct hf__network *net, unsigned fault)
{
    return strikes(net, fault, net->plan->buggify);
}

/* ---- the way of one message --------------------------------------------- */

static int64_t arrival(struct hf__network *net, struct hf__link *link,
                       enum hf__way way)
{
    const struct hf__plan *p = net->plan;
    int64_t takes = hf__world_between(net->world, 1, p->delay_ns);
    int64_t most = MOST_LATE_LEASES * p->lease_ns;
    int64_t at = 0;

    if (hf__network_meets(net, HF__FAULT_LATE)) {
        takes *= hf__world_between(net->world, 1, THOUSANDFOLD);
        takes = takes < most ? takes : hf__world_between(net->world, 1, most);
    }
    at = net->world->now + takes;
    if (is_ordered(net) && at <= link->last_at[way]) {
        at = link->last_at[way] + 1;
    }
    link->last_at[way] = at;
    return at;
}

static void tell_client(struct hf__network *net, int client, int member,
                        int64_t after_ns)
{
    struct hf__sim_event e = {.at = net->world->now +
                                    hf__world_between(net->world, 1, after_ns),
                              .kind = HF__SIM_CUT,
                              .client = client};

    e.message.member = member;
    e.message.epoch = net->links[client][member].epoch;
    hf__world_add(net->world, &e);
}

void hf__network_cut(struct hf__network *net, int client, int member,
                     enum hf__way way)
{
    struct hf__link *link = &net->links[client][member];
    int64_t lasts = hf__world_between(net->world, 1, 3 * net->plan->lease_ns);

    if (is_ordered(net)) {
        /* Silence: in the end TCP's keep-alive tells the client. */
        link->dead_until[way] = INT64_MAX;
        tell_client(net, client, member, net->plan->lease_ns);
        return;
    }
    link->dead_until[way] = net->world->now + lasts;
}

static void lose(struct hf__network *net, const struct hf__message *m,
                 enum hf__way way)
{
    hf__world_note(net->world,
                   &(struct hf__trace_line){.deed = HF__DEED_NEVER_ARRIVES,
                                            .client = m->client,
                                            .member = m->member,
                                            .op = (int)m->op,
                                            .token = m->token,
                                            .number = (int64_t)m->id});
    if (is_ordered(net)) {
        hf__network_cut(net, m->client, m->member, way);
    }
}

static void carry(struct hf__network *net, enum hf__way way,
                  const struct hf__message *m)
{
    struct hf__link *link = &net->links[m->client][m->member];

    if (net->world->now < link->dead_until[way]) {
        return;
    }
    hf__world_add(net->world, &(struct hf__sim_event){
                                  .at = arrival(net, link, way),
                                  .kind = way == HF__WAY_OUT ? HF__SIM_REQUEST
                                                             : HF__SIM_REPLY,
                                  .client = m->client,
                                  .message = *m});
}

void hf__network_request(struct hf__network *net, const struct hf__message *m)
{
    struct hf__message sent = *m;

    sent.incarnation = net->store->members[m->member].incarnation;
    sent.epoch = net->links[m->client][m->member].epoch;
    if (hf__network_meets(net, HF__FAULT_DUPLICATE)) {
        carry(net, HF__WAY_OUT, &sent);
    }
    if (hf__network_meets(net, HF__FAULT_LOSE_REQUEST)) {
        lose(net, m, HF__WAY_OUT);
        return;
    }
    carry(net, HF__WAY_OUT, &sent);
}

void hf__network_reply(struct hf__network *net, const struct hf__message *m)
{
    if (hf__network_meets(net, HF__FAULT_LOSE_REPLY)) {
        lose(net, m, HF__WAY_BACK);
        return;
    }
    carry(net, HF__WAY_BACK, m);
}

/* ---- connections -------------------------------------------------------- */

void hf__network_connect(struct hf__network *net, int client)
{
    struct hf__link *link = &net->links[client][0];

    link->epoch++;
    memset(link->dead_until, 0, sizeof link->dead_until);
    memset(link->last_at, 0, sizeof link->last_at);
}

void hf__network_close(struct hf__network *net, int client, uint64_t session)
{
    struct hf__link *link = &net->links[client][0];

    if (net->world->now < link->dead_until[HF__WAY_OUT]) {
        return; /* it is for the server to find out */
    }
    hf__world_add(net->world,
                  &(struct hf__sim_event){.at = arrival(net, link, HF__WAY_OUT),
                                          .kind = HF__SIM_FIN,
                                          .client = client,
                                          .id = session});
}

void hf__network_reset(struct hf__network *net, int client, int member)
{
    if (!is_ordered(net)) {
        net->links[client][member].epoch++;
    }
    tell_client(net, client, member, net->plan->delay_ns);
}

void hf__network_heal(struct hf__network *net)
{
    for (int i = 0; i < HF__SIM_CLIENTS; i++) {
        for (int j = 0; j < net->plan->members && !is_ordered(net); j++) {
            memset(net->links[i][j].dead_until, 0,
                   sizeof net->links[i][j].dead_until);
        }
    }
}

/* Nobody listens, or the server that did is another now. */
static bool is_refused(struct hf__network *net, const struct hf__message *m)
{
    const struct hf__member *member = &net->store->members[m->member];
    struct hf__message bounced = *m;

    if (member->is_up && m->incarnation == member->incarnation) {
        return false;
    }
    if (m->incarnation != member->incarnation) {
        tell_client(net, m->client, m->member, net->plan->delay_ns);
    } else if (hf__world_chance(net->world, 500)) {
        bounced.result = HF_EUNAVAIL;
        bounced.fence = 0;
        carry(net, HF__WAY_BACK, &bounced);
    }
    return true;
}

bool hf__network_brings(struct hf__network *net, const struct hf__message *m,
                        enum hf__way way)
{
    bool is_old = m->epoch != net->links[m->client][m->member].epoch;

    if (way == HF__WAY_BACK) {
        return !is_old;
    }
    if (is_refused(net, m)) {
        return false;
    }
    /* After a reset, what had reached the server is executed all the same. */
    return is_ordered(net) || !is_old || hf__world_chance(net->world, 500);
}
