/* SPDX-License-Identifier: MIT */
/*
 * Reads the clocks, and adds to a point in time without overflow. No other file
 * asks the system for the time; time.h says which clock serves what. Thread:
 * any; async-signal-safe.
 */
#include "src/base/time.h"

#include "src/base/base.h"

#include <errno.h>
#include <time.h>

/* Reading a valid clock can't fail, and the calls below name only those. errno
 * is kept, for callers in signal handlers. */
static int64_t read_clock(clockid_t clock)
{
    struct timespec t = {0, 0};
    int saved = errno;

    HF_ASSERT(clock_gettime(clock, &t) == 0);
    errno = saved;
    return (int64_t)t.tv_sec * HF__SECOND + (int64_t)t.tv_nsec;
}

hf__time hf__now(void)
{
    return (hf__time){read_clock(CLOCK_BOOTTIME)};
}

int64_t hf__monotonic_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t hf__wall_us(void)
{
    return read_clock(CLOCK_REALTIME) / 1000;
}

hf__time hf__after_ns(hf__time t, int64_t ns)
{
    int64_t sum = 0;

    if (hf__is_never(t)) {
        return t;
    }
    if (__builtin_add_overflow(t.ns, ns, &sum)) {
        return (hf__time){ns > 0 ? INT64_MAX : INT64_MIN};
    }
    return (hf__time){sum};
}

static hf__time after(hf__time t, int64_t n, int64_t unit_ns)
{
    int64_t ns = 0;

    if (__builtin_mul_overflow(n, unit_ns, &ns)) {
        ns = n > 0 ? INT64_MAX : INT64_MIN;
    }
    return hf__after_ns(t, ns);
}

hf__time hf__after_us(hf__time t, int64_t us)
{
    return after(t, us, 1000);
}

hf__time hf__after_ms(hf__time t, int64_t ms)
{
    return after(t, ms, HF__MS);
}

int64_t hf__ms_until(hf__time t, hf__time now)
{
    int64_t left = 0;

    if (hf__is_never(t)) {
        return INT64_MAX;
    }
    if (!hf__before(now, t)) {
        return 0;
    }
    if (__builtin_sub_overflow(t.ns, now.ns, &left)) {
        left = INT64_MAX;
    }
    return left / HF__MS + (left % HF__MS != 0);
}
