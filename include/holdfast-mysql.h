/* SPDX-License-Identifier: MIT */
/*
 * Holdfast for rows: locking and changing rows of your own tables, on your own
 * connection to MySQL or MariaDB and in your own transaction. The library makes
 * no connection, no table and no thread.
 *
 *     hf_row_column key[] = {{"id", {HF_ROW_INT, 1001, NULL, 0}}};
 *     hf_row row = HF_ROW_INIT;
 *     hf_error err = HF_ERROR_INIT;
 *
 *     row.table = "account";
 *     row.key = key;
 *     row.n_key = 1;
 *     mysql_query(db, "BEGIN");
 *     if (hf_mysql_lock_row(db, &row, NULL, NULL, &err) == HF_OK) {
 *         … the row is ours until COMMIT or ROLLBACK …
 *     }
 *
 * Link -lholdfast-rows and also the client library whose mysql.h you include:
 * this library calls yours. It uses only calls that both libmariadb and
 * libmysqlclient have, and reads no struct except MYSQL_FIELD. It has been run
 * only with libmariadb.
 *
 * Rows, options and statuses are those of holdfast-rows.h.
 *
 * Threads: a call uses the connection as mysql_query() does, so one thread at a
 * time on each connection; else any thread. All results of the connection must
 * have been read, and it must have no savepoint called holdfast_rows. The
 * arguments are not used after the call. Names of databases, tables and columns
 * are 1 to 64 characters, without quotes: they are quoted here. Values never
 * become SQL words: they are sent as hexadecimal literals. A text is in the
 * connection's character set, mysql_character_set_name().
 */
#ifndef HOLDFAST_MYSQL_H
#define HOLDFAST_MYSQL_H

#include <mysql.h>

#include "holdfast-rows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the status's name: "HF_ROW_GONE", "HF_BUSY"; never NULL. */
HF_API const char *hf_mysql_strstatus(int status);

/* Everything in holdfast-rows.h has these names, too. */
typedef hf_row_status hf_mysql_status;
typedef hf_row_type hf_mysql_type;
typedef hf_row_value hf_mysql_value;
typedef hf_row_column hf_mysql_column;
typedef hf_row hf_mysql_row;
typedef hf_row_info hf_mysql_info;
typedef hf_row_lock_opts hf_mysql_lock_opts;
typedef hf_row_change_fn hf_mysql_change_fn;
typedef hf_row_update hf_mysql_update;
#define HF_MYSQL_GONE           HF_ROW_GONE
#define HF_MYSQL_DECLINED       HF_ROW_DECLINED
#define HF_MYSQL_EREFUSED       HF_ROW_EREFUSED
#define HF_MYSQL_UNSET          HF_ROW_UNSET
#define HF_MYSQL_NULL           HF_ROW_NULL
#define HF_MYSQL_INT            HF_ROW_INT
#define HF_MYSQL_TEXT           HF_ROW_TEXT
#define HF_MYSQL_BYTES          HF_ROW_BYTES
#define HF_MYSQL_KEY_MAX        HF_ROW_KEY_MAX
#define HF_MYSQL_COLUMNS_MAX    HF_ROW_COLUMNS_MAX
#define HF_MYSQL_WAIT_MAX_MS    HF_ROW_WAIT_MAX_MS
#define HF_MYSQL_RETRIES_MAX    HF_ROW_RETRIES_MAX
#define HF_MYSQL_ROW_INIT       HF_ROW_INIT
#define HF_MYSQL_INFO_INIT      HF_ROW_INFO_INIT
#define HF_MYSQL_LOCK_OPTS_INIT HF_ROW_LOCK_OPTS_INIT
#define HF_MYSQL_UPDATE_INIT    HF_ROW_UPDATE_INIT

/* ---- a lock ----------------------------------------------------------- */

