/* SPDX-License-Identifier: MIT */
/*
 * An acquire of one name that is under way: its token, its attempts, its
 * waiting, and the cleanup it leaves when its caller goes away before the
 * outcome is known. Claims are refcounted: the caller has one reference, a
 * cleanup another.
 *
 * A claim goes in steps, none of which sleeps: a caller with several claims
 * steps each of them and sleeps on the parker that they share.
 */
#ifndef HF_CORE_CLAIM_H
#define HF_CORE_CLAIM_H

#include "src/base/alloc.h"
#include "src/core/grant.h"
#include "src/core/name_queue.h"

enum hf__stage {
    HF__STAGE_TURN,    /* in the queue, or its turn to ask the store */
    HF__STAGE_ATTEMPT, /* an attempt is under way */
    HF__STAGE_HOLDER,  /* the store says that the name is taken */
    HF__STAGE_PAUSE,   /* the store did not answer */
    HF__STAGE_LEAVING, /* it gave up, but may be about to be handed the lock */
    HF__STAGE_ENDED
};

struct hf__claim {
    atomic_int refs;
    struct hf_client *client;
    struct hf__grant *grant; /* passed to the caller once it is granted */
    struct hf__name_queue *queue;
    struct hf__link link; /* in its queue's waiters, unqueued or out */
    /* in its queue's askers while it waits for its turn */
    struct hf__link asker;
    enum hf__waiter_state waiter_state;
    enum hf__use use;  /* what the request is used for */
    hf__time asked_at; /* when its attempt, or the hand-over to it, began */
    bool has_left;     /* its caller has left the queue */

    enum hf__stage stage;
    int result;               /* set once it is leaving */
    int failures;             /* attempts in a row that got no answer */
    hf__time look_at;         /* when the stage HOLDER or PAUSE ends */
    bool is_watched;          /* `watching` is in its watcher's list */
    atomic_int is_called_off; /* see hf__claim_call_off() */

    struct hf__parker own_parker;
    /* own, the cancel object's, or one that was set before start() */
    struct hf__parker *parker;
    const atomic_int *stop; /* the cancel object's flag; NULL: none */
    int64_t wait_ms;
    /* the store has answered that others hold or await the lock, and the
     * call waits */
    bool is_heard;
    /* its time was up while a request was under way that was not late yet */
    bool is_cut_short;
    struct hf__lock_mode lock_mode;
    enum hf__queueing queueing;
    bool is_unqueued;   /* asks the store without queueing in this client */
    hf__time patience;  /* until when to wait for a holder */
    hf__time answer_by; /* the call returns by then */

    int64_t lease_ms;
    struct hf__token token;
    struct hf__key key;
    struct hf__owner owner;
    struct hf__request request;
    struct hf__record record; /* of the holder, as the store last told */
    /* the store's reply to the attempt under way; written by the session */
    struct hf__record reply;
    hf_error err;      /* of the attempt under way, or the last one */
    hf_error last_err; /* of the last attempt before it that had an error */
    bool is_detached;  /* the request goes on without the caller */

    /* Written by the user of the request; read by others under the client's
     * mutex. */
    enum hf__store_has store_has;
    /* a request with this token got no answer, so it may still arrive,
     * whatever later answers say. Stays true */
    bool is_unanswered;
    hf__time granted_sent; /* when the granted request was sent */
    uint64_t granted_fence;

    struct hf__watching watching;
    struct hf__timer_task timer_task; /* tries the give-back again */
    struct hf__link cleanup_link; /* in client->cleanups while the timer task
                                  waits */
    hf__time moot_at;             /* the store's lease is surely over by then */
    char key_bytes[HF__KEY_MAX];
};

/* The store may have granted it; its last answer does not tell. */
static inline bool hf__claim_is_unknown(const struct hf__claim *c)
{
    return c->store_has >= HF__STORE_HAS_UNKNOWN;
}
/* The store may have something of this claim, or get it yet. */
static inline bool hf__claim_may_be_there(const struct hf__claim *c)
{
    return c->store_has != HF__STORE_HAS_NOTHING || c->is_unanswered;
}

/* HF_OK and a claim with its grant, which is not granted yet; HF_ENOMEM. */
HF_MUST_CHECK int hf__claim_new(struct hf_client *, const char *name,
                                const hf_acquire_opts *,
                                struct hf__claim **ret_claim);
/* Drop a reference; the last one frees the claim. Thread: any. */
static inline void hf__claim_unref(struct hf__claim *c)
{
    struct hf_client *client = c->client;

    if (atomic_fetch_sub(&c->refs, 1) > 1) {
        return;
    }
    if (c->grant != NULL) {
        hf__grant_unref(c->grant);
    }
    hf__free(c);
    hf__client_unref(client);
}

/*
 * Acquiring in steps. start() enters the claim's queue: HF_OK, and then
 * finish() must follow; HF_ENOMEM; or HF_EUNAVAIL if there is no thread for
 * give-backs. step() does what can be done now and returns true once the claim
 * has ended, with c->result. Otherwise the caller sleeps on c->parker, as it
 * was seen before the step, until *ret_until at the latest, and steps again. On
 * any parker but an executor job's a claim may lead its session, and a step
 * blocks for its batch. finish() returns the result, and the grant if that is
 * HF_OK, and leaves the queue; what the store may still have of a claim that
 * got nothing is given back in the background.
 *
 * Several claims may share a parker, which is set before start(). One that has
 * begun an attempt asks for the next step at once (*ret_until has passed): a
 * caller with several claims steps them all first, and the first that leads
 * takes the attempts of all in one batch.
 *
 * Thread: one at a time.
 */
HF_MUST_CHECK int hf__claim_start(struct hf__claim *, hf_error *err);
HF_MUST_CHECK bool hf__claim_step(struct hf__claim *, hf__time *ret_until);
HF_MUST_CHECK int hf__claim_finish(struct hf__claim *,
                                   struct hf__grant **ret_grant, hf_error *err);
/* The claim's time ended while a request was under way; was_unknown tells
 * whether an earlier attempt may have been granted. Returns HF_TIMEDOUT or
 * r. */
HF_MUST_CHECK int hf__claim_time_out(struct hf__claim *, bool was_unknown,
                                     int r);
/* Fill err for a caller that got nothing; returns r. In acquire_error.c. */
int hf__claim_tell(const struct hf__claim *, int r, hf_error *err);
/* Cancel the claim: its next step ends it. Thread: any. */
void hf__claim_call_off(struct hf__claim *);
/* Start the claim's time limits now instead of when it was made. Call it before
 * start(). */
void hf__claim_set_limits(struct hf__claim *);

#endif
