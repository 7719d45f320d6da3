/* SPDX-License-Identifier: MIT */
/*
 * A locking read in the caller's transaction, after its plan was checked. And
 * the state of the caller's session that matters for it: whether it is in a
 * transaction, and how long it waits for a lock. Changed settings are put back.
 * Thread: the caller's.
 */
#ifndef HF_ROWS_MYSQL_LOCK_H
#define HF_ROWS_MYSQL_LOCK_H

#include "src/rows/mysql/ask.h"

struct hf__patience {
    char row[24]; /* the session's own, to be put back */
    char table[24];
    bool is_set;
};

/* Find out whether there is a transaction, and set s->is_inside. */
HF_MUST_CHECK int hf__session_look(struct hf__rows *);
/* Set a savepoint in the transaction; it vanishes if the server rolls that
 * back. */
HF_MUST_CHECK int hf__session_mark(struct hf__rows *);
/* Release the savepoint, and set info.in_transaction by whether it was
 * there. */
void hf__session_unmark(struct hf__rows *);
/* Add to the error of r that the transaction was rolled back, if it was. Gives
 * r. */
HF_MUST_CHECK int hf__session_tell(struct hf__rows *, int r);

/* Limit every lock wait from now on to wait_ms; HF_FOREVER: keep the session's
 * limit. */
HF_MUST_CHECK int hf__patience_begin(struct hf__rows *, struct hf__patience *,
                                     int64_t wait_ms);
/* Put the session's limits back. Gives r, or the failure to do so. */
HF_MUST_CHECK int hf__patience_end(struct hf__rows *, struct hf__patience *,
                                   int r);

/* HF_OK, or HF_EUNSAFE: the table cannot lock a row, or others do not see
 * it. */
HF_MUST_CHECK int hf__table_check(struct hf__rows *);

/*
 * Have the lookup of the row explained, with `suffix` behind it. HF_OK: it uses
 * a unique index, s->index, or there is no row (s->index is "" then).
 * HF_EUNSAFE, with the plan: it does not. Within a transaction the suffix must
 * make it a locking read: to explain a lookup by a unique index the server
 * performs it, so it takes the lock, or else the snapshot. If the server
 * refuses, the error's number is in *ret_error.
 */
HF_MUST_CHECK int hf__table_explain(struct hf__rows *, const char *suffix,
                                    unsigned *ret_error);

enum hf__wait_policy {
    HF__WAIT,   /* as long as the session's timeouts say */
    HF__NOWAIT, /* do not wait; where unknown, as HF__WAIT */
    HF__SKIP,   /* skip locked rows; where unknown, as HF__NOWAIT */
};

/* Read the row; `columns` is a list in SQL. HF_OK and a result with one row;
 * HF_ROW_GONE; or as hf_mysql_lock_row(). */
HF_MUST_CHECK int hf__lock_read(struct hf__rows *, const char *columns,
                                enum hf__wait_policy, MYSQL_RES **ret_result);

#endif
