/* SPDX-License-Identifier: MIT */
/*
 * Releasing a grant in steps, none of which sleeps: hf_release() takes them on
 * its caller's thread, hf_release_async() on the executor's. Of several that
 * release one grant the first sends, the others share its answer.
 */
#ifndef HF_CORE_RELEASE_H
#define HF_CORE_RELEASE_H

#include "src/core/grant.h"

struct hf__claim;

enum hf__release_stage {
    HF__RELEASE_AWAIT_OTHERS,  /* another has begun before: wait for its answer
                                */
    HF__RELEASE_AWAIT_PENDING, /* wait for the pending operation under way */
    HF__RELEASE_HANDING_OVER,  /* it is being handed to the next claim */
    HF__RELEASE_SEND, /* send the release, once no pending operation is under
                           way */
    HF__RELEASE_SENT,
    HF__RELEASE_PAUSE, /* before the next try */
    HF__RELEASE_ENDED
};

/* Grant and parker are the caller's to set, all else is zero at first. Several
 * may share a parker. */
struct hf__release_op {
    struct hf__grant *grant;
    struct hf__parker *parker; /* the grant's, or one that listens to it */

    enum hf__release_stage stage;
    struct hf__listener listener;
    bool is_sender;  /* this one ends the grant */
    bool is_unknown; /* a try got no answer */
    unsigned actions;
    hf_reason reason;
    hf__time limit;
    hf__time pause_until;
    struct hf__claim *next_waiter;
    int result;
};

/* Of the answers for several names, which is to be told rather: a loss, then
 * what is not HF_OK; the first of its kind. */
static inline bool hf__is_worse(int result, int than)
{
    return than != HF_LOST && result != HF_OK &&
           (than == HF_OK || result == HF_LOST);
}

/* From now on the lock is not held. Thread: any. */
void hf__release_op_begin(struct hf__release_op *);
/* True once it has its result; else step again when the parker was unparked,
 * at *ret_until at the latest. Thread: one at a time. */
HF_MUST_CHECK bool hf__release_op_step(struct hf__release_op *,
                                       hf__time *ret_until);
/* The same for n at once, as a step of base/wake.h, in one batch where they
 * have a session in common: one that may lead asks for the next step at once
 * when it has begun its request, so all have begun before the first leads. */
struct hf__partings {
    struct hf__release_op *list;
    int n;
};
HF_MUST_CHECK bool hf__release_ops_step(void *releases, hf__time *ret_until);
/* The result, with its text: of several the first loss, else the first
 * failure. */
int hf__release_ops_tell(const struct hf__release_op *, int n, hf_error *err);

#endif
