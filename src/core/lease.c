/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic of leases. This file decides how much of a lease the client
 * may believe; it leaves to lock.c what follows from that. Called by the
 * keeper and by any caller's thread; keeps no state.
 */
#include "src/core/lease.h"

/* 1 % covers NTP slewing (500 ppm) and oscillators (100 ppm) many times
 * over; 5 ms covers the granularity of timers and short leases. */
#define DRIFT_DIVISOR  100
#define DRIFT_FLOOR_NS (5 * HF__MS)

#define MOOT_DIVISOR  50
#define MOOT_FLOOR_MS 1000
/* Between two tries to give something back. */
#define GIVE_BACK_MAX_MS 2000

hf__time hf__lease_deadline(hf__time sent, int64_t lease_ms)
{
    int64_t lease_ns = lease_ms * HF__MS;

    return hf__after_ns(sent,
                        lease_ns - lease_ns / DRIFT_DIVISOR - DRIFT_FLOOR_NS);
}

hf__time hf__lease_renew_at(hf__time sent, int64_t lease_ms)
{
    return hf__after_ns(sent, lease_ms * HF__MS / 3);
}

hf__time hf__lease_moot_at(hf__time sent, int64_t lease_ms)
{
    return hf__after_ms(sent,
                        lease_ms + lease_ms / MOOT_DIVISOR + MOOT_FLOOR_MS);
}

hf__time hf__lease_risk_at(hf__time now, int64_t lease_ms)
{
    return hf__after_ns(now, lease_ms * HF__MS / 3);
}

hf__time hf__lease_retry_at(hf__time now, int64_t lease_ms)
{
    return hf__after_ns(now, lease_ms * HF__MS / 12);
}

hf__time hf__lease_give_back_at(hf__time now, int64_t lease_ms)
{
    return hf__earlier(hf__lease_retry_at(now, lease_ms),
                       hf__after_ms(now, GIVE_BACK_MAX_MS));
}
