/* SPDX-License-Identifier: MIT */
/*
 * Is there one row of such a key at most, and do others see the table? By the
 * catalog. Thread: the caller's.
 */
#ifndef HF_ROWS_POSTGRES_TABLE_H
#define HF_ROWS_POSTGRES_TABLE_H

#include "src/rows/postgres/ask.h"

/* HF_OK; HF_EUNSAFE; HF_EINVAL: no such table or column. */
HF_MUST_CHECK int hf__rows_pg_table_check(struct hf__pg *);

#endif
