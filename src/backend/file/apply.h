/* SPDX-License-Identifier: MIT */
/*
 * Where a record stands, and what each operation makes of it, in memory:
 * reading, writing and waking are cell.c's and execute.c's. Thread: the
 * session's.
 */
#ifndef HF_BACKEND_FILE_APPLY_H
#define HF_BACKEND_FILE_APPLY_H

#include "src/backend/file/cell.h"

enum hf__file_standing {
    HF__FILE_FREE,
    HF__FILE_KEPT,    /* free, but closed for a while */
    HF__FILE_HELD,    /* the lease runs */
    HF__FILE_DEAD,    /* the lease runs, the holder is gone */
    HF__FILE_EXPIRED, /* the lease has run out */
    HF__FILE_STALE,   /* held before the machine started anew */
    HF__FILE_FOREIGN, /* held by another time namespace's clock, or alive
                         under another boot id */
    HF__FILE_GHOST    /* no record, yet held: it was deleted by hand */
};

/* A record by this kernel's clock, and what the kernel knows of the holder. */
struct hf__file_view {
    enum hf__file_standing standing;
    int64_t remaining_us; /* of the lease, or the keeping; −1: unknown */
    int holder_lives;     /* as in hf__record */
    int64_t now_us;       /* CLOCK_BOOTTIME, when it was looked at */
    int64_t wall_us;
};

/* What is to be done once the record is written, and to be said once that is
 * known to have been in the right file. */
struct hf__file_outcome {
    int result;
    uint64_t fence; /* 0: leave the operation's as it is, unless LOST */
    hf_reason reason;
    bool is_changed;         /* the record is to be written */
    bool is_freed;           /* the name may be acquired now */
    bool is_taken;           /* it has another holder now */
    bool is_bound;           /* `hold` is bound to this process */
    struct hf__token hold;   /* the new holder; zero: none */
    struct hf__token let_go; /* to forget; zero: none */
    int64_t extend_us;       /* the token's new expiry; 0: unchanged */
};

/* `mine` is a token that does not count as another's, or NULL. */
void hf__file_look(const struct hf__cell *cell, const struct hf__token *mine,
                   struct hf__file_view *ret_view);
/* May a new claim have it now? */
bool hf__file_is_free(const struct hf__file_view *view);
/* Tell the core; record may be NULL. */
void hf__file_tell(const struct hf__cell *cell,
                   const struct hf__file_view *view, struct hf__record *record);

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
