/* SPDX-License-Identifier: MIT */
/*
 * What holdfast-mysql.h and holdfast-postgres.h have in common: how to name a
 * row, what to do with it, and how that went. Each of them includes this header
 * and adds the calls for its own kind of connection; a program may use both.
 *
 * Statuses are those of holdfast.h and of hf_row_status: 0 is success, above 0
 * an outcome that the caller must handle, below 0 a failure to forward.
 */
#ifndef HOLDFAST_ROWS_H
#define HOLDFAST_ROWS_H

#include "holdfast.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HF_ROW_STATUS_MAP(X)                                                   \
    X(HF_ROW_GONE, 101, "there is no such row")                                \
    X(HF_ROW_DECLINED, 102, "the callback did not want the change")            \
    X(HF_ROW_EREFUSED, -101, "the server refused the statement")

/* Statuses that holdfast.h does not have. */
typedef enum hf_row_status {
#define HF_X(name, value, text) name = value,
    HF_ROW_STATUS_MAP(HF_X)
#undef HF_X
} hf_row_status;

/* Limits; HF_EINVAL beyond them. */
#define HF_ROW_KEY_MAX     16 /* columns of a key */
#define HF_ROW_COLUMNS_MAX 64 /* columns that one update changes */
#define HF_ROW_WAIT_MAX_MS 86400000
#define HF_ROW_RETRIES_MAX 1000

typedef enum hf_row_type {
    HF_ROW_UNSET = 0, /* a new value: leave the column as it is */
    HF_ROW_NULL = 1,  /* not in a key */
    HF_ROW_INT = 2,   /* number */
    HF_ROW_TEXT = 3,  /* length bytes in the connection's character set */
    HF_ROW_BYTES = 4  /* length bytes as they are, for a column of bytes */
} hf_row_type;

/* One value; it borrows its bytes. These two structs stay as they are. */
typedef struct hf_row_value {
    hf_row_type type;
    int64_t number;
    const void *bytes;
    size_t length;
} hf_row_value;

typedef struct hf_row_column {
    const char *name;
    hf_row_value value;
} hf_row_column;

/* Names a row. The columns of `key` must cover a unique index: the primary key,
 * or a UNIQUE one. */
typedef struct hf_row {
    size_t size;          /* sizeof(hf_row) */
    const char *database; /* PostgreSQL: the schema; NULL: the connection's */
    const char *table;    /* not a view, not a temporary table */
    const hf_row_column *key;
    int n_key;
} hf_row;
#define HF_ROW_INIT                                                            \
    {                                                                          \
        sizeof(hf_row), NULL, NULL, NULL, 0                                    \
    }

/* How the call went. It is filled whatever the status, and optional: pass
 * NULL. */
typedef struct hf_row_info {
    size_t size;        /* sizeof(hf_row_info) */
    int in_transaction; /* 1: the caller's transaction is open, with all earlier
                           work in it; 0: there is none, or the server rolled it
                           back, or (PostgreSQL) it has failed and can only be
                           rolled back; -1: unknown */
    int tries;          /* of an update: how often the row was read */
    int64_t version;    /* of an update by a version column: the number that it
                           wrote, or tried to write last; else 0 */
} hf_row_info;
#define HF_ROW_INFO_INIT                                                       \
    {                                                                          \
        sizeof(hf_row_info), -1, 0, 0                                          \
    }

typedef struct hf_row_lock_opts {
    size_t size;     /* sizeof(hf_row_lock_opts) */
    int64_t wait_ms; /* how long to wait for a locked row: 0 tries once; up to
                        24 h; HF_FOREVER: as the session's own limit says */
    int skip_locked; /* 1, with wait_ms 0: use SKIP LOCKED, where the server
                        knows it. A locked row is then no error to the server */
} hf_row_lock_opts;
#define HF_ROW_LOCK_OPTS_INIT                                                  \
    {                                                                          \
        sizeof(hf_row_lock_opts), HF_FOREVER, 0                                \
    }

/*
 * Compute the new values from the old, both in the order of
 * hf_row_update.columns. Each new value comes as HF_ROW_UNSET; a value that
 * stays so is not written. Integers come as HF_ROW_INT; integers too large for
 * it and all other types come as HF_ROW_TEXT, HF_ROW_BYTES or HF_ROW_NULL. The
 * old values live until the row is written. Whatever the new values point to
 * must live as long, and may be the old values' bytes. The callback runs on the
 * caller's thread, once for each time that the row is read, so it must have no
 * lasting effects; it must not use the connection. Return 0 to write, anything
 * else for HF_ROW_DECLINED.
 */
typedef int (*hf_row_change_fn)(void *arg, const hf_row_value *old_values,
                                hf_row_value *new_values);

typedef struct hf_row_update {
    size_t size;                /* sizeof(hf_row_update) */
    const char *version;        /* the column: an integer, or a time in
                                   microseconds; NOT NULL; every change of the
                                   row must change it, too */
    const char *const *columns; /* columns that are read and may be written */
    int n_columns;
    hf_row_change_fn change;
    void *arg;
    const char *deleted; /* a number or a time, neither NULL nor 0 in a row that
                            was deleted softly; NULL: no such column */
    int retries;         /* after a conflict, with growing random pauses */
    int64_t limit_ms;    /* no retry begins later; also the longest wait for a
                            locked row */
} hf_row_update;
#define HF_ROW_UPDATE_INIT                                                     \
    {                                                                          \
        sizeof(hf_row_update), NULL, NULL, 0, NULL, NULL, NULL, 10, 5000       \
    }

#ifdef __cplusplus
}
#endif

#endif
