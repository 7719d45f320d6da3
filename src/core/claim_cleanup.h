/* SPDX-License-Identifier: MIT */
/*
 * What is left of a claim whose caller went away, or would not take a grant
 * that came too late: the store may think the token owns the name, so it is
 * released by token until the store confirms, or until its lease is surely
 * over. Nobody waits for it; hf_close() does for a while.
 */
#ifndef HF_CORE_CLAIM_CLEANUP_H
#define HF_CORE_CLAIM_CLEANUP_H

#include "src/core/claim.h"

/* An attempt ended after its caller had left: settle what it did. The cleanup
 * owns one reference and one unsettled attempt of the place. */
void hf__claim_cleanup_from_attempt(struct hf__request *);
/* Begin one for a claim whose request is idle. */
void hf__claim_cleanup_open(struct hf__claim *);
/* Its attempt was BUSY: it goes on with the token that the store left there,
 * and with its doubts unless the store sees to them. */
void hf__claim_cleanup_go_on(struct hf__claim *);
/* For hf_close(), when nothing fires any more: give up those that wait for
 * their timer. */
void hf__claim_cleanup_drop_all(struct hf_client *);

#endif
