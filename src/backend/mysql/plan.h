/* SPDX-License-Identifier: MIT */
/*
 * What is to be done for a batch, unit by unit. Thread: the session's.
 */
#ifndef HF_BACKEND_MYSQL_PLAN_H
#define HF_BACKEND_MYSQL_PLAN_H

#include "src/backend/mysql/hot.h"

/* As many operations at once; each may be a unit of its own. */
#define HF__PLAN_MAX 256

struct hf__plan {
    struct hf__op *ops[HF__PLAN_MAX]; /* by kind, likeness and key */
    struct hf__unit units[HF__PLAN_MAX];
    int n_units;
};

/* For names with one holder at most, as far as the operation tells? */
bool hf__plan_is_hot(const struct hf__op *op);
/* Of the hot ones, in the order of kinds that the contract names. */
void hf__plan_make(struct hf__plan *p, struct hf__op *const ops[], int n);

#endif
