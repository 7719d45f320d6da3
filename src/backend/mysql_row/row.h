/* SPDX-License-Identifier: MIT */
/*
 * The store mysql://…?scheme=row: SELECT … FOR UPDATE, whose lock is an open
 * transaction that has a row of holdfast_row locked, on a connection that has
 * nothing else. It is the store of scheme=session but for what is in row.c: who
 * has the row locked takes a user lock of the name as well, in the statement
 * that locks it, and by that everybody sees whose it is without touching the
 * row. Fences and holders are in holdfast_row_holder, written by connections
 * that have no lock, so that no end of a transaction takes one back.
 *
 * Thread: as session.h's.
 */
#ifndef HF_BACKEND_MYSQL_ROW_ROW_H
#define HF_BACKEND_MYSQL_ROW_ROW_H

#include "src/backend/backend.h"

extern const struct hf__backend hf__mysql_row_backend;

#endif
