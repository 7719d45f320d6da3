/* SPDX-License-Identifier: MIT */
/*
 * Who is at a name: grants, of which several may stand side by side, and
 * claims in the queue. This file has the rule by which a claim may enter, the
 * same for every store, and the list that is made for people. Pure but for the
 * list's memory. Thread: any.
 */
#ifndef HF_BACKEND_COMPATIBILITY_H
#define HF_BACKEND_COMPATIBILITY_H

#include "src/backend/backend.h"

/* A claim whose ticket was neither asked for nor waited on for so long counts
 * as gone: its process is stopped, or dead in a way that the store can't
 * see. */
#define HF__TICKET_PATIENCE_MS 1000
/* Who waits in the queue, or behind one, looks that often without being
 * woken. */
#define HF__TICKET_LOOK_MS 200
/* A claim that was gone for no longer finds its place again. */
#define HF__TICKET_KEEP_MS 60000

/* A live grant, or a live ticket, as the rule sees it. */
struct hf__contender {
    struct hf__token token;
    struct hf__lock_mode lock_mode;
    int slot; /* of a grant of a slot */
};

/* Those at one name. Only who counts is listed: grants whose lease runs and
 * whose holder is not known to be dead, tickets whose claim still waits. */
struct hf__holders_waiters {
    const struct hf__contender *holders;
    int n_holders;
    const struct hf__contender *waiters; /* in order of arrival */
    int n_waiters;
};

enum hf__entry {
    HF__ENTRY_OPEN,     /* it may enter, in ret_slot if it wants one */
    HF__ENTRY_HELD,     /* a grant is in the way */
    HF__ENTRY_PROMISED, /* only somebody who is before it in the queue */
    HF__ENTRY_MISFIT    /* the slots that are held are of another number */
};

/* May the claim of that token enter? Its own grant and ticket are never in
 * its way; a ticket gives it its place in the queue. ret_slot: −1 without
 * slots; for MISFIT, how many there are. */
enum hf__entry hf__may_enter(const struct hf__holders_waiters *,
                             const struct hf__token *, struct hf__lock_mode,
                             int *ret_slot);
/* From the numbers of a record; false: there is no such. */
HF_MODULE_API bool hf__lock_mode_from(int64_t mode, int64_t slots,
                                      struct hf__lock_mode *ret_lock_mode);
/* Could the two be granted at the same time? Slots: as far as they suffice. */
HF_MODULE_API bool hf__lock_modes_compatible(struct hf__lock_mode a,
                                             struct hf__lock_mode b);
/* Does the acquire, which may not enter, leave a ticket? */
HF_MODULE_API bool hf__leaves_ticket(const struct hf__holders_waiters *,
                                     const struct hf__op *);
/* The acquire is HF__ENTRY_MISFIT: its result, with its text. */
HF_MODULE_API int hf__tell_misfit(const struct hf__op *, int slots_held);

/* ---- for people */

/* One who holds the name, or waits for it. */
struct hf__participant_info {
    bool is_waiting;
    struct hf__record record; /* of the grant; of one who waits: owner, manner,
                                 and in acquired_us since when */
};

/* Holders, then those in the queue in their order; all zero is empty. */
struct hf__participant_list {
    struct hf__participant_info *list;
    int n;
    int room;
};

/* HF_OK, or HF_ENOMEM: then it is as before. */
HF_MODULE_API HF_MUST_CHECK int
hf__participant_list_add(struct hf__participant_list *,
                         const struct hf__participant_info *);
void hf__participant_list_free(struct hf__participant_list *);
/* The holder whose lease ends first; without any, `record`. */
const struct hf__record *
hf__participant_list_first_to_end(const struct hf__participant_list *,
                                  const struct hf__record *);

#endif
