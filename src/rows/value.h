/* SPDX-License-Identifier: MIT */
/*
 * What a column had, as a value for the caller. Thread: any.
 */
#ifndef HF_ROWS_VALUE_H
#define HF_ROWS_VALUE_H

#include "include/holdfast-mysql.h"
#include "src/base/base.h"

/* It points into the row. */
hf_mysql_value hf__value_of(const MYSQL_FIELD *, const char *text,
                            unsigned long length);

#endif
