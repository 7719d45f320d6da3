/* SPDX-License-Identifier: MIT */
/*
 * The words of the contract suite for claims that stand beside others or in
 * line, and for who is at a name. As vocabulary.h.
 */
#ifndef HF_TESTS_CONTRACT_VOCABULARY_CROWD_H
#define HF_TESTS_CONTRACT_VOCABULARY_CROWD_H

#include "tests/contract/vocabulary.h"

#define ALONE      ((struct hf__lock_mode){HF__MODE_EXCLUSIVE, 0})
#define SHARED     ((struct hf__lock_mode){HF__MODE_SHARED, 0})
#define SLOT_OF(n) ((struct hf__lock_mode){HF__MODE_SLOTS, (n)})

/* One attempt that waits for nothing. */
int try_as(struct party *, const char *name, struct hf__lock_mode);
int try_for(struct party *, const char *name, struct hf__lock_mode,
            int64_t lease_ms);
/* As JOB_OF(), in that manner. */
#define JOB_AS(lock_mode, ...)                                                 \
    PARTIES(__VA_ARGS__);                                                      \
    EXPECT_IS(try_as(&HF__FIRST(__VA_ARGS__, 0), "job", lock_mode), HF_OK)
/* One attempt of a claim that waits, not minding the order. */
int want(struct party *, const char *name, struct hf__lock_mode);
/* One attempt of a claim that waits in line. */
int queue_up(struct party *, const char *name, struct hf__lock_mode);
/* Ask like that until it is granted, for some seconds at most. */
void until_granted(struct party *, const char *name, struct hf__lock_mode);

/* Who is at a name. */
struct scene {
    struct hf__participant_list crowd;
    int n_holders;
    int n_waiters;
};
/* Looks, and ends the test unless that many hold it and wait in line. */
void look_around(struct party *, const char *name, struct scene *);
void expect_around(struct party *, const char *name, int n_holders,
                   int n_waiters);
/* Is `who` the i-th of those in line? */
bool is_next(struct party *, const char *name, int i, const struct party *who);
/* Look until so many hold it, for some seconds at most. */
void until_held_by(struct party *, const char *name, int n_holders);

#endif
