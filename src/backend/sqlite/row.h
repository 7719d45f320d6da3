/* SPDX-License-Identifier: MIT */
/*
 * One row of a table: reading it into s->name, judged by this kernel's clock
 * and by what the kernel knows of the holder. Thread: the session's.
 */
#ifndef HF_BACKEND_SQLITE_ROW_H
#define HF_BACKEND_SQLITE_ROW_H

#include "src/backend/sqlite/sqlite.h"

/* Set s->now_us and s->wall_us; before judging. */
void hf__sqlite_set_clock(struct hf__sqlite *s);

/* The row on which the statement stands: a name's own, a grant beside others, a
 * ticket. SQLITE_OK or SQLITE_NOMEM. */
HF_MUST_CHECK int hf__row_read_name(struct hf__sqlite *s,
                                    sqlite3_stmt *statement);
HF_MUST_CHECK int hf__row_read_grant(struct hf__sqlite *s,
                                     sqlite3_stmt *statement);
HF_MUST_CHECK int hf__row_read_ticket(struct hf__sqlite *s,
                                      sqlite3_stmt *statement, bool with_owner);

#endif
