/* SPDX-License-Identifier: MIT */
/*
 * What mutants do to a request, a copy of the core's, before memory: sees it.
 */
#ifndef HF_TESTS_CONTRACT_SPOIL_H
#define HF_TESTS_CONTRACT_SPOIL_H

#include "src/backend/backend.h"

/* Behind the mutant's back: to memory: itself. */
void send_one(void *s, struct hf__op *);
/* What the store says of the name now. */
struct hf__record look_at(void *s, const struct hf__op *);

void release_for_anyone(void *s, struct hf__op *);
void renew_for_anyone(void *s, struct hf__op *);
void raise_for_anyone(void *s, struct hf__op *);
void renewal_revives(void *s, struct hf__op *);
void renewal_ignores_lease(void *s, struct hf__op *);
void lease_is_short(void *s, struct hf__op *);
void lease_never_ends(void *s, struct hf__op *);
void keeps_nothing(void *s, struct hf__op *);
void reopens_nothing(void *s, struct hf__op *);
void break_ignores_fence(void *s, struct hf__op *);
void own_claim_is_busy(void *s, struct hf__op *);
void handover_after_expiry(void *s, struct hf__op *);
void names_fold_case(void *s, struct hf__op *);
void names_lose_last_spaces(void *s, struct hf__op *);
void names_are_cut(void *s, struct hf__op *);
void names_lose_their_prefix(void *s, struct hf__op *);
void labels_are_cut(void *s, struct hf__op *);

/* What they make of an answer. */
void all_is_taken_over(void *s, struct hf__op *);
void nothing_is_taken_over(void *s, struct hf__op *);

/* Of memory: with sessions: an answer, and two ways to open. */
void session_is_anybodys(void *s, struct hf__op *);
int lease_outlives_session(void *s, const struct hf__url *, const char *allow,
                           hf__time deadline, hf_error *);
int session_ends_at_once(void *s, const struct hf__url *, const char *allow,
                         hf__time deadline, hf_error *);

#endif
