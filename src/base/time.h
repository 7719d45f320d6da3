/* SPDX-License-Identifier: MIT */
/*
 * Points in time as a type of their own, so that they can't be mixed with
 * durations. All decisions are on CLOCK_BOOTTIME, which advances while the
 * machine sleeps, as the lease on the server does (CLOCK_MONOTONIC stops).
 * The wall clock serves only labels for people and the rise of fences.
 * Thread: any; async-signal-safe.
 */
#ifndef HF_BASE_TIME_H
#define HF_BASE_TIME_H

#include "src/base/base.h"

typedef struct hf__time {
    int64_t ns; /* CLOCK_BOOTTIME */
} hf__time;

#define HF__MS     INT64_C(1000000) /* nanoseconds */
#define HF__SECOND INT64_C(1000000000)
#define HF__NEVER  ((hf__time){INT64_MAX})

HF_MODULE_API hf__time hf__now(void);

/* CLOCK_MONOTONIC; only for calls that can sleep by no other clock. */
int64_t hf__monotonic_ns(void);

/* Microseconds since 1970-01-01 UTC. May step. */
HF_MODULE_API int64_t hf__wall_us(void);

static inline bool hf__is_never(hf__time t)
{
    return t.ns == INT64_MAX;
}

static inline bool hf__before(hf__time a, hf__time b)
{
    return a.ns < b.ns;
}

static inline hf__time hf__earlier(hf__time a, hf__time b)
{
    return a.ns < b.ns ? a : b;
}

static inline hf__time hf__later(hf__time a, hf__time b)
{
    return a.ns < b.ns ? b : a;
}

/* b − a in nanoseconds; negative if b is before a. */
static inline int64_t hf__between_ns(hf__time a, hf__time b)
{
    return b.ns - a.ns;
}

/* In microseconds, some 140 years: no time that we write is further from
 * zero. */
#define HF__TIME_END (INT64_C(1) << 52)

/* Bounds a time that others may have written, so that adding or subtracting a
 * few of them, or multiplying one by a thousand, does not overflow. */
static inline int64_t hf__time_bounded(int64_t t)
{
    return t > HF__TIME_END    ? HF__TIME_END
           : t < -HF__TIME_END ? -HF__TIME_END
                               : t;
}

/* Stops at HF__NEVER instead of overflowing. */
HF_MODULE_API hf__time hf__after_ns(hf__time t, int64_t ns);
hf__time hf__after_us(hf__time t, int64_t us);
HF_MODULE_API hf__time hf__after_ms(hf__time t, int64_t ms);

/* Whole milliseconds from now until t, rounded up; 0 if past, INT64_MAX if
 * never. */
HF_MODULE_API int64_t hf__ms_until(hf__time t, hf__time now);

#endif
