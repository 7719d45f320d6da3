/* SPDX-License-Identifier: MIT */
/*
 * A locking read in the caller's transaction, after its plan was looked at.
 * Thread: the caller's.
 */
#ifndef HF_ROWS_MYSQL_LOCK_H
#define HF_ROWS_MYSQL_LOCK_H

#include "src/rows/mysql/ask.h"

enum hf__manner {
    HF__WAIT,   /* as long as the session's timeouts say */
    HF__NOWAIT, /* not at all, or where that is unknown, as HF__WAIT */
    HF__SKIP,   /* as if locked rows were not there; or as HF__NOWAIT */
};

/* The row, with those columns in words of SQL: HF_OK and the result, of one
 * row; HF_ROW_GONE; or as hf_mysql_lock_row(). */
HF_MUST_CHECK int hf__lock_read(struct hf__rows *, const char *columns,
                                enum hf__manner, MYSQL_RES **ret_result);

#endif
