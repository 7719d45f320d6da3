/* SPDX-License-Identifier: MIT */
/*
 * Translates the marks of a decision into conditions on rows, which a store
 * then says in its SQL. A renewal or release of the caller's own grant ignores
 * other changes of the name, and so does a claim that joins the queue: it looks
 * again when it begins to wait. All other changes need the record unchanged.
 * Thread: the session's.
 */
#ifndef HF_BACKEND_TABLE_MARKS_H
#define HF_BACKEND_TABLE_MARKS_H

#include "src/backend/table/name.h"

struct hf__marks {
    /* The exclusive grant that holdfast_lock has, or had: the new one, if there
     * are two. Or NULL. */
    const struct hf__participant *holder;
    /* The record is changed only if … */
    bool is_whole; /* … its revision and fence are those that were read: the
                      fence differs if it was deleted and made again */
    bool is_own;   /* … its token is the operation's */
    bool has_holders; /* … its crowd has HF__HAS_HOLDERS */
    bool must_run;  /* … its lease is not over, as the change only continues a
                       lease that began before */
    unsigned crowd; /* the record's new value, if is_whole */
    const struct hf__token *takes; /* take this grant's wake lock; or NULL */
    const struct hf__token *frees; /* release this grant's wake lock; or NULL */
};
void hf__marks_read(const struct hf__op *op, const struct hf__name *name,
                    struct hf__marks *ret_marks);

/* The grant is exclusive: it is in the name's record, not in
 * holdfast_beside. */
bool hf__participant_is_alone(const struct hf__participant *g);
/* The operation is a renewal or a release. */
bool hf__op_is_own_only(const struct hf__op *op);

/* For an operation on a grant of the caller's: forget grants and tickets that
 * the record does not tell of. Then it is not the record by which they were
 * granted or queued: it was made anew, and may have let in others since. */
void hf__table_forget_strays(struct hf__table_name *n, const struct hf__op *op);
/* Is it time to write that the claim of this ticket asked again? */
bool hf__table_shows(const struct hf__table_name *n,
                     const struct hf__participant *ticket);

#endif
