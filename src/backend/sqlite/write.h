/* SPDX-License-Identifier: MIT */
/*
 * Writing what a decision marked, a row at a time, into the transaction that
 * runs. All give SQLITE_OK, or why it has to be undone. Thread: the session's.
 */
#ifndef HF_BACKEND_SQLITE_WRITE_H
#define HF_BACKEND_SQLITE_WRITE_H

#include "src/backend/sqlite/sqlite.h"

/* In holdfast_beside: it is not one who has the name alone. */
bool hf__has_row_of_its_own(const struct hf__participant *g);
/* The row of one that has its own; of a ticket. */
HF_MUST_CHECK int hf__write_grant(struct hf__sqlite *s,
                                  const struct hf__key *key,
                                  const struct hf__participant *g);
HF_MUST_CHECK int hf__write_ticket(struct hf__sqlite *s,
                                   const struct hf__key *key,
                                   const struct hf__participant *t);
/* The name's own, after all the others. has_moved: of these some came or
 * went. */
HF_MUST_CHECK int hf__write_name(struct hf__sqlite *s,
                                 const struct hf__key *key, bool has_moved);

/* Without reading, of one who has the name alone; sqlite3_changes() tells
 * whether there was one. The release: if nobody waits in line. */
HF_MUST_CHECK int hf__write_renewal(struct hf__sqlite *s,
                                    const struct hf__op *op);
HF_MUST_CHECK int hf__write_release(struct hf__sqlite *s,
                                    const struct hf__op *op);

#endif
