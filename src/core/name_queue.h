/* SPDX-License-Identifier: MIT */
/*
 * The claims of one client for one name. Only the first in the queue goes to
 * the store; the others wait for their turn inside the process, so the store
 * does the same work for each hand-over however many wait. A queue exists as
 * long as a claim waits in it, the client holds the lock, or an attempt has no
 * outcome yet.
 *
 * All functions take the client's mutex themselves. Thread: any.
 */
#ifndef HF_CORE_NAME_QUEUE_H
#define HF_CORE_NAME_QUEUE_H

#include "src/core/client.h"

struct hf__claim;

/* Where a claim stands in its queue; under the client's mutex. */
enum hf__waiter_state {
    HF__WAITER_OUT,          /* not there */
    HF__WAITER_UNQUEUED,     /* beside the queue: asks the store when it
                                likes */
    HF__WAITER_QUEUED,       /* in the queue; asks the store when it is first */
    HF__WAITER_HANDING_OVER, /* being handed the lock by its holder */
    HF__WAITER_HANDED_OVER   /* handed over; see granted_… */
};

/* Who has a claim's request, from when it is cleared until its outcome is
 * known; under the client's mutex. */
enum hf__use {
    HF__USE_NONE,
    HF__USE_ATTEMPT,  /* the claim asks the store */
    HF__USE_HANDOVER, /* a holder hands it the lock */
    HF__USE_CLEANUP   /* what is left of it is given back */
};

/* What the store may have of a claim's token, as far as it was told; each is
 * more than the one before. */
enum hf__store_has {
    HF__STORE_HAS_NOTHING,
    HF__STORE_HAS_TICKET,  /* a place in its queue */
    HF__STORE_HAS_UNKNOWN, /* it was asked, and has not answered since */
    HF__STORE_HAS_GRANT
};

struct hf__name_queue {
    struct hf__map_link link;
    struct hf__link waiters;  /* claims, the first contends */
    struct hf__link unqueued; /* claims that do not wait for those before */
    struct hf__link out;      /* claims that want the lock no more */
    struct hf__link askers;   /* of line and apart: whose turn it is when none
                                 is unsettled, in their order */
    struct hf__grant *holder; /* of this client, alone; NULL if none */
    struct hf__link owned;    /* grants whose locks are not all let go */
    int unsettled;            /* attempts whose outcome is not known */
    int last_result;          /* of the last attempt, or its settling */
    int handovers;            /* in a row, without asking the store's others */
    hf__time handed_since;    /* the first of them */
    char key[];
};

/* Enter the claim's queue, making it if need be: in the queue, or beside it.
 * HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__name_queue_enter(struct hf__claim *);
/* Take the claim out of its queue, and wake the next, unless it is HANDING_OVER
 * or HANDED_OVER. Gives how it stands afterwards. */
enum hf__waiter_state hf__name_queue_withdraw(struct hf__claim *);
/* Leave while being HANDING_OVER the lock: whoever ends the hand-over gives it
 * back (hf__name_queue_handed_over() says so). False if it has ended
 * already. */
HF_MUST_CHECK bool hf__name_queue_abandon(struct hf__claim *);
/* Leave the queue altogether. Not while being handed the lock. */
void hf__name_queue_leave(struct hf__claim *);

enum hf__turn {
    HF__TURN_WAIT, /* park */
    HF__TURN_SOON, /* park a moment: who is before it should ask at once, but
                      may be put to work elsewhere before it comes to that */
    HF__TURN_ASK,  /* ask the store; an attempt is now counted */
    HF__TURN_HANDING_OVER, /* the lock is being handed to it: stay */
    HF__TURN_HANDED_OVER   /* it was handed over: result in the claim */
};
enum hf__turn hf__name_queue_turn(struct hf__claim *);
/* It does not wait for its turn just now: that is the next one's. */
void hf__name_queue_pass(struct hf__claim *);
/* The attempt that HF__TURN_ASK counted, or the cleanup, has its outcome: the
 * request is free. */
void hf__name_queue_attempted(struct hf__claim *, int result);
/* The request, free or abandoned, is a cleanup's: one more outcome that
 * somebody must settle. */
void hf__name_queue_unsettle(struct hf__claim *);
/* What is not settled yet has met this, and is a cleanup's. */
void hf__name_queue_met(struct hf__claim *, int result);
/* What was last met at this place; HF_OK before the first. */
int hf__name_queue_last_result(struct hf__claim *);

/* What the store may have of it, for its caller while the request is free, or
 * a holder's who hands it the lock. */
enum hf__store_has hf__name_queue_store_has(struct hf__claim *);
/* What the store may have of a claim once that, its attempt or a hand-over to
 * it, has its result. */
enum hf__store_has hf__store_has_after(enum hf__store_has before,
                                       const struct hf__op *);
/* Its request has a result: note what the store may have of it now. By who has
 * the request. */
void hf__claim_hear(struct hf__claim *);
/* When its attempt, or the hand-over to it, began. */
hf__time hf__name_queue_asked_at(struct hf__claim *);
/* What it was handed was of no use: it stands in the queue again. */
void hf__name_queue_requeue(struct hf__claim *);
/* The claim's lock is held now. */
void hf__name_queue_granted(struct hf__claim *);
/* The same for a lock that was adopted. Without memory for a queue nobody in
 * this process knows of it; the store does. */
void hf__name_queue_adopted(struct hf__grant *);
/* The lock is held no longer; the first in the queue is woken. */
void hf__name_queue_holder_gone(struct hf__grant *);
/* A holder of this client, not lost yet, whose grant was broken: that with
 * the fence or, for 0, any below `risen`. With a reference; NULL if none. */
struct hf__grant *hf__name_queue_broken(struct hf_client *,
                                        const struct hf__key *, uint64_t fence,
                                        uint64_t risen);
/* Of those that this owner has not let go, held or lost: the holder, or
 * another, with a reference; NULL if none. */
struct hf__grant *hf__name_queue_owned(struct hf_client *,
                                       const struct hf__key *,
                                       uint64_t owner_id);
/* The last lock of the lock was let go. */
void hf__name_queue_owner_left(struct hf__grant *);
/* Who gets the lock when it is released now, or NULL: then really release
 * it. The claim stays put until hf__name_queue_handed_over(). */
struct hf__claim *hf__name_queue_next_waiter(struct hf__grant *,
                                             int64_t lease_ms);
/* The hand-over ended. OK: granted, as its request tells; else the claim asks
 * the store itself. False if it has been abandoned: then its place is kept
 * until hf__name_queue_forget(). */
HF_MUST_CHECK bool hf__name_queue_handed_over(struct hf__claim *);
void hf__name_queue_forget(struct hf__claim *);

#endif
