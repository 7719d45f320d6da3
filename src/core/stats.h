/* SPDX-License-Identifier: MIT */
/*
 * What a client counts for hf_stats(). Each counter stands alone and is only
 * ever added to, so that counting costs no lock. Thread: any.
 */
#ifndef HF_CORE_STATS_H
#define HF_CORE_STATS_H

#include <stdatomic.h>
#include <stdint.h>

/* The counters, here and in hf_stats(), in this order. */
#define HF__COUNTERS(X)                                                        \
    X(acquired)                                                                \
    X(handed_over)                                                             \
    X(reentered)                                                               \
    X(busy)                                                                    \
    X(cancelled)                                                               \
    X(failed)                                                                  \
    X(released)                                                                \
    X(lost)                                                                    \
    X(renewed)                                                                 \
    X(renew_failed)                                                            \
    X(batches)                                                                 \
    X(operations)                                                              \
    X(connects)                                                                \
    X(collected)                                                               \
    X(taken_over)                                                              \
    X(cell_writes)                                                             \
    X(cell_conflicts)                                                          \
    X(cell_locked)

struct hf__counters {
#define HF_X(name) atomic_ullong name;
    HF__COUNTERS(HF_X)
#undef HF_X
};

static inline void hf__count(atomic_ullong *counter, unsigned long long n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* Count an acquire that ended with r, which is not HF_OK. */
void hf__count_refusal(struct hf__counters *, int r);

#endif
