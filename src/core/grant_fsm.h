/* SPDX-License-Identifier: MIT */
/*
 * The life of one grant as a pure state machine: facts in, actions out; and the
 * arithmetic of leases. No clock, no thread, no I/O, no memory of its own;
 * every event brings the time. The core drives it with real events, its unit
 * tests with made ones.
 */
#ifndef HF_CORE_GRANT_FSM_H
#define HF_CORE_GRANT_FSM_H

#include "include/holdfast.h"
#include "src/base/time.h"

#include <stdbool.h>
#include <stdint.h>

enum hf__phase {
    HF__PHASE_CLAIMING, /* wanted, not yet granted */
    HF__PHASE_HELD,
    HF__PHASE_AT_RISK, /* a renewal failed, or hangs; held until the deadline */
    HF__PHASE_RELEASING, /* given up by us; the store may not know yet */
    HF__PHASE_RELEASED,  /* final */
    HF__PHASE_DETACHED,  /* final: it lives on without us */
    HF__PHASE_LOST       /* final */
};

struct hf__grant_fsm {
    enum hf__phase phase;
    hf_reason reason; /* why it was lost */
    bool auto_renew;
    bool is_renewing; /* a renewal is on its way */
    int64_t lease_ms;
    int64_t max_hold_ms; /* not ours for longer, renewed or not; 0: no limit */
    uint64_t fence;
    hf__time deadline; /* ours until then, by our clock */
    hf__time hold_end; /* no deadline is later */
    hf__time renew_at; /* the next renewal is due; HF__NEVER if none */
    hf__time risk_at;  /* one that is on its way then hangs */
};

enum hf__fsm_event_kind {
    HF__FSM_GRANTED,       /* the store said yes: sent, fence, seen_fence */
    HF__FSM_TICK,          /* time has passed */
    HF__FSM_RENEW_BEGUN,   /* a renewal that was not our duty goes out */
    HF__FSM_RENEWED,       /* the store confirmed a renewal: sent */
    HF__FSM_RENEW_FAILED,  /* no confirmation; perhaps, perhaps not */
    HF__FSM_REFUSED,       /* the store says it is not ours: reason */
    HF__FSM_RELEASE,       /* the holder gives it up */
    HF__FSM_RELEASE_ENDED, /* result: HF_OK, HF_LOST (reason), failure */
    HF__FSM_DETACHED,      /* the holder leaves it to its lease */
    HF__FSM_CLOSED         /* its client or session is gone: reason */
};

struct hf__fsm_event {
    enum hf__fsm_event_kind kind;
    int result;
    hf_reason reason;
    hf__time now;
    hf__time sent; /* read before the request left */
    uint64_t fence;
    uint64_t seen_fence; /* the highest this client saw for the name */
};

/* Actions that an event leaves; a set. */
#define HF__DO_RENEW   1u /* send a renewal */
#define HF__DO_RELEASE 2u /* send the release */
#define HF__DO_TELL    4u /* it was lost just now: tell the holder */
/* The store may think it ours: release by token; nobody waits for it. */
#define HF__DO_GIVE_BACK 8u
/* The grant's own, no step's: ask the store whether it is ours; hand the
 * pending operation that was begun to its session. */
#define HF__DO_CHECK  16u
#define HF__DO_SUBMIT 32u

/* A grant that is wanted. */
void hf__grant_fsm_init(struct hf__grant_fsm *, int64_t lease_ms,
                        bool auto_renew);
/* Feed one event; gives the actions. */
unsigned hf__grant_fsm_step(struct hf__grant_fsm *,
                            const struct hf__fsm_event *);
/* It was got ahead of others that its holder needs as well: only now does the
 * holder have it, and its own wishes count from now. */
void hf__grant_fsm_begin(struct hf__grant_fsm *, int64_t max_hold_ms,
                         bool auto_renew, hf__time now);
/* Until when it is ours if a request sent then is confirmed. */
hf__time hf__grant_fsm_promise(const struct hf__grant_fsm *, hf__time sent);
/* Nobody else can have it, by our clock. */
bool hf__grant_fsm_is_held(const struct hf__grant_fsm *, hf__time now);
/* When the next TICK matters: a renewal is due or hangs, the deadline;
 * HF__NEVER. */
hf__time hf__grant_fsm_next_tick(const struct hf__grant_fsm *);

/* ---- how long a lease may be believed, and when to renew it; the rules are
 * those of docs/guarantees.md */

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
