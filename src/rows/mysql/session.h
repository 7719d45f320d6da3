/* SPDX-License-Identifier: MIT */
/*
 * What of the caller's session matters: whether it is in a transaction, and
 * how long it waits for a lock. What is changed is put back. Thread: the
 * caller's.
 */
#ifndef HF_ROWS_MYSQL_SESSION_H
#define HF_ROWS_MYSQL_SESSION_H

#include "src/rows/mysql/ask.h"

struct hf__patience {
    char row[24]; /* the session's own, to be put back */
    char table[24];
    bool is_set;
};

/* Finds out whether there is a transaction: s->is_inside. */
HF_MUST_CHECK int hf__session_look(struct hf__rows *);
/* A mark in the transaction, which goes with it if the server rolls it back. */
HF_MUST_CHECK int hf__session_mark(struct hf__rows *);
/* Takes the mark away: info.in_transaction. */
void hf__session_unmark(struct hf__rows *);
/* Says of r that the transaction went with it, if it did. Gives r. */
HF_MUST_CHECK int hf__session_tell(struct hf__rows *, int r);

/* From now on no lock is waited for longer than that; HF_FOREVER: than the
 * session says. */
HF_MUST_CHECK int hf__patience_begin(struct hf__rows *, struct hf__patience *,
                                     int64_t wait_ms);
/* Puts back what was. Gives r, or the failure to do that. */
HF_MUST_CHECK int hf__patience_end(struct hf__rows *, struct hf__patience *,
                                   int r);

#endif
