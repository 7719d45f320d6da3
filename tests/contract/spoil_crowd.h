/* SPDX-License-Identifier: MIT */
/*
 * What mutants do to those at a name: as spoil.h, but with their hands in the
 * store. A request and an answer of the same beginning belong together.
 */
#ifndef HF_TESTS_CONTRACT_SPOIL_CROWD_H
#define HF_TESTS_CONTRACT_SPOIL_CROWD_H

#include "src/backend/backend.h"

/* The line is not there for: a try, a hand-over. */
void barging_request(void *s, struct hf__op *);
void barging_handover_request(void *s, struct hf__op *);
void barging_answer(void *s, struct hf__op *);
/* Grants that are not shared are not there for those that are, or the other
 * way about. */
void shared_beside_alone_request(void *s, struct hf__op *);
void alone_beside_shared_request(void *s, struct hf__op *);
void beside_answer(void *s, struct hf__op *);

void tickets_live_for_ever(void *s, struct hf__op *);
void asking_again_begins_anew(void *s, struct hf__op *);
void release_keeps_ticket_request(void *s, struct hf__op *);
void grant_keeps_ticket(void *s, struct hf__op *);
void nobody_queues_behind_shared(void *s, struct hf__op *);
void break_ends_one(void *s, struct hf__op *);
void renewal_is_for_all(void *s, struct hf__op *);
void any_number_of_slots_fits(void *s, struct hf__op *);
void slot_is_given_twice(void *s, struct hf__op *);
void fence_is_each_ones_own(void *s, struct hf__op *);
void broken_looks_expired(void *s, struct hf__op *);

int wait_forgets_the_ticket(void *s, struct hf__watch *w[], int n,
                            hf__time deadline, hf_error *);

#endif
