/* SPDX-License-Identifier: MIT */
/*
 * One acquire, from checked arguments to the lock, in steps that do not sleep:
 * check that the task was not started before (once_ms), connect, claim, mark
 * the task as started; and undo all that if need be. The caller steps it
 * (hf_acquire()), or the executor does (hf_acquire_async()). Other threads
 * touch only is_called_off, the cancel object's flag, and the parker.
 */
#ifndef HF_CORE_ACQUIRE_H
#define HF_CORE_ACQUIRE_H

#include "src/core/claim.h"
#include "src/core/lock.h"

enum hf__acquire_stage {
    HF__ACQUIRE_READY, /* waits for the renewal session */
    HF__ACQUIRE_PEEK,  /* once_ms: has the task been started already? */
    HF__ACQUIRE_CLAIM,
    HF__ACQUIRE_MARK,   /* once_ms: records that the task is started */
    HF__ACQUIRE_UNMARK, /* takes that record back */
    HF__ACQUIRE_LET_GO, /* gives back what was acquired */
    HF__ACQUIRE_ENDED
};

/* The caller sets client, names, opts, lock, parker, stop and err; all else
 * starts as zero. On an executor job's parker, names and opts need to last only
 * until hf__acquire_prepare() returns. On any other parker a step may lead a
 * session, and with several names the claims block. */
struct hf__acquire {
    struct hf_client *client;
    const char *const *names; /* hf_count(lock) of them */
    const hf_acquire_opts *opts;
    struct hf_lock *lock; /* empty; owned by the caller throughout */
    struct hf__parker *parker;
    const atomic_int *stop; /* the cancel object's flag; NULL: none */
    hf_error *err;          /* NULL: not wanted */

    enum hf__acquire_stage stage;
    struct hf__claim *claim; /* NULL: there are several names */
    atomic_bool is_called_off;
    bool is_marked; /* the task is recorded as started */
    struct hf__unready unready;
    struct hf__once_ask ask;
    struct hf__release_op release;
    int result;
};

/* Allocate all that the steps need. HF_OK, HF_EINVAL or HF_ENOMEM. Thread:
 * user. */
HF_MUST_CHECK int hf__acquire_prepare(struct hf__acquire *);
/* A step as base/wake.h wants it; once it is over, `result` is set. */
HF_MUST_CHECK bool hf__acquire_step(void *acquire, hf__time *ret_until);
/* Give back what was acquired, and tell the caller r. An acquire that was over
 * has more steps to do then. */
void hf__acquire_turn_back(struct hf__acquire *, int r);
void hf__acquire_fini(struct hf__acquire *);
/* The caller no longer wants the lock. Thread: any. */
bool hf__acquire_is_stopped(const struct hf__acquire *);
/* Returns HF_CANCELLED. */
int hf__acquire_tell_cancelled(const struct hf__acquire *, hf_error *err);

#endif
