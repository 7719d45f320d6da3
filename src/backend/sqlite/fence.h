/* SPDX-License-Identifier: MIT */
/*
 * Fences that rise through a power failure although commits are not synced.
 *
 * A fence is max(stored + 1, the wall clock, base). No fence is given out
 * above a ceiling that is on the disk for certain: raising it is the one
 * commit that is synced, about once a minute. After a restart what was stored
 * last may be gone, so the base becomes the old ceiling + 1, above all that
 * can have been given out, whatever the wall clock says. Thread: the
 * session's.
 */
#ifndef HF_BACKEND_SQLITE_FENCE_H
#define HF_BACKEND_SQLITE_FENCE_H

#include "src/backend/sqlite/sqlite.h"

/* Read base and ceiling; after a restart, begin a new base. SQLITE_OK, or
 * what was wrong: nothing was applied. */
HF_MUST_CHECK int hf__fence_open(struct hf__sqlite *s);

/* The next fence of a name is not below it. */
int64_t hf__fence_floor(struct hf__sqlite *s, bool has_record);
/* May this one be given out? If not, it is above the ceiling; s->fence_wanted
 * is set, the transaction must be undone, the ceiling be raised, and all be
 * tried again. */
HF_MUST_CHECK bool hf__fence_may_be(struct hf__sqlite *s, uint64_t fence);

/* In the transaction that deletes records: their highest fence. The next one
 * of a name without a record is above it, whatever the clock says. SQLITE_OK,
 * or what went wrong. */
HF_MUST_CHECK int hf__fence_forget(struct hf__sqlite *s, uint64_t highest);

/* Outside a transaction: raise the ceiling well above s->fence_wanted. */
HF_MUST_CHECK int hf__fence_raise(struct hf__sqlite *s);

#endif
