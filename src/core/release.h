/* SPDX-License-Identifier: MIT */
/*
 * Releasing a grant in steps, none of which sleeps: hf_release() takes them on
 * its caller's thread, hf_release_async() on the executor's. When several
 * release one grant, the first sends the request and the others share its
 * result.
 */
#ifndef HF_CORE_RELEASE_H
#define HF_CORE_RELEASE_H

#include "src/core/grant.h"

struct hf__claim;

enum hf__release_stage {
    /* another release began earlier: wait for its result */
    HF__RELEASE_AWAIT_OTHERS,
    /* wait for the grant's pending operation to end */
    HF__RELEASE_AWAIT_PENDING,
    HF__RELEASE_HANDING_OVER, /* the lock is being handed to the next claim */
    HF__RELEASE_SEND, /* send the release once no operation is pending */
    HF__RELEASE_SENT,
    HF__RELEASE_PAUSE, /* before the next try */
    HF__RELEASE_ENDED
};

/* The caller sets grant and parker; all else starts as zero. Several may share
 * a parker. */
struct hf__release_op {
    struct hf__grant *grant;
    struct hf__parker *parker; /* the grant's, or one that listens to it */

    enum hf__release_stage stage;
    struct hf__listener listener;
    bool is_sender;  /* this release ends the grant */
    bool is_unknown; /* a try got no answer */
    unsigned actions;
    hf_reason reason;
    hf__time limit;
    hf__time pause_until;
    struct hf__claim *next_waiter;
    int result;
};

/* Of the results for several names, is `result` to be reported rather than
 * `than`? A loss comes first, then any other failure; the first of its kind. */
static inline bool hf__is_worse(int result, int than)
{
    return than != HF_LOST && result != HF_OK &&
           (than == HF_OK || result == HF_LOST);
}

/* From this call on, the lock is not held. Thread: any. */
void hf__release_op_begin(struct hf__release_op *);
/* True once it has its result; else step again when the parker is unparked, at
 * *ret_until at the latest. Thread: one at a time. */
HF_MUST_CHECK bool hf__release_op_step(struct hf__release_op *,
                                       hf__time *ret_until);
/* The same for n at once, as a step of base/wake.h, in one batch for those that
 * share a session. One that may lead asks for the next step at once when it has
 * begun its request, so all have begun before the first leads. */
struct hf__releases {
    struct hf__release_op *list;
    int n;
};
HF_MUST_CHECK bool hf__release_ops_step(void *releases, hf__time *ret_until);
/* Fill err and return the result: of several the first loss, else the first
 * failure. */
int hf__release_ops_tell(const struct hf__release_op *, int n, hf_error *err);

#endif
