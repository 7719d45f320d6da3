/* SPDX-License-Identifier: MIT */
/*
 * What a column had, as a value for the caller; and the way back. Thread: any.
 */
#ifndef HF_ROWS_MYSQL_VALUE_H
#define HF_ROWS_MYSQL_VALUE_H

#include "include/holdfast-mysql.h"
#include "src/rows/sql.h"

/* It points into the row. */
hf_row_value hf__value_of(const MYSQL_FIELD *, const char *text,
                          unsigned long length);
/* A value that hf__sql_check_value() has passed; its text is in that character
 * set. */
void hf__value_add(struct hf__sql *, const hf_row_value *, const char *charset);

#endif
