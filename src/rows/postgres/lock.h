/* SPDX-License-Identifier: MIT */
/*
 * A locking read in the caller's transaction, and what the statements of a
 * call stand between. A statement that fails ends the transaction for all that
 * comes later, so in the caller's there is a savepoint before; outside of one,
 * a transaction of our own. No lock is waited for longer than is said. Thread:
 * the caller's.
 */
#ifndef HF_ROWS_POSTGRES_LOCK_H
#define HF_ROWS_POSTGRES_LOCK_H

#include "src/rows/postgres/ask.h"

/* wait_ms: 0 is the shortest time that there is; HF_FOREVER, in the caller's
 * alone: as the session says. To be closed whatever it gives. */
HF_MUST_CHECK int hf__savepoint_open(struct hf__pg *, int64_t wait_ms);
/* Keeps what was done if r is HF_OK or HF_ROW_DECLINED, else takes it back, and
 * says what became of the transaction: info.in_transaction. After HF_DEADLOCK
 * it stays as it is, failed: what it had locked before is what others wait for.
 * Gives r, or the failure to keep. */
HF_MUST_CHECK int hf__savepoint_close(struct hf__pg *, int r);

/* HF_OK; HF_EUNSAFE; HF_EINVAL: no such table or column. */
HF_MUST_CHECK int hf__rows_pg_table_check(struct hf__pg *);

/* The row, with those columns in words of SQL; suffix: " FOR UPDATE" and what
 * may follow, or "". HF_OK and the result, of one row; HF_ROW_GONE; or as
 * hf_postgres_lock_row(). */
HF_MUST_CHECK int hf__rows_pg_read(struct hf__pg *, const char *columns,
                                   const char *suffix, PGresult **ret_result);
/* The same with FOR UPDATE; waits as the savepoint says. */
HF_MUST_CHECK int hf__rows_pg_lock(struct hf__pg *, const char *columns,
                                   const hf_row_lock_opts *,
                                   PGresult **ret_result);

#endif
