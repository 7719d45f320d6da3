/* SPDX-License-Identifier: MIT */
/*
 * The life of one grant as a pure state machine: it takes events and returns
 * actions. The arithmetic of leases is here as well. It has no clock, no
 * thread, no I/O and allocates nothing; every event brings the time. The core
 * feeds it real events, its unit tests made-up ones.
 */
#ifndef HF_CORE_GRANT_FSM_H
#define HF_CORE_GRANT_FSM_H

#include "include/holdfast.h"
#include "src/base/time.h"

#include <stdbool.h>
#include <stdint.h>

enum hf__phase {
    HF__PHASE_CLAIMING, /* requested, not yet granted */
    HF__PHASE_HELD,
    HF__PHASE_AT_RISK, /* a renewal failed or hangs; held until the deadline */
    HF__PHASE_RELEASING, /* we gave it up; the store may not know yet */
    HF__PHASE_RELEASED,  /* final */
    HF__PHASE_DETACHED,  /* final: its lease goes on without us */
    HF__PHASE_LOST       /* final */
};

struct hf__grant_fsm {
    enum hf__phase phase;
    hf_reason reason; /* why it was lost */
    bool auto_renew;
    bool is_renewing; /* a renewal is under way */
    int64_t lease_ms;
    /* hold it for this long at most, renewals included; 0: no limit */
    int64_t max_hold_ms;
    uint64_t fence;
    hf__time deadline; /* ours until then, by our clock */
    hf__time hold_end; /* the deadline never moves past this */
    hf__time renew_at; /* when the next renewal is due; HF__NEVER: none */
    hf__time risk_at;  /* a renewal still under way by then counts as hung */
};

enum hf__fsm_event_kind {
    HF__FSM_GRANTED,      /* the store granted it: sent, fence, seen_fence */
    HF__FSM_TICK,         /* time has passed */
    HF__FSM_RENEW_BEGUN,  /* a renewal starts that no tick asked for */
    HF__FSM_RENEWED,      /* the store confirmed a renewal: sent */
    HF__FSM_RENEW_FAILED, /* no confirmation; the store may have renewed it */
    HF__FSM_REFUSED,      /* the store says that it is not ours: reason */
    HF__FSM_RELEASE,      /* the holder gives it up */
    /* result: HF_OK, HF_LOST (with reason) or a failure */
    HF__FSM_RELEASE_ENDED,
    HF__FSM_DETACHED, /* the holder leaves it to its lease */
    HF__FSM_CLOSED    /* its client or session is gone: reason */
};

struct hf__fsm_event {
    enum hf__fsm_event_kind kind;
    int result;
    hf_reason reason;
    hf__time now;
    hf__time sent; /* our time just before the request was sent */
    uint64_t fence;
    uint64_t seen_fence; /* the highest fence this client saw for the name */
};

/* The actions that an event asks for; a set. */
#define HF__DO_RENEW   1u /* send a renewal */
#define HF__DO_RELEASE 2u /* send the release */
#define HF__DO_TELL    4u /* it was just lost: tell the holder */
/* The store may think it is ours: release it by token, without a caller that
 * waits for the result. */
#define HF__DO_GIVE_BACK 8u
/* These two come from grant.c, never from a step. CHECK: ask the store whether
 * the grant is ours. SUBMIT: hand the pending operation that was begun to the
 * renewal session. */
#define HF__DO_CHECK  16u
#define HF__DO_SUBMIT 32u

/* Start as requested, not yet granted. */
void hf__grant_fsm_init(struct hf__grant_fsm *, int64_t lease_ms,
                        bool auto_renew);
/* Feed one event; returns the actions. */
unsigned hf__grant_fsm_step(struct hf__grant_fsm *,
                            const struct hf__fsm_event *);
/* The grant was acquired before others that its holder needs too. The holder
 * has it only from now on, so max_hold_ms and auto_renew apply from now on. */
void hf__grant_fsm_begin(struct hf__grant_fsm *, int64_t max_hold_ms,
                         bool auto_renew, hf__time now);
/* Until when the grant is ours if a request sent then is confirmed. */
hf__time hf__grant_fsm_promise(const struct hf__grant_fsm *, hf__time sent);
/* By our clock, no other client can have it. */
bool hf__grant_fsm_is_held(const struct hf__grant_fsm *, hf__time now);
/* When the next TICK matters: a renewal is due or counts as hung, or the
 * deadline has come. HF__NEVER: none does. */
hf__time hf__grant_fsm_next_tick(const struct hf__grant_fsm *);

/* ---- how long to believe a lease, and when to renew it: see
 * docs/guarantees.md */

/*
 * Until when a grant requested at `sent` is surely ours: the lease less 1 % + 5
 * ms for the drift between our clock and the store's. It counts from before the
 * request, because the store may have applied it at once while the reply took
 * its time (Redis docs, "Distributed locks": validity).
 */
hf__time hf__lease_deadline(hf__time sent, int64_t lease_ms);

/* When to renew next: a third of the lease after the last confirmed request was
 * sent, so that two more tries fit before the deadline. */
hf__time hf__lease_renew_at(hf__time sent, int64_t lease_ms);

/* When the store has surely ended a lease requested at `sent`, whatever the
 * rate of its clock: 2 % and a second past the lease. From then on, a release
 * by token is pointless. */
hf__time hf__lease_moot_at(hf__time sent, int64_t lease_ms);

/* When to try again after a renewal failed at `now`. */
hf__time hf__lease_retry_at(hf__time now, int64_t lease_ms);

/* When to try again to give back a grant that no lock holds: as soon as a
 * renewal would be retried, but with a cap, because others wait for the name
 * however long its lease is. */
hf__time hf__lease_give_back_at(hf__time now, int64_t lease_ms);

#endif
