/* SPDX-License-Identifier: MIT */
/*
 * The participants of a name: its grants, of which there may be several at
 * once, and the claims in its queue. This file has the rule by which a claim
 * may enter, the same for every store, and the list of participants for people.
 * Pure but for the list's memory. Thread: any.
 */
#ifndef HF_BACKEND_COMPATIBILITY_H
#define HF_BACKEND_COMPATIBILITY_H

#include "src/backend/backend.h"

/* A claim that neither tried nor waited with its ticket for so long counts as
 * gone: its process is stopped, or died in a way that the store can't see. */
#define HF__TICKET_PATIENCE_MS 1000
/* A waiter in the queue, or behind one, looks again so often even if it is not
 * woken. */
#define HF__TICKET_LOOK_MS 200
/* A claim that was gone for no longer than this finds its place in the queue
 * again. */
#define HF__TICKET_KEEP_MS 60000

/* A live grant, or a live ticket, as the rule sees it. */
struct hf__contender {
    struct hf__token token;
    struct hf__lock_mode lock_mode;
    int slot; /* of a grant with slots */
};

/* Holders and waiters of one name. Only those that count are listed: grants
 * whose lease runs and whose holder is not known to be dead, and tickets whose
 * claim still waits. */
struct hf__holders_waiters {
    const struct hf__contender *holders;
    int n_holders;
    const struct hf__contender *waiters; /* in order of arrival */
    int n_waiters;
};

enum hf__entry {
    HF__ENTRY_OPEN,     /* it may enter, in ret_slot if it wants one */
    HF__ENTRY_HELD,     /* a grant is in the way */
    HF__ENTRY_PROMISED, /* only a waiter before it in the queue is in the way */
    HF__ENTRY_MISFIT    /* it is held with another number of slots */
};

/* May the claim of that token enter? Its own grant and ticket are never in its
 * way; a ticket gives it its place in the queue. ret_slot: −1 without slots;
 * for MISFIT, the number of slots with which the name is held. */
enum hf__entry hf__may_enter(const struct hf__holders_waiters *,
                             const struct hf__token *, struct hf__lock_mode,
                             int *ret_slot);
/* Makes a lock mode of the numbers in a record; false: they are invalid. */
HF_MODULE_API bool hf__lock_mode_from(int64_t mode, int64_t slots,
                                      struct hf__lock_mode *ret_lock_mode);
/* Could the two be granted at the same time? With slots: if enough are free. */
HF_MODULE_API bool hf__lock_modes_compatible(struct hf__lock_mode a,
                                             struct hf__lock_mode b);
/* Does the acquire, which may not enter, leave a ticket? */
HF_MODULE_API bool hf__leaves_ticket(const struct hf__holders_waiters *,
                                     const struct hf__op *);
/* Gives the result of an acquire that is HF__ENTRY_MISFIT, and its text. */
HF_MODULE_API int hf__tell_misfit(const struct hf__op *, int slots_held);

/* ---- for people */

/* A holder of the name, or a waiter. */
struct hf__participant_info {
    bool is_waiting;
    struct hf__record record; /* of the grant; of a waiter: owner, lock mode,
                                 and in acquired_us since when */
};

/* The holders, then the waiters in the order of the queue; all zero is
 * empty. */
struct hf__participant_list {
    struct hf__participant_info *list;
    int n;
    int room;
};

/* HF_OK, or HF_ENOMEM: then the list is as before. */
HF_MODULE_API HF_MUST_CHECK int
hf__participant_list_add(struct hf__participant_list *,
                         const struct hf__participant_info *);
void hf__participant_list_free(struct hf__participant_list *);
/* The record of the holder whose lease ends first; without holders,
 * `record`. */
const struct hf__record *
hf__participant_list_first_to_end(const struct hf__participant_list *,
                                  const struct hf__record *);

#endif
