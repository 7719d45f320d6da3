/* SPDX-License-Identifier: MIT */
/*
 * Writing one operation's change into the transaction that runs. Thread: the
 * session's.
 */
#ifndef HF_BACKEND_SQLITE_COMMIT_H
#define HF_BACKEND_SQLITE_COMMIT_H

#include "src/backend/sqlite/sqlite.h"

/* The fence that the operation would give needs a higher ceiling first: undo,
 * raise, apply again. See fence.h. SQLite itself gives this code to those who
 * have callbacks only. */
#define HF__SQLITE_RAISE_FIRST SQLITE_ABORT

/* After a commit that failed: may the change be in force all the same, later?
 * Then nobody knows, as the text of HF_EUNKNOWN says: of which file, and why.
 */
bool hf__sqlite_may_last(const struct hf__sqlite *s, int rc);
#define HF__SQLITE_PERHAPS                                                     \
    "%s could not be written (%s); whether the change will last is not known"

/* The engine's commit: HF_OK, or HF__ABORTED with the reason in s->rc. */
int hf__sqlite_commit(void *s, const struct hf__op *op, struct hf__name *,
                      struct hf__outcome *);
/* What one statement does without reading: the renewal, or the release where
 * nobody waits in line, of one who has the name alone. SQLITE_OK, also if it
 * was not that and nothing is done; or why not. */
HF_MUST_CHECK int hf__sqlite_commit_fast(struct hf__sqlite *s,
                                         const struct hf__op *op,
                                         struct hf__outcome *out,
                                         bool *ret_is_done);

#endif
