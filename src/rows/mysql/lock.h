/* SPDX-License-Identifier: MIT */
/*
 * A locking read in the caller's transaction, after its plan was looked at;
 * and what of the caller's session matters: whether it is in a transaction,
 * and how long it waits for a lock. What is changed is put back. Thread: the
 * caller's.
 */
#ifndef HF_ROWS_MYSQL_LOCK_H
#define HF_ROWS_MYSQL_LOCK_H

#include "src/rows/mysql/ask.h"

struct hf__patience {
    char row[24]; /* the session's own, to be put back */
    char table[24];
    bool is_set;
};

/* Finds out whether there is a transaction: s->is_inside. */
HF_MUST_CHECK int hf__session_look(struct hf__rows *);
/* A mark in the transaction, which goes with it if the server rolls it back. */
HF_MUST_CHECK int hf__session_mark(struct hf__rows *);
/* Takes the mark away: info.in_transaction. */
void hf__session_unmark(struct hf__rows *);
/* Says of r that the transaction went with it, if it did. Gives r. */
HF_MUST_CHECK int hf__session_tell(struct hf__rows *, int r);

/* From now on no lock is waited for longer than that; HF_FOREVER: than the
 * session says. */
HF_MUST_CHECK int hf__patience_begin(struct hf__rows *, struct hf__patience *,
                                     int64_t wait_ms);
/* Puts back what was. Gives r, or the failure to do that. */
HF_MUST_CHECK int hf__patience_end(struct hf__rows *, struct hf__patience *,
                                   int r);

/* HF_OK, or HF_EUNSAFE: no row locks, or none that others would see. */
HF_MUST_CHECK int hf__table_check(struct hf__rows *);

/*
 * Has the lookup of the row explained, with `suffix` behind it. HF_OK: it is by
 * a unique index, s->index, or there is no row ("" then). HF_EUNSAFE with the
 * plan. Within a transaction the suffix must make it a locking read: to explain
 * a lookup by a unique index the server does it, so it takes the lock, or the
 * snapshot. Whatever keeps it from that is told by number, in *ret_error.
 */
HF_MUST_CHECK int hf__table_explain(struct hf__rows *, const char *suffix,
                                    unsigned *ret_error);

enum hf__wait_policy {
    HF__WAIT,   /* as long as the session's timeouts say */
    HF__NOWAIT, /* not at all, or where that is unknown, as HF__WAIT */
    HF__SKIP,   /* as if locked rows were not there; or as HF__NOWAIT */
};

/* The row, with those columns in words of SQL: HF_OK and the result, of one
 * row; HF_ROW_GONE; or as hf_mysql_lock_row(). */
HF_MUST_CHECK int hf__lock_read(struct hf__rows *, const char *columns,
                                enum hf__wait_policy, MYSQL_RES **ret_result);

#endif
