/* SPDX-License-Identifier: MIT */
/*
 * What a waiter sees of its name: whether it may enter; if not, whose wake lock
 * tells when that may change, and when it changes without one. Pure but for the
 * clock and the memory. Thread: any.
 */
#ifndef HF_BACKEND_TABLE_WAIT_VIEW_H
#define HF_BACKEND_TABLE_WAIT_VIEW_H

#include "src/backend/table/name.h"
#include "src/base/time.h"

struct hf__wait_view {
    bool is_over; /* it may enter, or must be told why not */
    bool is_news; /* the grants are not those that the watch has seen */
    /* A claim that asks again would join the queue. */
    bool has_holders_waiters;
    uint64_t fence;             /* the name's */
    struct hf__token wake_lock; /* token of whom it waits for; zero: nobody */
    bool is_ticket;   /* that is a ticket's wake lock, not a grant's */
    bool is_held;     /* somebody holds that wake lock */
    bool wants_looks; /* more than one wake lock matters */
    hf__time due;     /* when a lease or the keeping ends */
};

/* Fill the view from a name that was read for that watch. HF_OK, HF_ENOMEM. */
HF_MUST_CHECK int hf__wait_view_make(const struct hf__table_name *name,
                                     const struct hf__watch *watch,
                                     struct hf__wait_view *ret_view);

#endif
