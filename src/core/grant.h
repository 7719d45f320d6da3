/* SPDX-License-Identifier: MIT */
/*
 * What a client knows of one grant, shared by all that hold on to it (lock.h):
 * drives the pure grant (grant_fsm.h) with real events and does what it asks
 * for. One pending operation of a grant is under way at a time. Renewals and
 * give-backs go through the renewal session, which only its runner leads, so
 * that a stuck acquire or a stopped caller costs no held lock; a release that
 * its caller waits for goes where the acquire went, in one batch with others.
 * Nothing here allocates after the grant was made.
 */
#ifndef HF_CORE_GRANT_H
#define HF_CORE_GRANT_H

#include "src/core/client.h"
#include "src/core/grant_fsm.h"

struct hf__name_queue;

enum hf__pending_op {
    HF__PENDING_NONE,
    HF__PENDING_RENEW,
    HF__PENDING_DETACH, /* a renewal, after which it is bound to no process */
    HF__PENDING_CHECK,  /* is it ours? Changes nothing */
    HF__PENDING_RELEASE,
    HF__PENDING_GIVE_BACK
};

/* Who waits for the grant's parker without sleeping on it. */
struct hf__listener {
    struct hf__link link;
    struct hf__parker *parker;
    bool is_listening;
};

/* Who is to be told of the loss: a lock, see lock.h. */
struct hf__lost_callback {
    struct hf__link link;
    void (*tell)(
        struct hf__lost_callback *); /* under the grant's mutex, once */
};

struct hf__grant {
    atomic_int refs; /* each lock's, each pending operation's, and a
                        cleanup's */
    struct hf_client *client;
    uint64_t owner_id; /* who acquired it */
    bool is_adopted;
    bool is_unbound;    /* the store does not tie it to this process */
    bool is_unused;     /* nobody was given it: its release opens the name */
    bool was_joined;    /* there was more than one hold on it */
    bool is_unanswered; /* of the claim, see claim.h */
    int64_t min_hold_ms;
    struct hf__lock_mode lock_mode; /* beside which others it may stand */
    int slot;                       /* −1: none */
    uint64_t seen_before;       /* fence of the name, when the claim began */
    hf__time kept_until;        /* before, the store gives it to nobody else */
    struct hf__link link;       /* in client->grants; under its mutex */
    struct hf__link retry_link; /* in client->owing, under its mutex, while the
                                   timer task waits to try the give-back
                                   again */
    struct hf__name_queue *queue; /* while it is the holder; under its mutex */
    struct hf__name_queue
        *owner_queue;           /* until the last lock is let go; also */
    struct hf__link owned_link; /* in home->owned */

    /* What hf_held() and the getters read without a lock. */
    _Atomic int64_t held_until; /* ns of CLOCK_BOOTTIME; 0: not held */
    atomic_int state;           /* hf_lock_state */
    atomic_int reason;          /* hf_reason */
    atomic_bool is_check_due;   /* at its next tick the store is asked */

    struct hf__mutex mutex; /* all below */
    struct hf__parker parker;
    struct hf__link listeners;
    atomic_int n_listeners;
    struct hf__link lost_callbacks;
    int n_locks; /* not let go yet */
    struct hf__grant_fsm fsm;
    struct hf__timer_task timer_task;
    struct hf__request request;
    enum hf__pending_op pending;
    bool must_give_back; /* a give-back must follow the pending operation under
                  way */
    bool needs_check;    /* a check must */
    bool is_retrying;    /* counted as a cleanup of the client */
    bool has_result;     /* hf_release() has its answer */
    int release_result;
    hf__time moot_at; /* a give-back is pointless after */
    struct hf__token token;
    struct hf__key key;
    char token_text[HF__TOKEN_TEXT_SIZE];
    char key_bytes[]; /* with a NUL after it */
};

/* A grant that is not granted yet; NULL without memory. */
HF_MUST_CHECK struct hf__grant *hf__grant_new(struct hf_client *,
                                              const struct hf__key *,
                                              const hf_acquire_opts *);
/* One more reference, unless it is being freed; under the client's mutex. */
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

