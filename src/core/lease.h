/* SPDX-License-Identifier: MIT */
/*
 * How long a lease may be believed, and when to renew it. Pure: the caller
 * brings every point in time. The rules are those of docs/guarantees.md.
 */
#ifndef HF_CORE_LEASE_H
#define HF_CORE_LEASE_H

#include "src/base/time.h"

#include <stdint.h>

/*
 * Until when a grant whose request left at `sent` is surely ours: the lease
 * less 1 % + 5 ms for the drift between our clock and the store's. Counted
 * from before the request, because the store may have applied it at once
 * while the reply took its time (Redis docs, "Distributed locks": validity).
 */
hf__time hf__lease_deadline(hf__time sent, int64_t lease_ms);

/* When to renew next: a third of the lease after the last confirmed request,
 * so that two more tries fit before the deadline. */
hf__time hf__lease_renew_at(hf__time sent, int64_t lease_ms);

/* When the store has surely ended a lease that was asked for at `sent`,
 * whatever its clock's rate: 2 % and a second past it. A release by token is
 * pointless from then on. */
hf__time hf__lease_moot_at(hf__time sent, int64_t lease_ms);

/* When a renewal that began at `now` has been without an answer for so long
 * that its holder should know: twice what a batch may wait for one, since
 * another's may be before its own. */
hf__time hf__lease_risk_at(hf__time now, int64_t lease_ms);

/* When to try again after a renewal that failed at `now`. */
hf__time hf__lease_retry_at(hf__time now, int64_t lease_ms);

/* When to try again to give back what nobody holds: as soon, but however long
 * the lease, others wait for it. */
hf__time hf__lease_give_back_at(hf__time now, int64_t lease_ms);

#endif
