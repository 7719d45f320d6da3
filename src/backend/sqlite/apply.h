/* SPDX-License-Identifier: MIT */
/*
 * One operation inside the running transaction. Thread: the session's.
 */
#ifndef HF_BACKEND_SQLITE_APPLY_H
#define HF_BACKEND_SQLITE_APPLY_H

#include "src/backend/sqlite/row.h"

/* The fence that the operation would give needs a higher ceiling first: undo,
 * raise, apply again. See fence.h. SQLite itself gives this code to those who
 * have callbacks only. */
#define HF__SQLITE_RAISE_FIRST SQLITE_ABORT

/*
 * Apply op and note in `out` what is to be said and done once the commit is
 * answered; the operation itself stays as it was, except for the texts of its
 * record and error. SQLITE_OK, or a code after which the transaction must be
 * undone.
 */
HF_MUST_CHECK int hf__apply(struct hf__sqlite *s, const struct hf__op *op,
                            struct hf__outcome *out);

/* The answers that are no outcome of any kind, for what a grant's standing
 * does not let anybody judge: HF_OK if there is none. */
HF_MUST_CHECK int hf__refuse(const struct hf__op *op,
                             enum hf__standing standing);
/* The grant dies with this process: it is remembered before the record can be
 * seen, and forgotten by batch.c if it never is. False: it does not. */
bool hf__bind_to_life(struct hf__sqlite *s, const struct hf__op *op,
                      const struct hf__token *token, struct hf__outcome *out);
/* A grant comes in the place of what the name's own record has: that one is
 * forgotten here, and was taken over if it is another's. */
void hf__note_last_holder(const struct hf__op *op, const struct hf__row *row,
                          struct hf__outcome *out);
/* It kept the name closed for itself, and its lease ran out. */
bool hf__is_own_keeping(const struct hf__op *op, const struct hf__row *row);

#endif
