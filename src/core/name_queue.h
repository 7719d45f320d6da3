/* SPDX-License-Identifier: MIT */
/*
 * The claims of one client for one name. Only the first in the queue asks the
 * store; the others wait for their turn inside the process, so the store does
 * the same work for each hand-over however many wait. A queue exists as long as
 * a claim waits in it, the client holds the lock, or the outcome of an attempt
 * is unknown.
 *
 * All functions take the client's mutex themselves. Thread: any.
 */
#ifndef HF_CORE_NAME_QUEUE_H
#define HF_CORE_NAME_QUEUE_H

#include "src/core/client.h"

struct hf__claim;

/* How a claim takes part in its queue; under the client's mutex. */
enum hf__waiter_state {
    HF__WAITER_OUT,          /* not in the queue */
    HF__WAITER_UNQUEUED,     /* beside the queue: asks without being first */
    HF__WAITER_QUEUED,       /* in the queue; asks the store when it is first */
    HF__WAITER_HANDING_OVER, /* the holder is handing it the lock */
    HF__WAITER_HANDED_OVER   /* it was handed the lock; see granted_… */
};

/* What a claim's request is used for, from when it is cleared until its outcome
 * is known; under the client's mutex. */
enum hf__use {
    HF__USE_NONE,
    HF__USE_ATTEMPT,  /* the claim asks the store */
    HF__USE_HANDOVER, /* a holder hands the lock to the claim */
    HF__USE_CLEANUP   /* what the claim left in the store is given back */
};

/* What the store may have of a claim's token, as far as we know; each value
 * includes more than the one before. */
enum hf__store_has {
    HF__STORE_HAS_NOTHING,
    HF__STORE_HAS_TICKET,  /* a place in its queue */
    HF__STORE_HAS_UNKNOWN, /* a request has had no sure answer yet */
    HF__STORE_HAS_GRANT
};

struct hf__name_queue {
    struct hf__map_link link;
    struct hf__link waiters;  /* claims; the first asks the store */
    struct hf__link unqueued; /* claims that do not wait for earlier ones */
    struct hf__link out;      /* claims that no longer want the lock */
    /* queued and unqueued claims that want to ask the store, in the order in
     * which they get their turn while no attempt is unsettled */
    struct hf__link askers;
    struct hf__grant *holder; /* this client's exclusive grant; NULL: none */
    struct hf__link owned;    /* grants with locks that are not released */
    int unsettled;            /* number of attempts without a known outcome */
    int last_result;          /* of the last attempt or its cleanup */
    int handovers; /* in a row, without other clients getting a chance */
    hf__time handed_since; /* when the first of these began */
    char key[];
};

/* Enter the claim into its queue, or beside it, and create the queue if need
 * be. HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__name_queue_enter(struct hf__claim *);
/* Take the claim out of its queue and wake the next, unless it is HANDING_OVER
 * or HANDED_OVER. Returns the claim's state afterwards. */
enum hf__waiter_state hf__name_queue_withdraw(struct hf__claim *);
/* Leave a hand-over that is under way (HANDING_OVER): the thread that ends it
 * gives the lock back, since hf__name_queue_handed_over() tells it. False if
 * the hand-over has already ended. */
HF_MUST_CHECK bool hf__name_queue_abandon(struct hf__claim *);
/* Leave the queue for good; not during a hand-over. */
void hf__name_queue_leave(struct hf__claim *);

enum hf__turn {
    HF__TURN_WAIT, /* park */
    /* park a moment: an earlier claim should ask at once, but its thread may
     * be put to other work first */
    HF__TURN_SOON,
    HF__TURN_ASK,          /* ask the store; the attempt is already counted */
    HF__TURN_HANDING_OVER, /* the holder is handing it the lock: stay */
    HF__TURN_HANDED_OVER /* it was handed the lock: the claim has the result */
};
enum hf__turn hf__name_queue_turn(struct hf__claim *);
/* The claim does not want its turn just now; the next one gets it. */
void hf__name_queue_pass(struct hf__claim *);
/* The attempt that HF__TURN_ASK counted, or the cleanup, has its outcome: the
 * claim's request is free again. */
void hf__name_queue_attempted(struct hf__claim *, int result);
/* Give the claim's request, free or left by a hand-over, to a cleanup. That
 * counts one more attempt without an outcome, which the caller must settle. */
void hf__name_queue_unsettle(struct hf__claim *);
/* An attempt or cleanup that is not settled yet ended with this result; a
 * cleanup has the request from now on. */
void hf__name_queue_met(struct hf__claim *, int result);
/* The result last seen for this name; HF_OK before the first. */
int hf__name_queue_last_result(struct hf__claim *);

/* What the store may have of the claim. For the claim's caller while the
 * request is free, or for the holder that hands it the lock. */
enum hf__store_has hf__name_queue_store_has(struct hf__claim *);
/* What the store may have of a claim once its attempt, or a hand-over to it,
 * has this result. */
enum hf__store_has hf__store_has_after(enum hf__store_has before,
                                       const struct hf__op *);
/* The claim's request has a result: note what the store may have now. Only the
 * present user of the request may call this. */
void hf__claim_hear(struct hf__claim *);
/* When its attempt, or the hand-over to it, began. */
hf__time hf__name_queue_asked_at(struct hf__claim *);
/* The lock it was handed was of no use: it is queued again. */
void hf__name_queue_requeue(struct hf__claim *);
/* The claim's grant is held now. */
void hf__name_queue_granted(struct hf__claim *);
/* The same for an adopted grant. If there is no memory for a queue, the other
 * claims of this process do not know of the grant; the store does. */
void hf__name_queue_adopted(struct hf__grant *);
/* The grant is no longer held; wakes the first in the queue. */
void hf__name_queue_holder_gone(struct hf__grant *);
/* Find a holder of this client, not yet lost, whose grant was broken: the one
 * with the fence or, for 0, any with one below `risen`. Takes a reference;
 * NULL: none. */
struct hf__grant *hf__name_queue_broken(struct hf_client *,
                                        const struct hf__key *, uint64_t fence,
                                        uint64_t risen);
/* Find a grant of this owner that is not released, held or lost, the exclusive
 * holder first. Takes a reference; NULL: none. */
struct hf__grant *hf__name_queue_owned(struct hf_client *,
                                       const struct hf__key *,
                                       uint64_t owner_id);
/* The last lock of the grant was released. */
void hf__name_queue_owner_left(struct hf__grant *);
/* The claim that gets the lock if it is released now; NULL: really release it.
 * The claim stays where it is until hf__name_queue_handed_over(). */
struct hf__claim *hf__name_queue_next_waiter(struct hf__grant *,
                                             int64_t lease_ms);
/* The hand-over ended. If OK, the claim is granted, as its request tells; else
 * it asks the store itself. False if the claim abandoned the hand-over: then it
 * stays in the queue's list until hf__name_queue_forget(). */
HF_MUST_CHECK bool hf__name_queue_handed_over(struct hf__claim *);
void hf__name_queue_forget(struct hf__claim *);

#endif
