/* SPDX-License-Identifier: MIT */
/*
 * Between the two halves of a simulated client: sim_client.c is the
 * application, its timers and its pauses; sim_driver.c sends, hears and obeys
 * the core.
 */
#ifndef HF_TESTS_SIM_SIM_DRIVER_H
#define HF_TESTS_SIM_SIM_DRIVER_H

#include "tests/sim/sim_client.h"

/* Its own clock. */
hf__time hf__driver_now(const struct hf__sim_client *);
/* A duration drawn evenly from [0, most], from now on. */
hf__time hf__driver_soon(struct hf__sim_client *, int64_t most_ns);
void hf__driver_note(struct hf__sim_client *, enum hf__deed, int op,
                     int64_t number);

/* Send a request for a token; its answer is awaited in `call`. */
void hf__driver_send(struct hf__sim_client *, struct hf__call *call,
                     enum hf__op_kind, uint64_t token);
void hf__driver_end_call(struct hf__call *);
bool hf__driver_is_past(const struct hf__sim_client *, hf__time);

/* Begin a claim with a token of its own. */
void hf__driver_claim(struct hf__sim_client *);
/* The claim ends without a grant. */
void hf__driver_give_up(struct hf__sim_client *);
/* The holder renews by hand, or releases. */
void hf__driver_renew(struct hf__sim_client *);
void hf__driver_release(struct hf__sim_client *);

/* The store answered. */
void hf__driver_hear(struct hf__sim_client *, const struct hf__message *);
/* Time has passed: the core's timers, limits, polls, debts. */
void hf__driver_tick(struct hf__sim_client *);
/* When the next of them is due. */
hf__time hf__driver_next(const struct hf__sim_client *);

#endif
