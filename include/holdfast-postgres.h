/* SPDX-License-Identifier: MIT */
/*
 * Holdfast for rows: locks and changes rows of your own tables, on your own
 * connection to PostgreSQL (PGconn) and in your own transaction. It opens no
 * connection and makes no table and no thread. The calls are those of
 * holdfast-mysql.h; rows, options and statuses are in holdfast-rows.h.
 *
 *     hf_row_column key[] = {{"id", {HF_ROW_INT, 1001, NULL, 0}}};
 *     hf_row row = HF_ROW_INIT;
 *     hf_error err = HF_ERROR_INIT;
 *
 *     row.table = "account";
 *     row.key = key;
 *     row.n_key = 1;
 *     PQclear(PQexec(db, "BEGIN"));
 *     if (hf_postgres_lock_row(db, &row, NULL, NULL, &err) == HF_OK) {
 *         … the row is ours until COMMIT or ROLLBACK …
 *     }
 *
 * Link -lholdfast-rows-postgres and also -lpq: this library calls the libpq
 * that the program has.
 *
 * Threads: a call uses the connection as PQexec() does, so only one thread at a
 * time may use each connection. It blocks, even if the connection is
 * non-blocking (PQsetnonblocking()). The connection must have no unread
 * results, must not be in pipeline mode, and must have no savepoint called
 * holdfast_rows. Nothing that the caller passes is kept after the call. Names
 * of schemas, tables and columns are 1 to 63 bytes, without quotes and as the
 * server has them: they are quoted here, so `Id` is not `id`. Values are sent
 * as parameters: HF_ROW_INT is a bigint, HF_ROW_BYTES is bytea, HF_ROW_TEXT
 * takes the type of its column, whichever that is, and is in client_encoding.
 * err->sqlstate is the server's SQLSTATE, err->native is 0.
 */
#ifndef HOLDFAST_POSTGRES_H
#define HOLDFAST_POSTGRES_H

#include <libpq-fe.h>

#include "holdfast-rows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "HF_ROW_GONE", "HF_BUSY"; never NULL. */
HF_API const char *hf_postgres_strstatus(int status);

/* ---- a lock ----------------------------------------------------------- */

/*
 * Lock one row for writing, as SELECT … FOR UPDATE does, in the transaction
 * that the caller has begun. The row stays locked until the transaction ends,
 * or is rolled back to a savepoint set before. opts NULL means
 * HF_ROW_LOCK_OPTS_INIT: wait as long as the session's lock_timeout, which is
 * without limit unless it was set. The server starts wait_ms again for each
 * lock that it waits for, so a call behind other waiters may wait longer. The
 * call also waits for a table that others alter.
 *
 * First it asks the catalog: the columns of the key must cover a unique index
 * that is neither partial nor deferrable, so that no two rows have the key. The
 * statements follow a savepoint, so that a failed one does not end the caller's
 * transaction. Each call that locks leaves a subtransaction in it, and a server
 * slows down if a transaction has more than 64 of them.
 *
 * Gives: HF_OK, the row is locked. HF_ROW_GONE: there is no such row, and
 * nothing is locked. HF_BUSY: another transaction has it locked; the caller's
 * is open as it was. HF_DEADLOCK: a deadlock (40P01), or the row was changed
 * after the snapshot of a transaction that is REPEATABLE READ or higher
 * (40001), perhaps by the one it waited for. The transaction has failed and
 * keeps its locks until the caller rolls it back; then begin it again.
 * HF_EUNSAFE: there is no transaction, no such index, or no table whose rows
 * others see. HF_EINVAL (arguments; no such table or column; the transaction
 * had failed before), HF_ENOMEM, HF_EAUTH, HF_EUNAVAIL (no answer: the
 * transaction is gone with the connection; or the statement was ended, 57014),
 * HF_EPROTO, HF_ROW_EREFUSED.
 *
 * Blocks: as long as wait_ms says, and for the answers to some five statements.
 * Afterwards lock_timeout and savepoints are as they were.
 */
HF_API HF_MUST_CHECK int hf_postgres_lock_row(PGconn *db, const hf_row *row,
                                              const hf_row_lock_opts *opts,
                                              hf_row_info *ret_info,
                                              hf_error *err);

/* ---- an update by version --------------------------------------------- */

/*
 * Read a row, compute, and write it if its version is still the one that was
 * read, so that nobody has written it in between. A version that is a number
 * rises by one; a timestamp or timestamptz becomes the server's time, but
 * always later than it was. If somebody has written the row, the call repeats
 * all of that, up to `retries` times. The column `deleted` may also be a
 * boolean.
 *
 * Outside of a transaction each try uses two of its own, one that reads and one
 * that writes, so nothing is open while the callback computes. In a transaction
 * of the caller's the row is locked as it is read (as by
 * hf_postgres_lock_row()) and stays locked until the transaction ends; no retry
 * is needed. A row that is not written is not locked either, except after
 * HF_ROW_DECLINED.
 *
 * Gives: HF_OK, written once. HF_CONFLICT: others were quicker each time, or a
 * trigger kept the row from being written; nothing was written. HF_ROW_GONE:
 * there is no such row, or it is deleted. HF_ROW_DECLINED. HF_BUSY,
 * HF_DEADLOCK: as hf_postgres_lock_row(); outside of a transaction nothing was
 * written. HF_EUNKNOWN: the answer to the COMMIT was lost; it was sent once and
 * is not sent again: read the row. HF_EUNAVAIL: not written. HF_ROW_EREFUSED:
 * the server refused it, err->sqlstate says why (23505: a unique index has such
 * a value). HF_EUNSAFE, also for a time coarser than microseconds: a client
 * that read the row before another write of the same second would overwrite
 * that. HF_EINVAL (arguments, no such column, a value of another type, a
 * version that is NULL, of another type, or the largest of its type),
 * HF_ENOMEM, HF_EAUTH, HF_EPROTO.
 *
 * Blocks: up to limit_ms and one wait for a row beyond, and the callback.
 */
HF_API HF_MUST_CHECK int
hf_postgres_update_versioned(PGconn *db, const hf_row *row,
                             const hf_row_update *update, hf_row_info *ret_info,
                             hf_error *err);

/* ---- a guard ----------------------------------------------------------- */

/*
 * Write the condition under which a write with a fence of hf_fence() may
 * happen. It is for the WHERE of an UPDATE that also sets the column to the
 * fence, here 17. A holder that was replaced then changes nothing once its
 * successor has written:
 *
 *     UPDATE job SET state='done', fence=17 WHERE id=5 AND "fence"<=17
 *
 * The column is BIGINT NOT NULL DEFAULT 0; a NULL in it refuses every fence. If
 * no row changed, the fence was refused, or the row is not there. Any thread
 * may call this; it needs no connection.
 *
 * Gives: HF_OK and text with NUL in buf; HF_EINVAL (the column's name, fence 0
 * or more than a bigint, no room) and "". 320 bytes are always enough.
 */
HF_API HF_MUST_CHECK int hf_postgres_guard_sql(char *buf, size_t size,
                                               const char *column,
                                               uint64_t fence, hf_error *err);

#ifdef __cplusplus
}
#endif

#endif
