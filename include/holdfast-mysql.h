/* SPDX-License-Identifier: MIT */
/*
 * Holdfast for rows: locking and changing rows of your own tables, on your own
 * connection to MySQL or MariaDB and in your own transaction. It makes no
 * connection, no table and no thread.
 *
 *     hf_mysql_column key[] = {{"id", {HF_MYSQL_INT, 1001, NULL, 0}}};
 *     hf_mysql_row row = HF_MYSQL_ROW_INIT;
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
 * Link -lholdfast-rows and, besides, the client library whose mysql.h you
 * include: this library has none of its own and calls yours. It needs of it
 * what both libmariadb and libmysqlclient have, and looks into no struct but
 * MYSQL_FIELD. It has been run with libmariadb alone.
 *
 * Statuses are those of holdfast.h, and hf_mysql_status: 0 is success, above 0
 * an outcome that the caller must handle, below 0 a failure to forward.
 *
 * Threads: a call uses the connection as mysql_query() does, so one thread at
 * a time on each; beside that, any thread. The connection must have no result
 * that is still to be read, and no savepoint called holdfast_rows. Nothing that
 * is given is kept after the call. Names of databases, tables and columns are
 * 1 to 64 characters, without quotes: they are quoted here. Values never
 * become words of a statement: they go as hexadecimal literals.
 */
#ifndef HOLDFAST_MYSQL_H
#define HOLDFAST_MYSQL_H

#include <mysql.h>

#include "holdfast.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HF_MYSQL_STATUS_MAP(X)                                                 \
    X(HF_MYSQL_GONE, 101, "there is no such row")                              \
    X(HF_MYSQL_DECLINED, 102, "the callback did not want the change")          \
    X(HF_MYSQL_EREFUSED, -101, "the server refused the statement")

/* What holdfast.h has no status for. */
typedef enum hf_mysql_status {
#define HF_X(name, value, text) name = value,
    HF_MYSQL_STATUS_MAP(HF_X)
#undef HF_X
} hf_mysql_status;

/* "HF_MYSQL_GONE", "HF_BUSY"; never NULL. */
HF_API const char *hf_mysql_strstatus(int status);

/* Limits; HF_EINVAL beyond them. */
#define HF_MYSQL_KEY_MAX     16 /* columns of a key */
#define HF_MYSQL_COLUMNS_MAX 64 /* columns that one update changes */
#define HF_MYSQL_WAIT_MAX_MS 86400000
#define HF_MYSQL_RETRIES_MAX 1000

typedef enum hf_mysql_type {
    HF_MYSQL_UNSET = 0, /* a new value: leave the column as it is */
    HF_MYSQL_NULL = 1,  /* not in a key */
    HF_MYSQL_INT = 2,   /* number */
    HF_MYSQL_TEXT = 3,  /* length bytes in the connection's character set,
                           mysql_character_set_name() */
    HF_MYSQL_BYTES = 4  /* length bytes as they are, for BINARY and BLOB */
} hf_mysql_type;

/* One value; it borrows its bytes. These two structs stay as they are. */
typedef struct hf_mysql_value {
    hf_mysql_type type;
    int64_t number;
    const void *bytes;
    size_t length;
} hf_mysql_value;

typedef struct hf_mysql_column {
    const char *name;
    hf_mysql_value value;
} hf_mysql_column;

/* Which row. The columns of `key` must cover a unique index: the primary key,
 * or a UNIQUE one. */
typedef struct hf_mysql_row {
    size_t size;          /* sizeof(hf_mysql_row) */
    const char *database; /* NULL: the connection's */
    const char *table;    /* InnoDB; no view and no temporary table */
    const hf_mysql_column *key;
    int n_key;
} hf_mysql_row;
#define HF_MYSQL_ROW_INIT                                                      \
    {                                                                          \
        sizeof(hf_mysql_row), NULL, NULL, NULL, 0                              \
    }

