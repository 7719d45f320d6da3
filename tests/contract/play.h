/* SPDX-License-Identifier: MIT */
/*
 * A scene that is played twice: what a store was asked, of a few parties on one
 * name, and the name in memory, as hf__decide() would have it. play_told.c
 * compares what the two say, play_allowed.c knows what the contract leaves to
 * the store. Thread: the test's.
 */
#ifndef HF_TESTS_CONTRACT_PLAY_H
#define HF_TESTS_CONTRACT_PLAY_H

#include "src/backend/name/decide.h"
#include "tests/contract/vocabulary_crowd.h"

enum { PARTIES_N = 4, STEPS = 25 };

struct play {
    struct party *parties[PARTIES_N];
    int scene;
    char name[32];
    struct hf__lock_mode manners[PARTIES_N];
    struct hf__name model;
    struct hf__rules rules;
    uint64_t broken[STEPS * (PARTIES_N + 1)]; /* fences of all that were */
    int n_broken;
    uint64_t broken_keeping; /* what was broken last: of whose keeping; or 0 */
    bool is_cut[PARTIES_N];  /* somebody broke its grant since it last asked */
    char story[8192];        /* what was asked so far */
    size_t length;
};

/* One operation. */
struct turn {
    int who;
    struct party *p;
    struct party *taker; /* HANDOVER */
    uint64_t own_fence;  /* as the party knows it */
    uint64_t fence;      /* as it was asked with */
    uint64_t last;       /* the name's, before it */
    bool rises;          /* the name's, by it */
    struct request found;
    struct request model;
    struct hf__outcome out;
};

/* Makes of what is expected what the store said, as far as it may say that. */
void allow(struct play *, struct turn *);
/* Ends the test, and tells the scene, unless the two say the same. */
void compare(struct play *, const struct turn *);
/* The fences are the store's own: the name in memory has them too, if they are
 * as they must be. */
void take_fence(struct play *, const struct turn *);

#endif
