/* SPDX-License-Identifier: MIT */
/*
 * What operations do where a name has, or gets, more than one holder at most:
 * grants beside others, and tickets. apply.c comes here only where it must: a
 * name without them costs what it costs with one holder. All give SQLITE_OK,
 * or a code after which the transaction must be undone. Thread: the session's.
 */
#ifndef HF_BACKEND_SQLITE_CROWDED_H
#define HF_BACKEND_SQLITE_CROWDED_H

#include "src/backend/sqlite/apply.h"
#include "src/backend/sqlite/row.h"

/* An acquire of a name whose record was just read, and whose token does not
 * own that record. out->result is HF_OK: granted, or (exclusive) it may be. */
HF_MUST_CHECK int hf__crowded_acquire(struct hf__sqlite *s,
                                      const struct hf__op *op,
                                      const struct hf__row *name,
                                      struct hf__outcome *out);
/* After an exclusive grant of a name that had more in its record: those who
 * are gone, and the token's ticket, are cleaned away. */
HF_MUST_CHECK int hf__crowded_settle(struct hf__sqlite *s,
                                     const struct hf__op *op,
                                     const struct hf__token *token,
                                     struct hf__outcome *out);
/* Renew, release, raise, hand-over by a token that does not own the name's
 * record. *ret_is_done: it was found beside others, and out is set. */
HF_MUST_CHECK int hf__crowded_owned(struct hf__sqlite *s,
                                    const struct hf__op *op,
                                    const struct hf__row *name,
                                    struct hf__outcome *out, bool *ret_is_done);
/* The releaser's ticket goes, if it has one. */
HF_MUST_CHECK int hf__crowded_leave_line(struct hf__sqlite *s,
                                         const struct hf__op *op,
                                         struct hf__outcome *out);
/* Of a name with a line: is anybody in it but the one to whom a holder hands
 * over? */
HF_MUST_CHECK int hf__crowded_is_awaited(struct hf__sqlite *s,
                                         const struct hf__op *op,
                                         bool *ret_is_awaited);
/* Break the grants beside others that are meant. *ret_is_any: there were
 * some. With a fence, the record is told of that one. */
HF_MUST_CHECK int hf__crowded_break(struct hf__sqlite *s,
                                    const struct hf__op *op, bool *ret_is_any);
/* After a release or a break of a name with more in its record: who is to be
 * told? */
HF_MUST_CHECK int hf__crowded_freed(struct hf__sqlite *s,
                                    const struct hf__op *op,
                                    struct hf__outcome *out);

#endif
