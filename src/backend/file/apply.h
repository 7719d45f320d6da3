/* SPDX-License-Identifier: MIT */
/*
 * What each operation makes of a record, in memory: reading, writing and waking
 * are cell.c's and execute.c's. Thread: the session's.
 */
#ifndef HF_BACKEND_FILE_APPLY_H
#define HF_BACKEND_FILE_APPLY_H

#include "src/backend/file/view.h"

/* What is to be done once the record is written, and to be said once that is
 * known to have been in the right file. */
struct hf__file_outcome {
    int result;
    uint64_t fence; /* 0: leave the operation's as it is, unless LOST */
    hf_reason reason;
    bool is_changed;         /* the record is to be written */
    bool is_freed;           /* the name may be acquired now */
    bool is_broken;          /* `let_go` was, by somebody else */
    uint64_t life;           /* of the process it was bound to, as known here */
    bool is_taken;           /* it has another holder now */
    bool took_over;          /* as in hf__op */
    bool is_bound;           /* `hold` is bound to this process */
    bool queues;             /* a ticket is to be left */
    struct hf__token leaves; /* whose ticket is to be taken away; zero: none */
    struct hf__token hold;   /* the new holder; zero: none */
    struct hf__token let_go; /* to forget; zero: none */
    int64_t extend_us;       /* the token's new expiry; 0: unchanged */
};

/* Does the record stand in the way of this acquire? Then *ret_result is BUSY
 * or a failure, and the operation's record is told. */
bool hf__file_is_in_the_way(const struct hf__cell *cell,
                            const struct hf__file_view *view,
                            const struct hf__op *op, int *ret_result);
/* The grant lives by its lease alone from now on. */
void hf__file_detach(struct hf__cell *cell);
/* Apply op to cell->record and note in `out` what follows. */
void hf__file_apply(struct hf__cell *cell, const struct hf__file_view *view,
                    const struct hf__op *op, struct hf__file_outcome *out);

#endif
