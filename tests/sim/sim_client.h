/* SPDX-License-Identifier: MIT */
/*
 * A client of the simulation: the pure core of the library (struct hf__grant)
 * with a driver that does what the real one does. A token for each claim;
 * what got no answer is asked again with the same token; what was given up is
 * released by token as a debt, and the next claim waits behind it; renewals
 * when the core says so.
 */
#ifndef HF_TESTS_SIM_SIM_CLIENT_H
#define HF_TESTS_SIM_SIM_CLIENT_H

#include "tests/sim/oracles.h"

enum { HF__DEBTS_MAX = 16, HF__INBOX_MAX = 128 };

/* What the schedules met, over many runs: proof that they are not idle. */
struct hf__tally {
    int64_t grants;
    int64_t resettled;   /* granted to a claim that had got no answer before */
    int64_t late_grants; /* an OK too late to be of use */
    int64_t recovered;   /* at risk, then renewed */
    int64_t late_renewals;
    int64_t expired; /* lost by the clock alone */
    int64_t refused; /* told by the store */
    int64_t debts;
    int64_t slept_over; /* a pause longer than the lease while holding */
    int64_t crashed_holding;
    int64_t takeovers; /* a lapsed lease given to another */
    int64_t excused;
};

enum hf__app {
    HF__APP_THINKS,
    HF__APP_CLAIMS,
    HF__APP_HOLDS,
    HF__APP_RELEASES
};

/* A request without its answer. */
struct hf__call {
    uint64_t id;    /* 0: none is out */
    hf__time until; /* then no answer counts as unknown */
};

struct hf__debt {
    uint64_t token; /* 0: none */
    struct hf__call call;
    hf__time until; /* the store's lease is over by then */
};

struct hf__sim_client {
    struct hf__world *world;
    const struct hf__plan *plan;
    struct hf__oracle *oracle;
    struct hf__tally *tally;
    int index;
    int life; /* rises with each restart */
    bool is_up;
    bool is_paused;
    int64_t paused_at;
    int64_t slept_ns; /* in all pauses so far */
    int64_t offset;   /* of its clock */
    uint64_t wake_id; /* of the timer that counts */
    int64_t wakes_at; /* true time; INT64_MAX: none */

    enum hf__app app;
    hf__time app_at; /* when the application does its next thing */
    hf__time hold_until;
    struct hf__grant grant;
    uint64_t claim_no;
    uint64_t token;
    uint64_t seen_fence;
    bool is_uncertain; /* an attempt of this claim got no answer */
    hf__time poll_at;  /* the next attempt */
    struct hf__call claim;
    struct hf__call renewal;
    struct hf__call release;
    struct hf__debt debts[HF__DEBTS_MAX];
    int inbox_count;
    struct hf__message inbox[HF__INBOX_MAX]; /* arrived while it was paused */
};

/* world, plan, oracle, tally and index must be set. */
void hf__sim_client_start(struct hf__sim_client *);
void hf__sim_client_view(const struct hf__sim_client *, struct hf__view *);

/* What happens to it; each arms its next timer. */
void hf__sim_client_wake(struct hf__sim_client *, uint64_t wake_id);
void hf__sim_client_hear(struct hf__sim_client *, const struct hf__message *);
void hf__sim_client_pause(struct hf__sim_client *);
void hf__sim_client_resume(struct hf__sim_client *);
void hf__sim_client_crash(struct hf__sim_client *);

#endif
