/* SPDX-License-Identifier: MIT */
/*
 * A session of the world's store, between store.c, which has its calls, and
 * way.c, which has the fates of its requests. For the thread whose turn it is.
 */
#ifndef HF_TESTS_SIM_WAY_H
#define HF_TESTS_SIM_WAY_H

#include "src/backend/registry.h"
#include "src/base/thread.h"
#include "tests/sim/scene.h"

struct hf__way {
    struct hf__head head;
    struct hf__way *next; /* of those that are open */
    int host;
    bool is_open;
    unsigned epoch;  /* of the store, when it was opened */
    unsigned memory; /* generation of what it remembers, then */
    _Alignas(max_align_t) unsigned char state[]; /* memory's own */
};

/* memory:'s session, which learns which call runs. */
static inline struct hf__head *hf__way_inner(struct hf__way *s)
{
    return (struct hf__head *)(void *)s->state;
}
static inline void *hf__way_enter(struct hf__way *s)
{
    hf__way_inner(s)->generation = s->head.generation;
    return s->state;
}

/* What is applied, and what is known of that, are one step. */
extern struct hf__mutex hf__way_mutex;

int64_t hf__way_delay(void);
/* On the way for so long. False: the limit or an interrupt came first. */
bool hf__way_travel(struct hf__way *, int64_t ns, int64_t limit);
/* By the sender's end of it; nothing is told by a host that is cut off. */
bool hf__way_is_cut(const struct hf__way *);
/* The store is down, or it was since then. */
bool hf__way_is_severed(const struct hf__way *);
/* The requests meet their fate. HF_OK, or negative: the session is dead. */
int hf__way_meet(struct hf__way *, struct hf__op *ops[], int n, int64_t limit);
/* The first late request that is due by then arrives, by that session; false:
 * there is none. And when the next is due. */
bool hf__way_bring(struct hf__way *, int64_t now);
int64_t hf__way_next(void);
void hf__way_forget(void);
const char *hf__way_kind(enum hf__op_kind);

#endif
