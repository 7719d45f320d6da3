/* SPDX-License-Identifier: MIT */
/*
 * One verdict from the answers of n independent members; with one member, what
 * that member says. Pure. For stores of several servers; the core does not ask
 * it yet, as the stores of this build have one member each.
 */
#ifndef HF_CORE_QUORUM_H
#define HF_CORE_QUORUM_H

#include "include/holdfast.h"

#include <stdbool.h>
#include <stdint.h>

struct hf__quorum {
    int members;
    int granted;
    int refused;    /* busy, lost, conflict: the member answered */
    int unknown;    /* no answer: it may have been applied */
    int failed;     /* surely not applied */
    int outcome;    /* the first refusal's status */
    int failure;    /* the first failure's status */
    uint64_t fence; /* the highest that a member gave */
};

void hf__quorum_init(struct hf__quorum *, int members);
/* Count one member's result: a status of hf_status. */
void hf__quorum_note(struct hf__quorum *, int result, uint64_t fence);
/* More than half. */
int hf__quorum_majority(int members);
/* True once no answer that is still out can change the verdict. */
bool hf__quorum_is_decided(const struct hf__quorum *);
/*
 * HF_OK: a majority granted. A refusal: a majority answered, and too few
 * granted. HF_EUNKNOWN: too few answered, and some may have applied it. Else
 * the first failure. Only once it is decided.
 */
int hf__quorum_verdict(const struct hf__quorum *);

#endif
