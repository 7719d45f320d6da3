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
    struct hf__model_store store;
    struct hf__oracle oracle;
    struct hf__tally tally; /* over all runs; the caller zeroes it */
    int64_t steps;          /* over all runs */
    struct hf__sim_client clients[HF__SIM_CLIENTS];
};

/* Run the schedule of a seed, watching the given rules. True: all were kept.
 * Else oracle.broken and oracle.text say what was found. */
bool hf__sim_run(struct hf__sim *, uint64_t seed, enum hf__mutant,
                 unsigned rules);
/* Say what was found, how to see it again, and the last events. */
void hf__sim_report(const struct hf__sim *, uint64_t seed);

#endif
