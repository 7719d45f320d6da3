/* SPDX-License-Identifier: MIT */
/*
 * Grants that stand beside others: one row of holdfast_beside each, by key
 * and token. The fence of the name, above theirs, is in the name's record.
 * Here is how one is found and changed; when, is crowded.c's, and which of
 * them are in whose way entry.c's. Thread: the session's.
 */
#ifndef HF_BACKEND_SQLITE_BESIDE_H
#define HF_BACKEND_SQLITE_BESIDE_H

#include "src/backend/sqlite/row.h"

/* Find that of the token; fence 0: there is none. SQLITE_OK also then. */
HF_MUST_CHECK int hf__beside_get(struct hf__sqlite *s,
                                 const struct hf__key *key,
                                 const struct hf__token *token,
                                 struct hf__row *ret_row);
/* Write the whole row of an acquire's grant, with out->fence and out->slot. */
HF_MUST_CHECK int hf__beside_put(struct hf__sqlite *s, const struct hf__op *op,
                                 const struct hf__outcome *out, bool is_bound);
/* The rest of what the operation does to the row of its token. */
HF_MUST_CHECK int hf__beside_renew(struct hf__sqlite *s,
                                   const struct hf__op *op);
HF_MUST_CHECK int hf__beside_raise(struct hf__sqlite *s,
                                   const struct hf__op *op, uint64_t fence);
/* The fence of the name, to which it has risen. */
HF_MUST_CHECK int hf__name_raise(struct hf__sqlite *s,
                                 const struct hf__key *key, uint64_t fence);
HF_MUST_CHECK int hf__beside_leave(struct hf__sqlite *s,
                                   const struct hf__key *key,
                                   const struct hf__token *token);
/* Rows of grants that an operator ends stay, so that their holders can hear
 * it. fence 0: all of the name. */
HF_MUST_CHECK int hf__beside_break(struct hf__sqlite *s,
                                   const struct hf__op *op);
/* Delete what ran out; with is_all also what counts as dead. The operation
 * took over if nobody had given that back. */
HF_MUST_CHECK int hf__beside_clear(struct hf__sqlite *s,
                                   const struct hf__op *op, bool is_all,
                                   struct hf__outcome *out);

/* After a change of the name's other rows: note in its record what there is
 * of them. is_freed: it was freed, too. */
HF_MUST_CHECK int hf__beside_mark(struct hf__sqlite *s,
                                  const struct hf__key *key, bool is_freed);

#endif
