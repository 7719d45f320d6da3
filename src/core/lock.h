/* SPDX-License-Identifier: MIT */
/*
 * What a caller has of a grant, and what the public API calls a lock. A grant
 * has one grant (grant.h), which talks to the store; a re-entrant one has a
 * lock for each acquire, and ends with the release of the last of them. A lock
 * of several names has a part for each, which is a lock like any other.
 */
#ifndef HF_CORE_LOCK_H
#define HF_CORE_LOCK_H

#include "src/core/once.h"
#include "src/core/release.h"

struct hf_lock {
    /* With a reference, NULL before the grant; of several parts, the first
     * one's. */
    struct hf__grant *grant;
    /* Let go while others still held on: this lock's own answer counts. */
    atomic_bool is_left;
    bool is_over;          /* let go; under the grant's mutex */
    int left_result;       /* HF_OK or HF_LOST, if is_left */
    struct hf__once *once; /* the start that it counts as; NULL: none */
    int n_parts;           /* 0: one name */
    struct hf_lock *parts; /* as the caller named them */
    struct hf__parker parker;
    struct hf_lock *whole;        /* what it is a part of; NULL: of nothing */
    struct hf__listener listener; /* of a part: wakes who waits for the whole */

    /* hf_on_lost(): who is to be told; under the grant's mutex. */
    atomic_bool is_asked; /* somebody ever was */
    atomic_bool has_lost_callback;
    hf_lost_fn lost_fn;
    void *lost_arg;
    struct hf__lost_callback
        lost_callback; /* of each part, none of the whole */
    struct hf__event event;
    atomic_bool is_sent_away; /* its release goes on without it */
};

/* NULL: no memory. */
HF_MUST_CHECK struct hf_lock *hf__lock_new(void);
HF_MUST_CHECK struct hf_lock *hf__lock_new_many(int n);
/* Free it, with its reference to the grant; takes NULL. */
void hf__lock_free(struct hf_lock *);
HF_CLEANUP_FN(struct hf_lock, hf__lock_free);
/* May there be one more hold on it? HF_OK; HF_LOST (the grant is lost);
 * HF_EUNAVAIL (it is being let go). */
HF_MUST_CHECK int hf__lock_can_join(struct hf__grant *);
/* If so, this is one more; takes over the reference. */
HF_MUST_CHECK int hf__lock_join(struct hf_lock *, struct hf__grant *);
HF_MUST_CHECK int hf__lock_release(struct hf_lock *, hf_error *err);
/* The same for several, none of which has parts, in one batch, and until then
 * at most. HF_LOST if any was lost, else the first failure. */
HF_MUST_CHECK int hf__lock_release_all(struct hf_lock *const locks[], int n,
                                       hf__time by, hf_error *err);
/* Let go of each part, once (of the lock itself, if it has none): begin its
 * release, which has ended if others hold on to the grant. The parker of
 * each is set. Thread: user. */
void hf__lock_leave(struct hf_lock *, struct hf__release_op *);
/* As hf_on_lost(). */
HF_MUST_CHECK int hf__lock_on_lost(struct hf_lock *, hf_lost_fn, void *arg);
/* So many names it has. */
static inline int hf__lock_count(const struct hf_lock *lock)
{
    return lock->n_parts > 0 ? lock->n_parts : 1;
}
/* The i-th part, or the lock itself, if it has none. */
static inline struct hf_lock *hf__lock_part(struct hf_lock *lock, int i)
{
    return lock->n_parts > 0 ? &lock->parts[i] : lock;
}
/* Drop the grant of a part, which is as new then. */
void hf__lock_clear(struct hf_lock *);
/* Nobody has used the grant: its release opens the name at once. */
void hf__lock_waive(struct hf_lock *);
/* HF_OK; HF_EINVAL for NULL; HF_EFORK. */
HF_MUST_CHECK int hf__lock_usable(const struct hf_lock *, hf_error *err);

#endif
