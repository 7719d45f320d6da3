/* SPDX-License-Identifier: MIT */
/*
 * Types of columns, and what a column had as a value for the caller. Thread:
 * any.
 */
#ifndef HF_ROWS_POSTGRES_VALUE_H
#define HF_ROWS_POSTGRES_VALUE_H

#include "include/holdfast-rows.h"
#include "src/base/base.h"

#include <libpq-fe.h>

/* The numbers that types have on every server. */
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

/* That column of the first row. It points into the result, or if they are
 * bytes to *ret_bytes, for PQfreemem(). HF_OK, HF_ENOMEM. */
HF_MUST_CHECK int hf__rows_pg_value(const PGresult *, int column,
                                    hf_row_value *ret_value,
                                    unsigned char **ret_bytes);

#endif