/* Drop a reference; with the last one the grant goes. Thread: any. */
void hf__grant_unref(struct hf__grant *);
/* The store granted it: HF_OK; HF_EUNAVAIL (too late) or HF_EPROTO (a fence
 * that fell): then the caller gives it back. */
HF_MUST_CHECK int hf__grant_confirm(struct hf__grant *,
                                    const struct hf__token *, hf__time sent,
                                    uint64_t fence, hf_error *err);
/* How an attempt ended; a grant may be in the place of one that nobody had
 * given back. Calls the log: under no lock. */
void hf__grant_tell_granted(const struct hf__grant *, int r, bool took_over);
/* As hf_detach(); releasing is release.h's. Thread: user. */
HF_MUST_CHECK int hf__grant_detach(struct hf__grant *, hf_error *err);
/* Renew several of one client (the pending operation may be to detach instead),
 * in one batch; all callers have them in one order. Gives the status of each.
 * Thread: user. */
void hf__grant_renew_all(struct hf__grant *const h[], int n,
                         enum hf__pending_op, int *results);
/* Says what is wrong with a renewal that ended so; gives r. */
int hf__grant_tell_renewal(const struct hf__grant *, int r, hf_error *err);
/* From now on that parker is unparked with the grant's own, no longer the one
 * before: listen, then look. Thread: any. */
void hf__grant_listen(struct hf__grant *, struct hf__listener *,
                      struct hf__parker *);
/* No longer; harmless if it does not listen. Thread: any. */
void hf__grant_ignore(struct hf__grant *, struct hf__listener *);
/* Somebody may have broken it: ask the store. Thread: any. */
void hf__grant_check_soon(struct hf__grant *);
/* For hf_close(): release without waiting for the answer. */
void hf__grant_abandon(struct hf__grant *);

/* Is a release with this result to be tried again? Not when it was answered,
 * and not when the store refuses: then only the lease can end the grant. */
static inline bool hf__claim_cleanup_goes_on(int result)
{
    return result == HF_EUNAVAIL || result == HF_EUNKNOWN ||
           result == HF_ENOMEM;
}

/* NUL-ended, without the prefix; lives as long as the grant. */
static inline const char *hf__grant_name(const struct hf__grant *h)
{
    return h->key.bytes + h->key.name_at;
}
/* Why it was lost; for a grant that is. */
hf_reason hf__grant_reason(const struct hf__grant *);

/* ---- between grant.c, renew.c and release.c */

/* Held or at risk; under the grant's mutex. */
bool hf__grant_is_ours(const struct hf__grant *);
/* Step the grant and show the result; under the grant's mutex. Gives the
 * actions. */
unsigned hf__grant_step(struct hf__grant *, struct hf__fsm_event);
/* The same, and begin the pending operation that it asks for. Gives what is
 * left for hf__grant_follow_up(), once the mutex is let go. */
unsigned hf__grant_feed(struct hf__grant *, struct hf__fsm_event);
/* Do what is left; without locks. */
void hf__grant_follow_up(struct hf__grant *, unsigned left);
/* A renewal that its caller waited for has its result. Gives what is left. */
unsigned hf__grant_end_renewal(struct hf__grant *, const struct hf__op *);
/* Begin what waited for the pending operation to end; under the mutex. Gives
 * what is left. */
unsigned hf__grant_overdue(struct hf__grant *);
/* Whoever waits looks again; without locks. */
void hf__grant_stir(struct hf__grant *);
/* Sleep until no pending operation is under way; under the mutex. False at the
 * limit. */
HF_MUST_CHECK bool hf__grant_await_pending(struct hf__grant *, hf__time limit);
/* Begin a pending operation, with none under way; under the mutex. Its request
 * is to be run then. */
void hf__grant_begin(struct hf__grant *, enum hf__pending_op);
/* It was run, and that ended so; under the mutex. Gives its result. Not over
 * (ret_is_over may be NULL): it goes on, or went on, without the caller
 * (HF_EUNKNOWN), and is ended by errand_done(). */
HF_MUST_CHECK int hf__grant_ended(struct hf__grant *, enum hf__ending,
                                  bool *ret_is_over);

#endif
