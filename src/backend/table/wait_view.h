/* SPDX-License-Identifier: MIT */
/*
 * What a waiter sees of its name: may it enter; if not, whose wake lock tells
 * when that may change, and when it changes without. Pure but for the clock
 * and the memory. Thread: any.
 */
#ifndef HF_BACKEND_TABLE_WAIT_VIEW_H
#define HF_BACKEND_TABLE_WAIT_VIEW_H

#include "src/backend/table/name.h"
#include "src/base/time.h"

struct hf__wait_view {
    bool is_over; /* it may enter, or has to be told why not */
    bool is_news; /* others are there than the watch has seen */
    /* In the way are those behind whom a claim gets into line. */
    bool has_holders_waiters;
    uint64_t fence;             /* the name's */
    struct hf__token wake_lock; /* of whom it waits for; zero: nobody has one */
    bool is_ticket;             /* its wake lock is a ticket's, not a grant's */
    bool is_held;               /* somebody holds that wake lock */
    bool wants_looks;           /* more than one wake lock matters */
    hf__time due;               /* a lease or the keeping ends */
};

/* Of a name that was read for that watch. HF_OK, HF_ENOMEM. */
HF_MUST_CHECK int hf__wait_view_make(const struct hf__table_name *name,
                                     const struct hf__watch *watch,
                                     struct hf__wait_view *ret_view);

#endif
