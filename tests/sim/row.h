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

enum {
    HF__PAST_LENGTH = 32,
    HF__SHARERS_MAX = 24,
    HF__TICKETS_MAX = 32,
    HF__BURIED_MAX = 16
};

/* A grant beside others. */
struct hf__sharer {
    uint64_t token;
    int64_t ends;
    uint64_t fence;
    struct hf__manner manner;
    int slot;
    int client;
    int life;
};

struct hf__ticket {
    uint64_t token;
    struct hf__manner manner;
    int client;
    int life;
    int64_t beat; /* when it was last asked for, by the store's clock */
};

struct hf__row {
    uint64_t token;  /* of the owner, who is alone; 0: free, or shared */
    int64_t ends;    /* of the lease, by the store's clock */
    uint64_t fence;  /* the highest given so far */
    uint64_t broken; /* fence of the last grant that was broken */
    uint64_t gave;   /* of a quorum: the fence of the last grant here … */
    uint64_t was;    /* … and the one before */
    uint64_t was_of; /* … and whose it was */
    uint64_t top;    /* the highest given, where that was undone */
    int client;      /* the owner's process, where the store sees its death */
    int life;
    uint64_t buried[HF__BURIED_MAX]; /* tokens that were given back, of late */
    int n_buried;                    /* ever */
    int n_sharers;                   /* of a crowd, as the next */
    int n_line;
    struct hf__sharer sharers[HF__SHARERS_MAX];
    struct hf__ticket line[HF__TICKETS_MAX]; /* in order of arrival */
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

/* The row without what its lists do not have. */
void hf__row_copy(struct hf__row *to, const struct hf__row *from);
void hf__row_init(struct hf__member *, const struct hf__plan *, int index);
int64_t hf__row_now(const struct hf__member *, int64_t true_ns);
/* Somebody owns the name and the lease runs, if the clock shows `now`. */
bool hf__row_is_held(const struct hf__member *, int64_t now);
/* A statement that was held up has an old NOW: it must not take from the
 * lease what a later one, which overtook it, has given. */
void hf__row_extend(const struct hf__plan *, int64_t begun, int64_t *ends);
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
