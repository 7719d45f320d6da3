/* SPDX-License-Identifier: MIT */
/*
 * The store of a schedule, whatever its model: its members, the line of one
 * that locks by session, and, for a store on the clients' own machine, which
 * of their processes live.
 */
#ifndef HF_TESTS_SIM_STORE_H
#define HF_TESTS_SIM_STORE_H

#include "tests/sim/crowd.h"
#include "tests/sim/line.h"

struct hf__store {
    const struct hf__plan *plan;
    struct hf__member members[HF__MEMBERS_MAX];
    struct hf__line line;       /* of member 0 */
    int lives[HF__SIM_CLIENTS]; /* of the process; 0: dead */
    bool name_lives;            /* the mutant's only sign of life */
};

void hf__store_init(struct hf__store *, const struct hf__plan *);
/* Apply a request that begins, or began, at m->begun. */
void hf__store_apply(struct hf__store *, struct hf__message *, int64_t true_ns);
/* The name is owned at that member, the lease runs and the owner lives. */
bool hf__store_is_held(const struct hf__store *, int member, int64_t true_ns);
/* Whose processes live, where the store sees it; else NULL. */
const int *hf__store_lives(const struct hf__store *);
/* The owner at that member is known to be dead. */
bool hf__store_is_orphan(const struct hf__store *, int member);
/* How many members this token owns, with those that nobody may count yet. */
int hf__store_owned(const struct hf__store *, uint64_t token, int64_t true_ns);
/* Up for longer than the longest lease: what it forgot is over. */
bool hf__store_counts(const struct hf__plan *, int64_t uptime_ns);
/* Crash. True: a grant that was there is gone, now or when it is up again. */
bool hf__store_down(struct hf__store *, int member, int64_t true_ns,
                    int64_t lost_ns);
void hf__store_up(struct hf__store *, int member, int64_t true_ns);

#endif
