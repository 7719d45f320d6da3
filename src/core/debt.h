/* SPDX-License-Identifier: MIT */
/*
 * What is left of a claim whose caller went away, or would not take a grant
 * that came too late: the store may think the token owns the name, so it is
 * released by token until the store confirms, or until its lease is surely
 * over. Nobody waits for it; hf_close() does for a while.
 */
#ifndef HF_CORE_DEBT_H
#define HF_CORE_DEBT_H

#include "src/core/claim.h"

/* An attempt ended after its caller had left: settle what it did. The debt
 * owns one reference and one unsettled attempt of the place. */
void hf__debt_from_attempt(struct hf__request *);
/* Begin one for a claim whose request is idle. */
void hf__debt_open(struct hf__claim *);
/* Its attempt was BUSY: it goes on with the token that the store left there,
 * and with its doubts unless the store sees to them. */
void hf__debt_go_on(struct hf__claim *);
/* Is a release with this result to be tried again? Not when it was answered,
 * and not when the store refuses: then only the lease can end the grant. */
bool hf__debt_is_open(int result);
/* Has a request with this result, executed at `sent` if at all, perhaps left
 * something, or may still do so? Beside HF_OK. */
bool hf__debt_may_stand(int result, hf__time sent);
/* What the store may have of a claim once that, its attempt or a hand-over to
 * it, has its result. */
enum hf__trace hf__trace_after(enum hf__trace before, const struct hf__op *);
/* For hf_close(), when nothing fires any more: give up those that wait for
 * their timer. */
void hf__debt_drop_all(struct hf_client *);

#endif