/* How it went; filled whatever it gives, and optional: pass NULL. */
typedef struct hf_mysql_info {
    size_t size;        /* sizeof(hf_mysql_info) */
    int in_transaction; /* 1: the caller's transaction is open, with all that
                           was done in it before; 0: there is none, or the
                           server rolled it back; -1: unknown */
    int tries;          /* of an update: how often the row was read */
    int64_t version;    /* of an update by a version column: the number that it
                           wrote, or tried to write last; else 0 */
} hf_mysql_info;
#define HF_MYSQL_INFO_INIT                                                     \
    {                                                                          \
        sizeof(hf_mysql_info), -1, 0, 0                                        \
    }

/* ---- a lock ----------------------------------------------------------- */

typedef struct hf_mysql_lock_opts {
    size_t size;     /* sizeof(hf_mysql_lock_opts) */
    int64_t wait_ms; /* patience with who has the row: 0 tries once; up to 24 h,
                        rounded up to whole seconds, which are the server's;
                        HF_FOREVER: as long as the session's
                        innodb_lock_wait_timeout, 50 s unless it was set */
    int skip_locked; /* 1, with wait_ms 0: ask by SKIP LOCKED, where the server
                        knows it. A row that somebody has is then no error to
                        the server, so it never rolls back; see below */
} hf_mysql_lock_opts;
#define HF_MYSQL_LOCK_OPTS_INIT                                                \
    {                                                                          \
        sizeof(hf_mysql_lock_opts), HF_FOREVER, 0                              \
    }

/*
 * Lock one row for writing, as SELECT … FOR UPDATE does, in the transaction
 * that the caller has begun (or that autocommit=0 begins). It stays locked
 * until the transaction ends. opts NULL means HF_MYSQL_LOCK_OPTS_INIT.
 *
 * First the server explains the statement: it must find the row by a unique
 * index and read nothing else, for whatever it reads gets locked. What it says
 * otherwise, also of a table so small that it would rather read all of it, is
 * in err->text.
 *
 * A later SELECT of this transaction sees the row as it was locked, unless its
 * snapshot is older (REPEATABLE READ, after an earlier plain SELECT): then only
 * a locking read does. The call itself takes no snapshot.
 *
 * Gives: HF_OK, the row is locked. HF_MYSQL_GONE: there is none, nothing is
 * locked that would keep another caller from the same answer; under REPEATABLE
 * READ the gap is, against INSERTs, until the transaction ends. HF_BUSY:
 * somebody has it locked. It leaves the transaction open, except where the
 * server has innodb_rollback_on_timeout; there, with skip_locked, it also
 * stands for a row that is not there. HF_DEADLOCK: the server has rolled the
 * transaction back (1213); begin it again. HF_CONFLICT: it was changed after
 * the transaction's snapshot (MariaDB with innodb_snapshot_isolation); begin it
 * again. HF_EUNSAFE: there is no transaction, the engine is not InnoDB, or the
 * plan is not a unique lookup. HF_EINVAL (arguments; no such table or column),
 * HF_ENOMEM, HF_EAUTH, HF_EUNAVAIL (no answer: the transaction is gone with the
 * connection, also if the client library has made another; or the statement was
 * ended), HF_EPROTO, HF_MYSQL_EREFUSED.
 *
 * Blocks: as long as wait_ms says, and for the answers to some ten statements.
 * Isolation level, timeouts and savepoints are afterwards as they were.
 */
HF_API HF_MUST_CHECK int hf_mysql_lock_row(MYSQL *db, const hf_mysql_row *row,
                                           const hf_mysql_lock_opts *opts,
                                           hf_mysql_info *ret_info,
                                           hf_error *err);

/* ---- an update by version --------------------------------------------- */

/*
 * Compute the new values from the old, both in the order of
 * hf_mysql_update.columns. new_values come as HF_MYSQL_UNSET; what stays so is
 * not written. Integers come as HF_MYSQL_INT, what is too large for it and all
 * else as HF_MYSQL_TEXT, HF_MYSQL_BYTES or HF_MYSQL_NULL. The old values live
 * until the call returns; so must what the new ones point to, which may be the
 * old ones'. Runs on the caller's thread, once for each time that the row is
 * read, so without lasting effects; it must not use the connection.
 * Return 0 to write, anything else for HF_MYSQL_DECLINED.
 */
