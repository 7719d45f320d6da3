/* SPDX-License-Identifier: MIT */
/*
 * The way between a client and a member: each message takes its own time,
 * so that they overtake each other, as they do on connections of their own;
 * some take longer than a lease, some arrive twice, some never. A connection
 * may be reset, or be dead in one direction with nobody told. The bytes of a
 * session that is a lock stay in their order: what is lost there breaks it.
 */
#ifndef HF_TESTS_SIM_NETWORK_H
#define HF_TESTS_SIM_NETWORK_H

#include "tests/sim/store.h"

enum hf__way { HF__WAY_OUT, HF__WAY_BACK, HF__WAYS };

struct hf__link {
    int epoch; /* rises with each reset */
    int64_t dead_until[HF__WAYS];
    int64_t last_at[HF__WAYS];
};

struct hf__network {
    struct hf__world *world;
    const struct hf__plan *plan;
    const struct hf__store *store;
    struct hf__link links[HF__SIM_CLIENTS][HF__MEMBERS_MAX];
};

void hf__network_init(struct hf__network *, struct hf__world *,
                      const struct hf__store *);
/* Now this fault strikes: it is in the plan and its time. */
bool hf__network_meets(const struct hf__network *, unsigned fault);
/* The same at the rate of the hooks, 1 to 5 %. */
bool hf__network_buggify(const struct hf__network *, unsigned fault);

void hf__network_request(struct hf__network *, const struct hf__message *);
void hf__network_reply(struct hf__network *, const struct hf__message *);
/* A session was opened, or ends and says so. */
void hf__network_connect(struct hf__network *, int client);
void hf__network_close(struct hf__network *, int client, uint64_t session);

/* The connection is gone; the client learns it now or at its next message. */
void hf__network_reset(struct hf__network *, int client, int member);
/* One direction is dead for a while, or, of a session, for good. */
void hf__network_cut(struct hf__network *, int client, int member,
                     enum hf__way);
void hf__network_heal(struct hf__network *);

/* Does this request, or this reply, still arrive? */
bool hf__network_brings(struct hf__network *, const struct hf__message *,
                        enum hf__way);

#endif
