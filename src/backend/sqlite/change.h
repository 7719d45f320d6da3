/* SPDX-License-Identifier: MIT */
/*
 * A change of the database, as a transaction that runs on s->db: beginning and
 * committing it, the space on the disk that it needs, so that a full one takes
 * no lock that is held, and fences that rise through a power failure although
 * commits are not synced. Thread: the session's.
 */
#ifndef HF_BACKEND_SQLITE_CHANGE_H
#define HF_BACKEND_SQLITE_CHANGE_H

#include "src/backend/sqlite/sqlite.h"

/* At the start of each call: its limits. */
void hf__sqlite_begin(struct hf__sqlite *s, hf__time deadline, hf_error *err);
/* Begin a transaction that writes, and read the clocks for it. SQLITE_OK; else
 * none runs: SQLITE_READONLY_DBMOVED (s->moved_file says which), or SQLite's
 * own reason. */
HF_MUST_CHECK int hf__sqlite_begin_write(struct hf__sqlite *s);

/* Are the files no longer those that were opened? s->moved_file says which. */
HF_MUST_CHECK bool hf__sqlite_has_moved(struct hf__sqlite *s);
/* "PATH-wal was deleted, cut off or replaced while in use; …" */
HF_MUST_CHECK int hf__sqlite_fail_moved(const struct hf__sqlite *s, int file,
                                        hf_error *err);
/* Set s->now_us and s->wall_us; before judging. */
void hf__sqlite_set_clock(struct hf__sqlite *s);

/* After a commit that failed: may the change be in force all the same, later?
 * Then nobody knows, as the text of HF_EUNKNOWN says: of which file, and why.
 */
bool hf__sqlite_may_last(const struct hf__sqlite *s, int rc);
#define HF__SQLITE_PERHAPS                                                     \
    "%s could not be written (%s); whether the change will last is not known"

/* ---- space
 *
 * A renewal changes pages that the database has. It writes them to the log,
 * which has blocks from its beginning on, see place.h, and is written from its
 * start again once it was merged into the database; and that can be merged on
 * a full disk if the database has blocks for all its pages. So it gets them
 * before a change that makes it grow is committed, not when the log is merged,
 * and neither file ever gives a block back for which there is a page.
 *
 * Merging cuts the database off behind its last page, also what another has
 * taken and not yet committed; who finds it so merges once more, so that the
 * pages themselves are there. */

/* Begin a transaction that writes. SQLite's reason. */
HF_MUST_CHECK int hf__space_begin(struct hf__sqlite *s);

/* Commit the transaction that runs. SQLITE_OK, SQLITE_FULL, or SQLite's own
 * reason. */
HF_MUST_CHECK int hf__space_commit(struct hf__sqlite *s);

/* After a change that found no room, outside of a transaction: so that the
 * next one begins at the start of the log, if nobody reads in it. */
void hf__space_merge(struct hf__sqlite *s);

/* ---- fences
 *
 * A fence is max(stored + 1, the wall clock, base). No fence is given out
 * above a ceiling that is on the disk for certain: raising it is the one
 * commit that is synced, about once a minute. After a restart what was stored
 * last may be gone, so the base becomes the old ceiling + 1, above all that
 * can have been given out, whatever the wall clock says. */

/* The fence that the operation would give needs a higher ceiling first: undo,
 * raise, apply again. SQLite itself gives this code to those who have callbacks
 * only. */
#define HF__SQLITE_RAISE_FIRST SQLITE_ABORT

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
