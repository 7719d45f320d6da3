/* SPDX-License-Identifier: MIT */
/*
 * One verdict from the answers of n independent members; with one member, that
 * member's answer. Pure. For stores of several servers.
 */
#ifndef HF_BACKEND_QUORUM_H
#define HF_BACKEND_QUORUM_H

#include "include/holdfast.h"
#include "src/base/base.h"

#include <stdbool.h>
#include <stdint.h>

struct hf__quorum {
    int members;
    bool is_mending; /* see hf__quorum_mends() */
    int granted;
    int refused;    /* busy, lost, conflict: the member answered */
    int unknown;    /* no answer: it may have been applied */
    int failed;     /* surely not applied */
    int outcome;    /* the first refusal's status */
    int failure;    /* the first failure's status */
    uint64_t fence; /* the highest that a member gave */
};

HF_MODULE_API void hf__quorum_init(struct hf__quorum *, int members);
/*
 * For a request that a refusing member may grant the next time: a renewal,
 * which recreates the grant on a member where another stood in its way for a
 * moment. Then only a majority of refusals is a refusal, and if neither side
 * has a majority the verdict is HF_EUNKNOWN. Call it before the first answer.
 */
HF_MODULE_API void hf__quorum_mends(struct hf__quorum *);
/* Count one member's result: a status of hf_status. */
HF_MODULE_API void hf__quorum_note(struct hf__quorum *, int result,
                                   uint64_t fence);
/* The least number that is more than half. */
HF_MODULE_API int hf__quorum_majority(int members);
/* True once no answer that is still out can change the verdict. */
HF_MODULE_API bool hf__quorum_is_decided(const struct hf__quorum *);
/*
 * HF_OK: a majority granted. A refusal: a majority answered, and too few
 * granted (after hf__quorum_mends(): and a majority refused). HF_EUNKNOWN: too
 * few answered, and some may have applied it. Else the first failure. Only once
 * it is decided.
 */
HF_MODULE_API int hf__quorum_verdict(const struct hf__quorum *);

#endif
