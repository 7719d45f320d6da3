/* SPDX-License-Identifier: MIT */
/*
 * One schedule from beginning to end: the plan of a seed, its clients, the
 * store, the faults, and the oracles after every step.
 */
#ifndef HF_TESTS_SIM_RUN_H
#define HF_TESTS_SIM_RUN_H

#include "tests/sim/sim_client.h"

/* Large: make it static. */
struct hf__sim {
    struct hf__world world;
    struct hf__plan plan;
    struct hf__store store;
    struct hf__network network;
    struct hf__oracle oracle;
    struct hf__resource resources[HF__NAMES_MAX];
    struct hf__tally tally; /* over all runs; the caller zeroes it */
    int64_t steps;          /* over all runs */
    uint64_t owner_session; /* that owns the name, as last seen */
    struct hf__sim_client clients[HF__SIM_CLIENTS];
    struct hf__sim_many manies[HF__SIM_CLIENTS]; /* by process */
};

/* ---- run.c ---- */
/* Run the schedule of a seed, watching the given rules. True: all were kept.
 * Else oracle.broken and oracle.text say what was found. */
bool hf__sim_run(struct hf__sim *, uint64_t seed, enum hf__mutant,
                 unsigned rules);
/* Say what was found, how to see it again, and the last events. */
void hf__sim_report(const struct hf__sim *, uint64_t seed);

/* ---- server.c ---- */
/* A request arrives, or goes on after it was held up. */
void hf__sim_serve(struct hf__sim *, const struct hf__message *);
void hf__sim_go_on(struct hf__sim *, const struct hf__message *);
/* A session's client is gone, may have been silent for too long, is looked
 * for. */
void hf__sim_leave(struct hf__sim *, uint64_t session);
void hf__sim_check_session(struct hf__sim *, uint64_t session);
void hf__sim_detect(struct hf__sim *, uint64_t session);
void hf__sim_member_down(struct hf__sim *, int member);
void hf__sim_member_up(struct hf__sim *, int member);
void hf__sim_failover(struct hf__sim *);
void hf__sim_break(struct hf__sim *);
void hf__sim_step_clock(struct hf__sim *, int member, int64_t by_ns);

/* ---- faults.c ---- */
void hf__faults_start(struct hf__sim *);
/* A recurring fault is due. */
void hf__faults_strike(struct hf__sim *, enum hf__sim_kind);
/* After a step of that client: the hooks. */
void hf__faults_hook(struct hf__sim *, int client);
void hf__faults_heal(struct hf__sim *);

void hf__sim_add(struct hf__sim *, enum hf__sim_kind, int client, uint64_t id,
                 int64_t after_ns);
void hf__sim_note(struct hf__sim *, enum hf__deed, int member, int64_t number);

#endif
