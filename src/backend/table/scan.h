/* SPDX-License-Identifier: MIT */
/*
 * The common part of list() and gc() for stores of SQL tables: names are read
 * chunk by chunk, by key, and the engine judges each. Thread: the session's.
 */
#ifndef HF_BACKEND_TABLE_SCAN_H
#define HF_BACKEND_TABLE_SCAN_H

#include "src/backend/name/engine.h"
#include "src/backend/table/session.h"

/* The most names that one statement reads. */
#define HF__SCAN_CHUNK 256
/*
 * A deleted record that is made again goes on from the clock. So the clock must
 * have passed its old value, even the clock of a statement that began before
 * the deletion and reaches the row after it. This time is for the statement's
 * way to the row; it does not wait for a lock in between.
 */
#define HF__SCAN_GRACE_US 20000

/* The rows of a chunk, sorted by key and part. */
struct hf__table_scan {
    void *rows;
    /* Reads the next row; false: there is none. What it lends lives as long as
     * `rows`. */
    bool (*next)(void *rows, struct hf__table_row *ret_row);
    size_t tag; /* the store puts so many bytes before each key */

    struct hf__table_row row;
    bool has_row;
};

/* The time after which nothing more of a chunk is deleted. */
hf__time hf__table_scan_end(const struct hf__table_head *t);
/* The engine's scan(), once a chunk is read. forget() is to delete t->name. */
HF_MUST_CHECK int hf__table_scan_tell(struct hf__table_head *t,
                                      struct hf__table_scan *v,
                                      struct hf__scan *scan);

#endif
