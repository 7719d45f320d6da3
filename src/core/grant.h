/* SPDX-License-Identifier: MIT */
/*
 * What a client knows of one grant, which all the locks on it share (lock.h).
 * It feeds real events to the pure state machine (grant_fsm.h) and carries out
 * the actions it asks for. A grant has one pending operation at a time.
 * Renewals and give-backs go through the renewal session, which only its runner
 * leads, so that neither a stuck acquire nor a stopped caller costs a held
 * lock. A release that its caller waits for goes through the session of the
 * acquire, in one batch with others. Nothing here allocates memory once the
 * grant exists.
 */
#ifndef HF_CORE_GRANT_H
#define HF_CORE_GRANT_H

#include "src/core/client.h"
#include "src/core/grant_fsm.h"

struct hf__name_queue;

enum hf__pending_op {
    HF__PENDING_NONE,
    HF__PENDING_RENEW,
    HF__PENDING_DETACH, /* a renewal that unties it from this process */
    HF__PENDING_CHECK,  /* asks the store if it is ours; changes nothing */
    HF__PENDING_RELEASE,
    HF__PENDING_GIVE_BACK
};

/* A waiter that is unparked with the grant's parker but sleeps on its own. */
struct hf__listener {
    struct hf__link link;
    struct hf__parker *parker;
    bool is_listening;
};

/* What a lock registers to be told of the loss, see lock.h. */
struct hf__lost_callback {
    struct hf__link link;
    void (*tell)(
        struct hf__lost_callback *); /* called once, under the grant's mutex */
};

struct hf__grant {
    atomic_int refs; /* one per lock, pending operation and cleanup */
    struct hf_client *client;
    uint64_t owner_id; /* the owner that acquired it */
    bool is_adopted;
    bool is_unbound; /* the store does not tie it to this process */
    bool is_unused;  /* no caller received it: its release reopens the name */
    bool was_joined; /* it has had more than one lock at once */
    bool is_unanswered; /* copied from the claim, see claim.h */
    int64_t min_hold_ms;
    /* which others it can share the name with */
    struct hf__lock_mode lock_mode;
    int slot;             /* −1: none */
    uint64_t seen_before; /* the name's highest fence when the claim began */
    /* min_hold_ms: until then the store grants it to no other owner */
    hf__time kept_until;
    struct hf__link link; /* in client->grants; under its mutex */
    /* in client->retrying, under its mutex, while the timer task waits to
     * try the give-back again */
    struct hf__link retry_link;
    struct hf__name_queue *queue; /* while it is the holder; under its mutex */
    struct hf__name_queue *owner_queue; /* until its last release; same mutex */
    struct hf__link owned_link;         /* in owner_queue->owned */

    /* hf_held() and the getters read these without a lock. */
    _Atomic int64_t held_until; /* ns of CLOCK_BOOTTIME; 0: not held */
    atomic_int state;           /* hf_lock_state */
    atomic_int reason;          /* hf_reason */
    atomic_bool is_check_due;   /* its next tick asks the store if it is ours */

    struct hf__mutex mutex; /* guards all below */
    struct hf__parker parker;
    struct hf__link listeners;
    atomic_int n_listeners;
    struct hf__link lost_callbacks;
    int n_locks; /* locks on it that are not released yet */
    struct hf__grant_fsm fsm;
    struct hf__timer_task timer_task;
    struct hf__request request;
    enum hf__pending_op pending;
    bool must_give_back; /* give it back once the pending operation ends */
    bool needs_check;    /* check it once the pending operation ends */
    bool is_retrying;    /* the client counts it as a cleanup */
    bool has_result;     /* hf_release() has its result */
    int release_result;
    hf__time moot_at; /* the store has ended it by then: stop giving it back */
    struct hf__token token;
    struct hf__key key;
    char token_text[HF__TOKEN_TEXT_SIZE];
    char key_bytes[]; /* ends with a NUL */
};

/* A new grant, which the store has yet to grant; NULL: out of memory. */
HF_MUST_CHECK struct hf__grant *hf__grant_new(struct hf_client *,
                                              const struct hf__key *,
                                              const hf_acquire_opts *);
/* Take a reference, unless the grant is being freed; under the client's
 * mutex. */
