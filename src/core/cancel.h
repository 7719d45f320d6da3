/* SPDX-License-Identifier: MIT */
/*
 * The cancel object: a flag and the parker on which every wait that was given
 * it sleeps, so that firing needs no lock and may come from a handler. Who
 * sleeps elsewhere follows it: its parker is unparked too.
 */
#ifndef HF_CORE_CANCEL_H
#define HF_CORE_CANCEL_H

#include "src/base/thread.h"
#include "src/base/wake.h"

/* In who follows. */
struct hf__follower {
    struct hf__parker *parker;
    _Atomic(struct hf__follower *) next;
    struct hf__follower *prev; /* under the mutex, as is leaving the list */
};

struct hf_cancel {
    struct hf__parker parker;
    atomic_int is_fired;
    atomic_int firing; /* who walks the list just now */
    _Atomic(struct hf__follower *) followers;
    struct hf__mutex mutex;
};

/* From now on firing unparks it; look at is_fired afterwards. Thread: any. */
void hf__cancel_follow(struct hf_cancel *, struct hf__follower *);
/* Afterwards nobody touches it. Thread: any. Blocks: while the list is being
 * walked. */
void hf__cancel_unfollow(struct hf_cancel *, struct hf__follower *);

#endif
