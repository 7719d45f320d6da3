/* SPDX-License-Identifier: MIT */
/*
 * The store mysql://…?scheme=row. A lock is a row of holdfast_row, locked by
 * SELECT … FOR UPDATE in an open transaction, on a connection that has nothing
 * else. The store is that of scheme=session except for what is in row.c. The
 * statement that locks the row also takes a user lock of the name, by which
 * everybody sees who the holder is without touching the row. Fences and holders
 * are in holdfast_row_holder, written by connections that have no lock, so that
 * no rollback takes them back.
 *
 * Thread: as session.h's.
 */
#ifndef HF_BACKEND_MYSQL_ROW_ROW_H
#define HF_BACKEND_MYSQL_ROW_ROW_H

#include "src/backend/backend.h"

extern const struct hf__backend hf__mysql_row_backend;

#endif
