/* SPDX-License-Identifier: MIT */
/*
 * The way between a client and the store: each message takes its own time,
 * so that they overtake each other; some take longer than a lease, some
 * arrive twice, some never.
 */
#ifndef HF_TESTS_SIM_NETWORK_H
#define HF_TESTS_SIM_NETWORK_H

#include "tests/sim/plan.h"

/* This message meets that fault: it is in the plan and its time. */
bool hf__network_meets(struct hf__world *, const struct hf__plan *,
                       unsigned fault);
void hf__network_request(struct hf__world *, const struct hf__plan *,
                         const struct hf__message *);
void hf__network_reply(struct hf__world *, const struct hf__plan *,
                       const struct hf__message *);

#endif
