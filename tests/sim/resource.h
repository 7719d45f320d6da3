/* SPDX-License-Identifier: MIT */
/*
 * What the lock is there for: a value that is read, changed and written back
 * by who holds the name. One copy takes every write; the other is fenced and
 * refuses a number below the highest that it has seen.
 */
#ifndef HF_TESTS_SIM_RESOURCE_H
#define HF_TESTS_SIM_RESOURCE_H

#include "src/backend/backend.h"

/* A grant that was detached: whoever knows the token may adopt it, once. */
struct hf__parcel {
    int64_t until;  /* true time: a quorum's is adopted before */
    uint64_t token; /* 0: none */
    uint64_t fence;
    int64_t invoked;
    struct hf__manner manner;
};

struct hf__resource {
    int64_t value;
    uint64_t highest;         /* fence that wrote the fenced copy */
    struct hf__parcel parcel; /* beside it, for the next to come */
};

struct hf__write {
    int client;
    uint64_t token;
    uint64_t fence;
    int64_t was;      /* the value that was read */
    bool is_lost;     /* somebody else's write is overwritten */
    bool is_accepted; /* by the fenced copy */
};

/* Fills in what became of the write. */
void hf__resource_write(struct hf__resource *, struct hf__write *);

#endif
