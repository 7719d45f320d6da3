/* SPDX-License-Identifier: MIT */
/*
 * What list() and gc() of stores of SQL tables have alike: names are read chunk
 * by chunk, by key, and the engine judges each. Thread: the session's.
 */
#ifndef HF_BACKEND_TABLE_SCAN_H
#define HF_BACKEND_TABLE_SCAN_H

#include "src/backend/name/engine.h"
#include "src/backend/table/session.h"

/* So many names are read with one statement. */
#define HF__SCAN_CHUNK 256
/*
 * What is deleted goes on from the clock when it is made anew, so the clock
 * must have passed it: also that of a statement which began before the deletion
 * and comes to the place after it. What lies between is no wait for anybody.
 */
#define HF__SCAN_GRACE_US 20000

/* The rows of a chunk, sorted by key and part. */
struct hf__table_scan {
    void *rows;
    /* The next one; false: there is none. What it lends lives as `rows` do. */
    bool (*next)(void *rows, struct hf__table_row *ret_row);
    size_t tag; /* so many bytes of each key are the store's own */

    struct hf__table_row row;
    bool has_row;
};

/* Nothing more of a chunk is deleted from then on. */
hf__time hf__table_scan_end(const struct hf__table_head *t);
/* scan() of the engine, once a chunk is read; forget() is of t->name. */
HF_MUST_CHECK int hf__table_scan_tell(struct hf__table_head *t,
                                      struct hf__table_scan *v,
                                      struct hf__scan *scan);

#endif