/*
 * Lock one row for writing, as SELECT … FOR UPDATE does, in the transaction
 * that the caller has begun (or that autocommit=0 begins). It stays locked
 * until the transaction ends. opts NULL means HF_ROW_LOCK_OPTS_INIT: the call
 * waits as long as the session's innodb_lock_wait_timeout says, 50 s unless it
 * was set. The server counts waits in whole seconds, so wait_ms is rounded up,
 * and so is limit_ms of an update. With skip_locked a row that somebody else
 * has locked never causes a rollback; see below.
 *
 * First the server explains the statement: it must find the row by a unique
 * index and read nothing else, because it locks whatever it reads. If its plan
 * is another one, as it may be for a table so small that it prefers to read all
 * of it, err->text says what the plan is.
 *
 * A later SELECT of this transaction sees the row as it was locked, unless its
 * snapshot is older (REPEATABLE READ, after an earlier plain SELECT): then only
 * a locking read sees that. The call itself takes no snapshot.
 *
 * Gives: HF_OK, the row is locked. HF_ROW_GONE: there is no such row; other
 * callers get the same answer at once, but under REPEATABLE READ the gap is
 * locked against INSERTs until the transaction ends. HF_BUSY: somebody else has
 * the row locked. The transaction stays open, except where the server has
 * innodb_rollback_on_timeout; there, with skip_locked, HF_BUSY may also mean
 * that the row does not exist. HF_DEADLOCK: the server has rolled the
 * transaction back (1213); begin it again. HF_CONFLICT: the row was changed
 * after the transaction's snapshot (MariaDB with innodb_snapshot_isolation);
 * begin it again. HF_EUNSAFE: there is no transaction, the engine is not
 * InnoDB, or the plan is not a unique lookup. HF_EINVAL (arguments; no such
 * table or column), HF_ENOMEM, HF_EAUTH, HF_EUNAVAIL (no answer: the
 * transaction is gone with the connection, even if the client library has
 * reconnected; or the statement was killed), HF_EPROTO, HF_ROW_EREFUSED.
 *
 * Blocks: as long as wait_ms says, and for the answers to some ten statements.
 * The call leaves isolation level, timeouts and savepoints as they were.
 */
HF_API HF_MUST_CHECK int hf_mysql_lock_row(MYSQL *db, const hf_row *row,
                                           const hf_row_lock_opts *opts,
                                           hf_row_info *ret_info,
                                           hf_error *err);

/* ---- an update by version --------------------------------------------- */

/*
 * Read a row, compute, and write it if its version is still the one that was
 * read, so that nobody has written it meanwhile. A number rises by one; a stamp
 * (DATETIME(6), TIMESTAMP(6)) becomes the server's time, but always later than
 * before. If somebody has written the row, the call starts again, up to
 * `retries` times.
 *
 * With autocommit each try is a transaction of its own. In the caller's
 * transaction the row is locked as it is read (as by hf_mysql_lock_row()), so
 * that the call sees the row itself and not an older snapshot; it stays locked
 * until the transaction ends, and no retry is needed.
 *
 * Gives: HF_OK, written once. HF_CONFLICT: others were quicker each time;
 * nothing was written. HF_ROW_GONE: no such row, or it is deleted.
 * HF_ROW_DECLINED. HF_BUSY, HF_DEADLOCK: as hf_mysql_lock_row(); with
 * autocommit nothing was written. HF_EUNKNOWN: the answer to the write was
 * lost, and the write is not sent again: read the row. HF_EUNAVAIL: not
 * written. HF_ROW_EREFUSED: the server refused it, err->native says why (1062:
 * a unique key has such a value). HF_EUNSAFE, also for a stamp coarser than
 * microseconds: two writes in one second leave the same stamp, so a caller that
 * read between them would overwrite the second. HF_EINVAL (arguments; no such
 * column; the version is NULL, of another type, or the largest of its type),
 * HF_ENOMEM, HF_EAUTH, HF_EPROTO.
 *
 * The connection may or may not have CLIENT_FOUND_ROWS.
 * Blocks: up to limit_ms plus one wait for a row, and while the callback runs.
 */
HF_API HF_MUST_CHECK int hf_mysql_update_versioned(MYSQL *db, const hf_row *row,
                                                   const hf_row_update *update,
                                                   hf_row_info *ret_info,
                                                   hf_error *err);

/* ---- a guard ----------------------------------------------------------- */

/*
 * Write the SQL condition of a write that is guarded by a fence of hf_fence():
 * "`fence`<=17", for the WHERE of an UPDATE which also sets that column to 17.
 * A holder that was replaced then changes nothing once its successor has
 * written:
 *
 *     UPDATE job SET state='done', fence=17 WHERE id=5 AND `fence`<=17
 *
 * The column is BIGINT UNSIGNED NOT NULL DEFAULT 0; NULL refuses every write.
 * If no row was changed, the write was refused or the row does not exist;
 * without CLIENT_FOUND_ROWS it may also have held these values already. Any
 * thread, no connection.
 * Gives: HF_OK, and the text with its NUL in buf; HF_EINVAL (the column's name,
 * fence 0, no room) and "". 320 bytes are always enough.
 */
HF_API HF_MUST_CHECK int hf_mysql_guard_sql(char *buf, size_t size,
                                            const char *column, uint64_t fence,
                                            hf_error *err);

#ifdef __cplusplus
}
#endif

#endif
