/* SPDX-License-Identifier: MIT */
/*
 * One call on the caller's PGconn: the state that its steps share, statements,
 * their errors, the types of columns, and a column's value for the caller.
 * Thread: the caller's.
 */
#ifndef HF_ROWS_POSTGRES_ASK_H
#define HF_ROWS_POSTGRES_ASK_H

#include "include/holdfast-postgres.h"
#include "include/holdfast-rows.h"
#include "src/base/base.h"
#include "src/rows/rows.h"

#include <libpq-fe.h>

/* The type numbers, which are the same on every server. */
enum hf__rows_pg_type {
    HF__PG_BOOL = 16,
    HF__PG_BYTEA = 17,
    HF__PG_INT8 = 20,
    HF__PG_INT2 = 21,
    HF__PG_INT4 = 23,
    HF__PG_FLOAT4 = 700,
    HF__PG_FLOAT8 = 701,
    HF__PG_DATE = 1082,
    HF__PG_TIMESTAMP = 1114,
    HF__PG_TIMESTAMPTZ = 1184,
    HF__PG_NUMERIC = 1700,
};

/* Get that column of the first row. The value points into the result or, if it
 * is bytes, to *ret_bytes, for PQfreemem(). HF_OK, HF_ENOMEM. */
HF_MUST_CHECK int hf__rows_pg_value(const PGresult *, int column,
                                    hf_row_value *ret_value,
                                    unsigned char **ret_bytes);

/* The most parameters of a statement: a key, columns, and a version. */
enum { HF__PG_VALUES = HF_ROW_KEY_MAX + HF_ROW_COLUMNS_MAX + 1 };

struct hf__pg {
    PGconn *db;
    struct hf__call call;
    struct hf__names names;
    bool is_inside;    /* in the caller's transaction */
    bool is_lost;      /* no answer came */
    bool is_open;      /* savepoint or own transaction */
    char patience[24]; /* the caller's lock_timeout, to be put back; or "" */
    struct hf__sql sql;
    /* The parameters' values. */
    int n;
    Oid types[HF__PG_VALUES];
    char *values[HF__PG_VALUES];
    int lengths[HF__PG_VALUES];
    int formats[HF__PG_VALUES];
};

/* Take the caller's pointers. The struct must not be moved afterwards. */
void hf__rows_pg_begin(struct hf__pg *, PGconn *, hf_row_info *ret_info,
                       hf_error *ret_err);
/* Check the arguments that every call has, and the connection; find out whether
 * there is a transaction. HF_OK, HF_EINVAL, HF_EUNAVAIL. */
HF_MUST_CHECK int hf__rows_pg_open(struct hf__pg *, const hf_row *);
/* End the call: the caller gets the info, and the error unless r is HF_OK.
 * Gives r. */
HF_MUST_CHECK int hf__rows_pg_end(struct hf__pg *, int r);

/* Run one statement, or several without parameters. HF_OK and the last result,
 * for PQclear(); or the status of the failure, with its text set. */
HF_MUST_CHECK int hf__rows_pg_run(struct hf__pg *, const char *words,
                                  PGresult **ret_result);
/* Run a statement whose result does not matter. */
HF_MUST_CHECK int hf__rows_pg_do(struct hf__pg *, const char *words);

/* Begin a new statement in s->sql, without parameters. */
void hf__rows_pg_clear(struct hf__pg *);
/* Run the statement that was built there. */
HF_MUST_CHECK int hf__rows_pg_send(struct hf__pg *, PGresult **ret_result);
/* Add a parameter, "$1"; its value has passed hf__rows_pg_check_value(). */
void hf__rows_pg_add_value(struct hf__pg *, const hf_row_value *);
void hf__rows_pg_add_text(struct hf__pg *, const char *text);
void hf__rows_pg_add_name(struct hf__sql *, const char *name);
/* Add "schema"."table". */
void hf__rows_pg_add_table(struct hf__pg *, struct hf__sql *);
/* Add " WHERE "a"=$1 AND …". */
void hf__rows_pg_add_key(struct hf__pg *);
/* Reject a value that PostgreSQL cannot store. HF_OK, HF_EINVAL. */
HF_MUST_CHECK int hf__rows_pg_check_value(struct hf__pg *, const char *name,
                                          const hf_row_value *);

static inline void hf__rows_pg_result_auto(PGresult **result)
{
    PQclear(*result);
}

#endif
