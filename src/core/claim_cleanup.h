/* SPDX-License-Identifier: MIT */
/*
 * What is left of a claim whose caller went away, or refused a grant that came
 * too late. The store may think that the token holds the name, so it is
 * released by token until the store confirms or the lease is surely over. No
 * caller waits for that, except hf_close() for a while.
 */
#ifndef HF_CORE_CLAIM_CLEANUP_H
#define HF_CORE_CLAIM_CLEANUP_H

#include "src/core/claim.h"

/* An attempt ended after its caller had left: undo what it did. The cleanup
 * owns one reference and one unsettled attempt of the queue. */
void hf__claim_cleanup_from_attempt(struct hf__request *);
/* Begin a cleanup for a claim whose request is idle. */
void hf__claim_cleanup_open(struct hf__claim *);
/* The claim's attempt was BUSY: it goes on with the token that the store now
 * has for it, and is still unanswered unless the store ruled that out. */
void hf__claim_cleanup_go_on(struct hf__claim *);
/* For hf_close(), when the timer thread no longer runs: drop the cleanups that
 * wait for their timer. */
void hf__claim_cleanup_drop_all(struct hf_client *);

#endif
