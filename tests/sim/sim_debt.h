/* SPDX-License-Identifier: MIT */
/*
 * What a simulated client still has to settle although nobody waits for it.
 */
#ifndef HF_TESTS_SIM_SIM_DEBT_H
#define HF_TESTS_SIM_SIM_DEBT_H

#include "tests/sim/sim_client.h"

/* Release the token until that is answered; once for each token. */
void hf__debt_owe(struct hf__sim_client *, uint64_t token);
bool hf__debt_is_any(const struct hf__sim_client *);
/* True if the answer was to a debt: then it is settled. */
bool hf__debt_hear(struct hf__sim_client *, const struct hf__message *);
/* Ask again where no answer came. */
void hf__debt_tick(struct hf__sim_client *);
hf__time hf__debt_next(const struct hf__sim_client *);

#endif
