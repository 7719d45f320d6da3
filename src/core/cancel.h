/* SPDX-License-Identifier: MIT */
/*
 * The cancel object: a flag, and the parker on which all waits that were given
 * it sleep, so that firing needs no lock and may come from a signal handler. A
 * wait that sleeps on another parker follows the object: its parker is unparked
 * too.
 */
#ifndef HF_CORE_CANCEL_H
#define HF_CORE_CANCEL_H

#include "src/base/thread.h"
#include "src/base/wake.h"

/* A wait that follows; part of its caller's object. */
struct hf__follower {
    struct hf__parker *parker;
    _Atomic(struct hf__follower *) next;
    /* used under the mutex, as is leaving the list */
    struct hf__follower *prev;
};

struct hf_cancel {
    struct hf__parker parker;
    atomic_int is_fired;
    atomic_int firing; /* number of threads or handlers walking the list */
    _Atomic(struct hf__follower *) followers;
    struct hf__mutex mutex;
};

/* From now on firing unparks the follower's parker; check is_fired after this
 * call. Thread: any. */
void hf__cancel_follow(struct hf_cancel *, struct hf__follower *);
/* Once this returns, the follower is no longer used. Thread: any. Blocks: while
 * the list is being walked. */
void hf__cancel_unfollow(struct hf_cancel *, struct hf__follower *);

#endif
