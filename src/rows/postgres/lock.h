/* SPDX-License-Identifier: MIT */
/*
 * A locking read in the caller's transaction, and what surrounds the statements
 * of a call. A failed statement makes the server refuse all later ones of the
 * transaction. So a savepoint comes first in the caller's transaction; outside
 * of one, the call has a transaction of its own. No lock wait exceeds the given
 * limit. Thread: the caller's.
 */
#ifndef HF_ROWS_POSTGRES_LOCK_H
#define HF_ROWS_POSTGRES_LOCK_H

#include "src/rows/postgres/ask.h"

/* Open the savepoint or the transaction. wait_ms: 0 is the shortest time
 * possible; HF_FOREVER, only in the caller's transaction, keeps the session's
 * limit. The caller closes it whatever the result. */
HF_MUST_CHECK int hf__savepoint_open(struct hf__pg *, int64_t wait_ms);
/* Keep what was done if r is HF_OK or HF_ROW_DECLINED, else undo it, and set
 * info.in_transaction. After HF_DEADLOCK the failed transaction stays as it is:
 * others may wait for what it had locked before, so the caller must roll it
 * back. Gives r, or the failure to keep. */
HF_MUST_CHECK int hf__savepoint_close(struct hf__pg *, int r);

/* Check the table. HF_OK; HF_EUNSAFE; HF_EINVAL: no such table or column. */
HF_MUST_CHECK int hf__rows_pg_table_check(struct hf__pg *);

/* Read the row; `columns` is a list in SQL; suffix: " FOR UPDATE" and what may
 * follow, or "". HF_OK and a result with one row; HF_ROW_GONE; or as
 * hf_postgres_lock_row(). */
HF_MUST_CHECK int hf__rows_pg_read(struct hf__pg *, const char *columns,
                                   const char *suffix, PGresult **ret_result);
/* The same with FOR UPDATE; waits as long as the savepoint's limit says. */
HF_MUST_CHECK int hf__rows_pg_lock(struct hf__pg *, const char *columns,
                                   const hf_row_lock_opts *,
                                   PGresult **ret_result);

#endif
