/* SPDX-License-Identifier: MIT */
/*
 * What a member of a quorum remembers, and from when on it counts for that
 * reason. Thread: the session's.
 */
#ifndef HF_BACKEND_REDLOCK_MEMORY_H
#define HF_BACKEND_REDLOCK_MEMORY_H

#include "src/base/time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf__redlock;
struct hf__voter;

/* For people, who are told when to try again; also of what never comes. */
static inline int64_t hf__seconds_left(int64_t ms)
{
    return ms / 1000 + (ms % 1000 != 0);
}

/* What a member said of its past. */
struct hf__memory {
    bool is_unseen;   /* we may not look */
    bool is_unmarked; /* by nobody yet, or not as what it is now */
    bool is_wrong;    /* … and the mark that is there is none */
    int64_t since_us; /* the mark: it forgot nothing since */
    int64_t server_us;
};

/* From what it said when it came. */
void hf__memory_judge(struct hf__voter *m);
/* From then on nothing that it may have forgotten runs. */
hf__time hf__memory_counts_at(const struct hf__redlock *s,
                              const struct hf__voter *m);
/* It has no mark where others have one: it was emptied, or all are new and
 * another client is marking them just now. */
bool hf__memory_may_be_marked(const struct hf__redlock *s, int member);
/* Mark those that are without, once a majority is there. True: some were. */
bool hf__memories_settle(struct hf__redlock *s);
/* Why it does not count yet; as snprintf(). */
int hf__memory_describe(const struct hf__voter *m, int64_t left_ms, char *to,
                        size_t size);
/* Since when it is known to remember, and where that stands. */
void hf__memory_tell(const struct hf__redlock *s, const struct hf__voter *m,
                     char *to, size_t size);

#endif