HF_MUST_CHECK static inline bool hf__grant_try_ref(struct hf__grant *h)
{
    int refs = atomic_load(&h->refs);

    while (refs > 0) {
        if (atomic_compare_exchange_weak(&h->refs, &refs, refs + 1)) {
            return true;
        }
    }
    return false;
}

/* Drop a reference; the last one frees the grant. Thread: any. */
void hf__grant_unref(struct hf__grant *);
/* Take on what the store granted. HF_OK; HF_EUNAVAIL (it came too late) or
 * HF_EPROTO (its fence fell): then the caller gives it back. */
HF_MUST_CHECK int hf__grant_confirm(struct hf__grant *,
                                    const struct hf__token *, hf__time sent,
                                    uint64_t fence, hf_error *err);
/* Count and log a take-over: the grant replaced one that had expired without a
 * release. Call it without a lock, for it calls the log. */
void hf__grant_tell_granted(const struct hf__grant *, int r, bool took_over);
/* As hf_detach(); for releasing see release.h. Thread: user. */
HF_MUST_CHECK int hf__grant_detach(struct hf__grant *, hf_error *err);
/* Renew several grants of one client in one batch, or detach them, as the
 * pending operation says. All callers must pass them in the same order. Stores
 * the status of each in results. Thread: user. */
void hf__grant_renew_all(struct hf__grant *const h[], int n,
                         enum hf__pending_op, int *results);
/* Fill err for a renewal that ended with r; returns r. */
int hf__grant_tell_renewal(const struct hf__grant *, int r, hf_error *err);
/* From now on the grant's parker unparks this parker too, instead of the
 * listener's former one. Listen first, then look at the grant. Thread: any. */
void hf__grant_listen(struct hf__grant *, struct hf__listener *,
                      struct hf__parker *);
/* Stop listening; harmless for a listener that does not listen. Thread: any. */
void hf__grant_ignore(struct hf__grant *, struct hf__listener *);
/* Another client may have broken the grant: ask the store. Thread: any. */
void hf__grant_check_soon(struct hf__grant *);
/* For hf_close(): release without waiting for the answer. */
void hf__grant_abandon(struct hf__grant *);

/* Should a release with this result be tried again? Not if the store answered
 * or refuses: then only the lease can end the grant. */
static inline bool hf__claim_cleanup_goes_on(int result)
{
    return result == HF_EUNAVAIL || result == HF_EUNKNOWN ||
           result == HF_ENOMEM;
}

/* The name without the prefix, NUL-terminated; it lives as long as the
 * grant. */
static inline const char *hf__grant_name(const struct hf__grant *h)
{
    return h->key.bytes + h->key.name_at;
}
/* Why the grant was lost; only for a grant that was. */
hf_reason hf__grant_reason(const struct hf__grant *);

/* ---- between grant.c, renew.c and release.c */

/* The grant is held or at risk; under the grant's mutex. */
bool hf__grant_is_ours(const struct hf__grant *);
/* Step the state machine, publish the new state, and begin the pending
 * operation that the actions ask for; under the grant's mutex. Returns
 * what is left for hf__grant_follow_up() to do without the mutex. */
unsigned hf__grant_feed(struct hf__grant *, struct hf__fsm_event);
/* Do the actions that are left; call it without a lock. */
void hf__grant_follow_up(struct hf__grant *, unsigned left);
/* A renewal that its caller waited for has its result. Returns the actions that
 * are left. */
unsigned hf__grant_end_renewal(struct hf__grant *, const struct hf__op *);
/* Begin the operation that had to wait for the pending one to end; under the
 * mutex. Returns the actions that are left. */
unsigned hf__grant_overdue(struct hf__grant *);
/* Wake all waiters of the grant; call it without a lock. */
void hf__grant_stir(struct hf__grant *);
/* Sleep until the grant has no pending operation; under the mutex. False once
 * the limit has passed. */
HF_MUST_CHECK bool hf__grant_await_pending(struct hf__grant *, hf__time limit);
/* Begin a pending operation while there is none; under the mutex. The caller
 * then runs its request. */
void hf__grant_begin(struct hf__grant *, enum hf__pending_op);
/* The pending operation ended in this way; under the mutex. Returns its result.
 * If it is not over (ret_is_over may be NULL), it goes on without the caller
 * (HF_EUNKNOWN), and pending_done() ends it. */
HF_MUST_CHECK int hf__grant_ended(struct hf__grant *, enum hf__ending,
                                  bool *ret_is_over);

#endif
