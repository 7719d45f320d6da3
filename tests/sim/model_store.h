/* SPDX-License-Identifier: MIT */
/*
 * A store as src/backend/backend.h wants it, reduced to one name: a row with
 * token, end of lease and fence, a clock of its own, and atomic operations.
 */
#ifndef HF_TESTS_SIM_MODEL_STORE_H
#define HF_TESTS_SIM_MODEL_STORE_H

#include "tests/sim/plan.h"

struct hf__row {
    uint64_t token;  /* of the owner; 0: free */
    int64_t ends;    /* of the lease, by the store's clock */
    uint64_t fence;  /* the highest given so far */
    uint64_t broken; /* fence of the last grant that was broken */
};

struct hf__model_store {
    const struct hf__plan *plan;
    int64_t stepped_ns; /* sum of the steps of the clock */
    struct hf__row row;
};

void hf__model_store_init(struct hf__model_store *, const struct hf__plan *);
int64_t hf__model_store_now(const struct hf__model_store *, int64_t true_ns);
/* Somebody owns the name and the lease runs. */
bool hf__model_store_is_held(const struct hf__model_store *, int64_t true_ns);
/* Apply a request; result, fence and reason of the message become the
 * answer's. */
void hf__model_store_apply(struct hf__model_store *, struct hf__message *,
                           int64_t true_ns);
void hf__model_store_break(struct hf__model_store *);

#endif
