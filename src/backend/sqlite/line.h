/* SPDX-License-Identifier: MIT */
/*
 * The tickets of those who wait in line for a name: rows of holdfast_ticket,
 * in the order of `seq`. A ticket counts while its claim waits: its process's
 * life byte is locked, and its stamp on the board is fresh, which each look of
 * a wait renews without writing to the database. Where the stamp is of another
 * time namespace's clock, the byte alone decides. Thread: the session's.
 */
#ifndef HF_BACKEND_SQLITE_LINE_H
#define HF_BACKEND_SQLITE_LINE_H

#include "src/backend/sqlite/row.h"

enum hf__presence {
    HF__IN_LINE,  /* its claim waits */
    HF__PASSED,   /* it did not show itself lately; its place stays */
    HF__LEFT_LINE /* its process is gone, it was gone for long, or the row is
                     nothing that we wrote: may be deleted */
};

struct hf__ticket {
    enum hf__presence presence;
    struct hf__token token; /* all zero: none can be read */
    struct hf__manner manner;
    uint64_t life; /* of its process; 0: unknown */
};

/* The ticket in a row of HF__SQL_LINE; party may be NULL. */
void hf__line_read(const struct hf__sqlite *s, sqlite3_stmt *statement,
                   struct hf__ticket *ret_ticket, struct hf__party *party);
/* Is it there, in whatever state? */
HF_MUST_CHECK int hf__line_has(struct hf__sqlite *s, const struct hf__key *key,
                               const struct hf__token *token, bool *ret_has);
/* Give the acquire a ticket at the end, unless it has one. ret_is_new: it had
 * none, and got one. */
HF_MUST_CHECK int hf__line_join(struct hf__sqlite *s, const struct hf__op *op,
                                bool *ret_is_new);
/* ret_was_there may be NULL. */
HF_MUST_CHECK int hf__line_leave(struct hf__sqlite *s,
                                 const struct hf__key *key,
                                 const struct hf__token *token,
                                 bool *ret_was_there);

/* The claim of that ticket is there now. */
void hf__line_show(const struct hf__sqlite *s, const struct hf__token *token);
/* Without SQL: has the claim, last seen waiting, gone or been stopped? */
bool hf__line_has_gone(const struct hf__sqlite *s,
                       const struct hf__ticket *ticket);

#endif
