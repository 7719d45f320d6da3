/* SPDX-License-Identifier: MIT */
/*
 * One acquire, from the checked wish to the lock, in steps that do not sleep:
 * not started before (once_ms), connected, granted, marked as started; and the
 * way back. Its caller steps it (hf_acquire()), or the executor does
 * (hf_acquire_async()). Other threads touch nothing but is_called_off, the
 * cancel object's flag, and the parker.
 */
#ifndef HF_CORE_ACQUIRE_H
#define HF_CORE_ACQUIRE_H

#include "src/core/claim.h"
#include "src/core/lock.h"

enum hf__acquire_stage {
    HF__ACQUIRE_READY, /* wait for the renewal session */
    HF__ACQUIRE_PEEK,  /* has it been started? */
    HF__ACQUIRE_CLAIM,
    HF__ACQUIRE_MARK,   /* it is being started */
    HF__ACQUIRE_UNMARK, /* and taken back */
    HF__ACQUIRE_LET_GO, /* what was won is given back */
    HF__ACQUIRE_ENDED
};

/* Client, names, opts (both only until the call that prepares is over, if the
 * parker is a crew's), lock, parker, stop and err are the caller's to set, all
 * else is zero at first. On a parker that is no crew's a step may lead, and
 * of several names the claims block. */
struct hf__acquire {
    struct hf_client *client;
    const char *const *names; /* as many as the lock has */
    const hf_acquire_opts *opts;
    struct hf_lock *lock; /* empty; its caller's throughout */
    struct hf__parker *parker;
    const atomic_int *stop; /* the cancel object's flag; NULL: none */
    hf_error *err;          /* NULL: nobody reads it */

    enum hf__acquire_stage stage;
    struct hf__claim *claim; /* NULL: of several names */
    atomic_bool is_called_off;
    bool is_marked; /* the start counts */
    struct hf__unready unready;
    struct hf__once_ask ask;
    struct hf__release_op release;
    int result;
};

/* All that the way needs. HF_OK, HF_EINVAL or HF_ENOMEM. Thread: user. */
HF_MUST_CHECK int hf__acquire_prepare(struct hf__acquire *);
/* As a step of base/wake.h; the result is in it once it is over. */
HF_MUST_CHECK bool hf__acquire_step(void *acquire, hf__time *ret_until);
/* What was won is let go, and its caller told r: more steps, though it was
 * over. */
void hf__acquire_turn_back(struct hf__acquire *, int r);
void hf__acquire_fini(struct hf__acquire *);
/* Nobody wants the lock any more. Thread: any. */
bool hf__acquire_is_stopped(const struct hf__acquire *);
/* Gives HF_CANCELLED. */
int hf__acquire_tell_cancelled(const struct hf__acquire *, hf_error *err);

#endif
