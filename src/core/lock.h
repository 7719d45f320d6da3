/* SPDX-License-Identifier: MIT */
/*
 * What the public API calls a lock: one acquire's share of a grant (grant.h). A
 * grant, which talks to the store, has one lock, or several if it is
 * re-entrant, one for each acquire; it ends when the last of them is released.
 * A lock of several names has a part for each, which is a lock like any other.
 */
#ifndef HF_CORE_LOCK_H
#define HF_CORE_LOCK_H

#include "src/core/once.h"
#include "src/core/release.h"

struct hf_lock {
    /* With a reference; NULL before the grant. With several parts, the first
     * part's. */
    struct hf__grant *grant;
    /* Released while other locks still shared the grant: left_result counts. */
    atomic_bool is_left;
    bool is_over;          /* released; under the grant's mutex */
    int left_result;       /* HF_OK or HF_LOST, if is_left */
    struct hf__once *once; /* the start it recorded (once_ms); NULL: none */
    int n_parts;           /* 0: it has one name and no parts */
    struct hf_lock *parts; /* in the caller's order of names */
    struct hf__parker parker;
    struct hf_lock *whole;        /* the lock it is a part of; NULL: none */
    struct hf__listener listener; /* of a part: wakes waiters of the whole */

    /* The callback of hf_on_lost(); under the grant's mutex. */
    atomic_bool is_asked; /* it was set at least once */
    atomic_bool has_lost_callback;
    hf_lost_fn lost_fn;
    void *lost_arg;
    struct hf__lost_callback
        lost_callback; /* used in the parts; unused in the whole */
    struct hf__event event;
    atomic_bool is_sent_away; /* its release goes on without it */
};

/* NULL: out of memory. */
HF_MUST_CHECK struct hf_lock *hf__lock_new(void);
HF_MUST_CHECK struct hf_lock *hf__lock_new_many(int n);
/* Free the lock and its reference to the grant; takes NULL. */
void hf__lock_free(struct hf_lock *);
HF_CLEANUP_FN(struct hf_lock, hf__lock_free);
/* Check that another lock can share the grant: HF_OK; HF_LOST (it is lost);
 * HF_EUNAVAIL (it is being released). */
HF_MUST_CHECK int hf__lock_can_join(struct hf__grant *);
/* If it can, make this lock share the grant; takes over the reference. */
HF_MUST_CHECK int hf__lock_join(struct hf_lock *, struct hf__grant *);
HF_MUST_CHECK int hf__lock_release(struct hf_lock *, hf_error *err);
/* Release several locks without parts in one batch, until `by` at the latest.
 * HF_LOST if any was lost, else the first failure. */
HF_MUST_CHECK int hf__lock_release_all(struct hf_lock *const locks[], int n,
                                       hf__time by, hf_error *err);
/* Begin the release of each part, or of the lock itself if it has none. A
 * release has ended at once if other locks share the grant. The caller has set
 * the parker of each. Thread: user. */
void hf__lock_leave(struct hf_lock *, struct hf__release_op *);
/* As hf_on_lost(). */
HF_MUST_CHECK int hf__lock_on_lost(struct hf_lock *, hf_lost_fn, void *arg);
/* The number of its names. */
static inline int hf__lock_count(const struct hf_lock *lock)
{
    return lock->n_parts > 0 ? lock->n_parts : 1;
}
/* The i-th part, or the lock itself if it has no parts. */
static inline struct hf_lock *hf__lock_part(struct hf_lock *lock, int i)
{
    return lock->n_parts > 0 ? &lock->parts[i] : lock;
}
/* Drop the grant of a part and make it as it was when new. */
void hf__lock_clear(struct hf_lock *);
/* No caller has used the grant, so its release opens the name at once. */
void hf__lock_waive(struct hf_lock *);
/* HF_OK; HF_EINVAL for NULL; HF_EFORK. */
HF_MUST_CHECK int hf__lock_usable(const struct hf_lock *, hf_error *err);

#endif
