/* SPDX-License-Identifier: MIT */
/*
 * One name of a server that has grants side by side and a line: what row.h
 * says, and who may enter by the rule of src/backend/crowd.c, as it is. A
 * waiting claim keeps its ticket by asking again; a store that sees deaths
 * passes over the dead at once, and all pass over who has not asked lately.
 */
#ifndef HF_TESTS_SIM_CROWD_H
#define HF_TESTS_SIM_CROWD_H

#include "tests/sim/row.h"

/* lives: of the clients' processes where the store sees them, else NULL. */

/* As hf__row_apply. */
void hf__crowd_apply(struct hf__member *, struct hf__message *,
                     const int *lives);
/* Its claim has asked of late, and lives as far as the store can tell. */
bool hf__crowd_is_waiting(const struct hf__ticket *, int64_t now,
                          const int *lives);
/* Its lease runs, and its holder lives as far as the store can tell. */
bool hf__crowd_is_sharing(const struct hf__sharer *, int64_t now,
                          const int *lives);

#endif
