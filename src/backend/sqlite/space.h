/* SPDX-License-Identifier: MIT */
/*
 * The space that changes need on the disk, so that a full one takes no lock
 * that is held.
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
 * pages themselves are there.
 * Thread: the session's.
 */
#ifndef HF_BACKEND_SQLITE_SPACE_H
#define HF_BACKEND_SQLITE_SPACE_H

#include "src/backend/sqlite/sqlite.h"

/* Begin a transaction that writes. SQLite's reason. */
HF_MUST_CHECK int hf__space_begin(struct hf__sqlite *s);

/* Commit the transaction that runs. SQLITE_OK, SQLITE_FULL, or SQLite's own
 * reason. */
HF_MUST_CHECK int hf__space_commit(struct hf__sqlite *s);

/* After a change that found no room, outside of a transaction: so that the
 * next one begins at the start of the log, if nobody reads in it. */
void hf__space_merge(struct hf__sqlite *s);

#endif
