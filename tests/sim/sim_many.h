/* SPDX-License-Identifier: MIT */
/*
 * Several names in one wish: a process of a crowd has a client for each name,
 * and this is what they do together.
 */
#ifndef HF_TESTS_SIM_SIM_MANY_H
#define HF_TESTS_SIM_SIM_MANY_H

#include "src/backend/backend.h"

struct hf__sim_client;

/* A client's part in it. */
enum hf__role {
    HF__ROLE_ALONE,   /* none: it claims for itself */
    HF__ROLE_TRIES,   /* asks once */
    HF__ROLE_REFUSED, /* was told that its name is busy */
    HF__ROLE_QUEUES,  /* waits */
    HF__ROLE_KEEPS,
    HF__ROLE_IS_BACK, /* gave back what it had, if anything */
    HF__ROLE_FAILED   /* its outcome is unknown */
};

/* A process of a crowd: its clients, and what they do together. */
enum hf__many_phase {
    HF__MANY_IDLE,
    HF__MANY_TRIES,   /* all that are missing at once */
    HF__MANY_WAITS,   /* for the first that is busy, keeping those before it */
    HF__MANY_GATHERS, /* until what it gave back is settled */
    HF__MANY_HAS,
    HF__MANY_ENDS
};
struct hf__sim_many {
    struct hf__sim_client *clients; /* one for each name, in their order */
    int names;
    enum hf__many_phase phase;
    unsigned set; /* the names that it wants */
    struct hf__manner manner;
    enum hf__queueing queueing;
    int busy; /* the name that it waits for */
    hf__time claimed_at;
    hf__time until;
    bool has_napped;
};

/* Want several names, this client's among them. False: not now. */
bool hf__many_begin(struct hf__sim_client *);
/* Something happened to one of its clients. */
void hf__many_step(struct hf__sim_many *);
/* A client that has a part in it is due. */
void hf__many_tick(struct hf__sim_client *);
/* It gives back all that it has. */
void hf__many_end(struct hf__sim_many *);

#endif
