/* SPDX-License-Identifier: MIT */
/*
 * Where the record of a lock's file stands. Thread: the session's.
 */
#ifndef HF_BACKEND_FILE_VIEW_H
#define HF_BACKEND_FILE_VIEW_H

#include "src/backend/file/cell.h"

enum hf__file_standing {
    HF__FILE_FREE,
    HF__FILE_KEPT,    /* free, but closed for a while */
    HF__FILE_HELD,    /* the lease runs */
    HF__FILE_DEAD,    /* the lease runs, the holder is gone */
    HF__FILE_EXPIRED, /* the lease has run out */
    HF__FILE_STALE,   /* bound to a process, before the machine started */
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

/* Of the process that the record is bound to; 0: none, or one that has another
 * side file. */
uint64_t hf__file_life(const struct hf__cell *cell);
/* `mine` is a token that does not count as another's, or NULL. */
void hf__file_look(const struct hf__cell *cell, const struct hf__token *mine,
                   struct hf__file_view *v);
/* May a new claim have it now? */
bool hf__file_is_free(const struct hf__file_view *view);
/* Does somebody have it, as far as can be told? */
bool hf__file_is_held(const struct hf__file_view *view);
/* A text of a file that may have been edited by hand: what is not UTF-8 is
 * dropped. */
void hf__file_copy_text(char *to, size_t size, const char *from,
                        size_t from_size);
/* Tell the core; record may be NULL. */
void hf__file_tell(const struct hf__cell *cell,
                   const struct hf__file_view *view, struct hf__record *record);

#endif
