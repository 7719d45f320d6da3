/* SPDX-License-Identifier: MIT */
/*
 * Is a row of this table locked alone? By its engine, and by what the server
 * says that it would read. Thread: the caller's.
 */
#ifndef HF_ROWS_MYSQL_TABLE_H
#define HF_ROWS_MYSQL_TABLE_H

#include "src/rows/mysql/ask.h"

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

#endif
