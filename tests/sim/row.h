/* SPDX-License-Identifier: MIT */
/*
 * One server that keeps leases, as src/backend/backend.h wants it, reduced to
 * one name: a row with token, end of lease and fence, a clock that may step,
 * atomic statements that may begin long before they are applied, and a past
 * to which a crash or a replica's promotion may take it back.
 */
#ifndef HF_TESTS_SIM_ROW_H
#define HF_TESTS_SIM_ROW_H

#include "tests/sim/plan.h"

enum { HF__PAST_LENGTH = 32 };

struct hf__row {
    uint64_t token;  /* of the owner; 0: free */
    int64_t ends;    /* of the lease, by the store's clock */
    uint64_t fence;  /* the highest given so far */
    uint64_t broken; /* fence of the last grant that was broken */
    int client;      /* the owner's process, where the store sees its death */
    int life;
};

struct hf__member {
    const struct hf__plan *plan;
    int index;
    bool is_up;
    int incarnation;    /* rises with each restart */
    int64_t started;    /* true time */
    int64_t stepped_ns; /* sum of the steps of the clock */
    struct hf__row row;
    uint64_t changes;
    struct {
        int64_t at; /* true time: from then on the row was so */
        struct hf__row row;
    } past[HF__PAST_LENGTH];
};

void hf__row_init(struct hf__member *, const struct hf__plan *, int index);
int64_t hf__row_now(const struct hf__member *, int64_t true_ns);
/* Somebody owns the name and the lease runs, if the clock shows `now`. */
bool hf__row_is_held(const struct hf__member *, int64_t now);
/* The fence of a grant made when the clock shows `now`. */
uint64_t hf__row_next_fence(const struct hf__member *, int64_t now);
/*
 * Apply a statement that began at m->begun by the member's clock; result,
 * fence and reason of the message become the answer's. The row may be taken
 * from an owner that is known to be dead.
 */
void hf__row_apply(struct hf__member *, struct hf__message *, bool is_orphan);
void hf__row_break(struct hf__member *);
/* Keep the row as it is now for hf__row_go_back. */
void hf__row_remember(struct hf__member *, int64_t true_ns);
/* The row becomes what it was at that time, or in the oldest past kept. */
void hf__row_go_back(struct hf__member *, int64_t true_ns);

#endif