typedef int (*hf_mysql_change_fn)(void *arg, const hf_mysql_value *old_values,
                                  hf_mysql_value *new_values);

typedef struct hf_mysql_update {
    size_t size;                /* sizeof(hf_mysql_update) */
    const char *version;        /* the column: an integer, DATETIME(6) or
                                   TIMESTAMP(6); NOT NULL; whoever changes
                                   the row changes it, too */
    const char *const *columns; /* what is read and may be written */
    int n_columns;
    hf_mysql_change_fn change;
    void *arg;
    const char *deleted; /* a number or a time that is neither NULL nor 0 in a
                            row that was deleted softly; NULL: no such column */
    int retries;         /* after a conflict, each a little later, by chance */
    int64_t limit_ms;    /* no retry begins later; and the longest wait for a
                            row that somebody has locked, in whole seconds */
} hf_mysql_update;
#define HF_MYSQL_UPDATE_INIT                                                   \
    {                                                                          \
        sizeof(hf_mysql_update), NULL, NULL, 0, NULL, NULL, NULL, 10, 5000     \
    }

/*
 * Read a row, compute, and write it if nobody has written it meanwhile: its
 * version is still the one that was read. A number rises by one; a stamp
 * becomes the server's time, but always later than it was. If somebody has,
 * all of that again, up to `retries` times.
 *
 * With autocommit each try is a transaction of its own. In a transaction of
 * the caller's the row is locked as it is read (as hf_mysql_lock_row()), so
 * that an older snapshot is never taken for the row; it stays locked until the
 * transaction ends, and no retry is needed.
 *
 * Gives: HF_OK, written once. HF_CONFLICT: others were quicker each time;
 * nothing was written. HF_MYSQL_GONE: no such row, or it is deleted.
 * HF_MYSQL_DECLINED. HF_BUSY, HF_DEADLOCK: as hf_mysql_lock_row(); with
 * autocommit nothing was written. HF_EUNKNOWN: the answer to the write was
 * lost; it was sent once and is not sent again: read the row. HF_EUNAVAIL:
 * not written. HF_MYSQL_EREFUSED: the server refused it, err->native says why
 * (1062: a unique key has such a value). HF_EUNSAFE, also for a stamp coarser
 * than microseconds: who read it before another write of the same second would
 * overwrite that. HF_EINVAL (arguments, no such column, a version that is NULL,
 * of another type, or the largest of its type), HF_ENOMEM, HF_EAUTH, HF_EPROTO.
 *
 * Whether the connection has CLIENT_FOUND_ROWS makes no difference.
 * Blocks: up to limit_ms and one wait for a row beyond, and the callback.
 */
HF_API HF_MUST_CHECK int
hf_mysql_update_versioned(MYSQL *db, const hf_mysql_row *row,
                          const hf_mysql_update *update,
                          hf_mysql_info *ret_info, hf_error *err);

/* ---- a guard ----------------------------------------------------------- */

/*
 * The condition under which a write may happen that carries a fence of
 * hf_fence(): "`fence`<=17", for the WHERE of an UPDATE which also sets that
 * column to 17. So a holder that was replaced changes nothing once its
 * successor has written:
 *
 *     UPDATE job SET state='done', fence=17 WHERE id=5 AND `fence`<=17
 *
 * The column is BIGINT UNSIGNED NOT NULL DEFAULT 0; NULL refuses everybody. No
 * row changed is a refusal, or the row is not there; without CLIENT_FOUND_ROWS
 * also a write of what was there already. Any thread, no connection.
 * Gives: HF_OK and text with NUL in buf; HF_EINVAL (the column's name, fence 0,
 * no room) and "". 320 bytes are always enough.
 */
HF_API HF_MUST_CHECK int hf_mysql_guard_sql(char *buf, size_t size,
                                            const char *column, uint64_t fence,
                                            hf_error *err);

#ifdef __cplusplus
}
#endif

#endif
