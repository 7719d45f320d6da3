/* SPDX-License-Identifier: MIT */
/*
 * A locking read in the caller's transaction. Thread: the caller's.
 */
#ifndef HF_ROWS_POSTGRES_LOCK_H
#define HF_ROWS_POSTGRES_LOCK_H

#include "src/rows/postgres/ask.h"

/* The row, with those columns in words of SQL; suffix: " FOR UPDATE" and what
 * may follow, or "". HF_OK and the result, of one row; HF_ROW_GONE; or as
 * hf_postgres_lock_row(). */
HF_MUST_CHECK int hf__rows_pg_read(struct hf__pg *, const char *columns,
                                   const char *suffix, PGresult **ret_result);
/* The same with FOR UPDATE; waits as the bracket says. */
HF_MUST_CHECK int hf__rows_pg_lock(struct hf__pg *, const char *columns,
                                   const hf_row_lock_opts *,
                                   PGresult **ret_result);

#endif
