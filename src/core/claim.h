/* SPDX-License-Identifier: MIT */
/*
 * The wish for a name: its token, its attempts, its waiting, and the cleanup it
 * leaves when its caller goes away before the outcome is known. A claim is
 * refcounted: the caller has one reference, a cleanup another.
 *
 * It goes in steps, none of which sleeps: who has many steps each and sleeps on
 * the parker that they share.
 */
#ifndef HF_CORE_CLAIM_H
#define HF_CORE_CLAIM_H

#include "src/base/alloc.h"
#include "src/core/grant.h"
#include "src/core/name_queue.h"

enum hf__stage {
    HF__STAGE_TURN,    /* in the queue, or its turn to ask */
    HF__STAGE_ATTEMPT, /* an attempt is under way */
    HF__STAGE_HOLDER,  /* somebody elsewhere holds it */
    HF__STAGE_PAUSE,   /* the store did not answer */
    HF__STAGE_LEAVING, /* it gave up, but may be being handed the lock */
    HF__STAGE_ENDED
};

struct hf__claim {
    atomic_int refs;
    struct hf_client *client;
    struct hf__grant *grant; /* goes to the caller once it is granted */
    struct hf__name_queue *queue;
    struct hf__link link;  /* line, apart, out */
    struct hf__link asker; /* in its queue's, while it waits for its turn */
    enum hf__waiter_state waiter_state;
    enum hf__use use;  /* who has the request */
    hf__time asked_at; /* when its attempt, or the hand-over to it, began */
    bool has_left;     /* its caller has left the place */

    enum hf__stage stage;
    int result;               /* once it is leaving */
    int failures;             /* attempts without an answer, in a row */
    hf__time look_at;         /* the end of the stage HOLDER or PAUSE */
    bool is_watched;          /* `watching` is in its watcher's list */
    atomic_int is_called_off; /* see hf__claim_call_off() */

    struct hf__parker own_parker;
    struct hf__parker *parker; /* own, the cancel object's, or a crowd's */
    const atomic_int *stop;    /* the cancel object's flag; NULL: none */
    int64_t wait_ms;
    bool is_heard;     /* the store has told the call, which waits, of others */
    bool is_cut_short; /* its time was up before the store, not late yet, had
                          answered once more */
    struct hf__lock_mode lock_mode;
    enum hf__queueing queueing;
    bool is_unqueued;   /* asks the store beside this client's line */
    hf__time patience;  /* with a holder */
    hf__time answer_by; /* the call returns by then */

    int64_t lease_ms;
    struct hf__token token;
    struct hf__key key;
    struct hf__owner owner;
    struct hf__request request;
    struct hf__record record; /* of the holder, as last heard */
    struct hf__record reply;  /* to the attempt under way: the session's */
    hf_error err;             /* of the attempt under way, or the last one */
    hf_error last_err;        /* of the last one before it that had one */
    bool is_detached;         /* the request went on without the caller */

    /* By who has the request; for others under the client's mutex. */
    enum hf__store_has store_has;
    bool is_unanswered; /* a request with this token got no answer, whatever was
                         told since: it may still arrive. Once true it stays
                         so */
    hf__time granted_sent; /* of the request that was granted */
    uint64_t granted_fence;

    struct hf__watching watching;
    struct hf__timer_task timer_task; /* tries the give-back again */
    struct hf__link cleanup_link; /* in client->cleanups while the timer task
                                  waits */
    hf__time moot_at;             /* the store's lease is surely over */
    char key_bytes[HF__KEY_MAX];
};

/* What the last answer does not tell: the store may have granted it. */
static inline bool hf__claim_is_unknown(const struct hf__claim *c)
{
    return c->store_has >= HF__STORE_HAS_UNKNOWN;
}
/* May the store have anything of it, or get it yet? */
static inline bool hf__claim_may_be_there(const struct hf__claim *c)
{
    return c->store_has != HF__STORE_HAS_NOTHING || c->is_unanswered;
}

/* HF_OK and a claim with its grant, not granted yet; HF_ENOMEM. */
HF_MUST_CHECK int hf__claim_new(struct hf_client *, const char *name,
                                const hf_acquire_opts *,
                                struct hf__claim **ret_claim);
/* The last one frees it. Thread: any. */
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
 * Acquiring in steps. start() enters the claim's place: HF_OK, and then
 * finish() must follow; HF_ENOMEM; or HF_EUNAVAIL without a thread for
 * give-backs. step() does what can be done now and gives true once the claim
 * has ended, with c->result; else sleep on c->parker, as it was seen before the
 * step, until *ret_until at the latest, and step again. On a parker that is no
 * crew's a claim may lead, and blocks in a step for its batch. finish() gives
 * the result, and the grant if it is HF_OK, and leaves the queue; what the
 * store may think of a claim that got nothing is settled behind the caller's
 * back.
 *
 * Several claims may share a parker, set before start(). One that has begun
 * an attempt asks for the next step at once (*ret_until has passed): who has
 * many steps all of them first, and the first that leads takes the attempts
 * of all in one batch.
 *
 * Thread: one at a time.
 */
HF_MUST_CHECK int hf__claim_start(struct hf__claim *, hf_error *err);
HF_MUST_CHECK bool hf__claim_step(struct hf__claim *, hf__time *ret_until);
HF_MUST_CHECK int hf__claim_finish(struct hf__claim *,
                                   struct hf__grant **ret_grant, hf_error *err);
/* Its time is over while the store is asked, with what came of the attempts
 * before unknown or not: gives HF_TIMEDOUT, or r. */
HF_MUST_CHECK int hf__claim_time_out(struct hf__claim *, bool was_unknown,
                                     int r);
/* What its caller is told, who got nothing; gives r. acquire_error.c */
int hf__claim_tell(const struct hf__claim *, int r, hf_error *err);
/* From now on it is cancelled: the next step ends it. Thread: any. */
void hf__claim_call_off(struct hf__claim *);
/* Its time begins now rather than when it was made. Before start(). */
void hf__claim_set_limits(struct hf__claim *);

#endif
