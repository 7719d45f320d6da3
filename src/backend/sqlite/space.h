/* SPDX-License-Identifier: MIT */
/*
 * The space that changes need on the disk, so that a full one takes no lock
 * that is held.
 *
 * A renewal changes pages that the database has. It writes them to the log,
 * whose blocks are used again once it was merged into the database; and that
 * can be merged on a full disk if the database has blocks for all its pages.
 * So it gets them before a change that makes it grow is committed, not when
 * the log is merged, and neither file ever gives a block back for which there
 * is a page. Thread: the session's.
 */
#ifndef HF_BACKEND_SQLITE_SPACE_H
#define HF_BACKEND_SQLITE_SPACE_H

#include "src/backend/sqlite/sqlite.h"

/* In a transaction, before its commit. SQLITE_OK, SQLITE_FULL, or why it can't
 * be known. */
HF_MUST_CHECK int hf__space_take(struct hf__sqlite *s);
/* After the commit: somebody else's program may have merged the log just
 * before, and cut off what no page needed yet. */
void hf__space_settle(struct hf__sqlite *s);

/* After a change that found no room, outside of a transaction: is it worth
 * trying again? is_modest: it only goes on with what is held, and may use up
 * the ballast. */
bool hf__space_make(struct hf__sqlite *s, bool is_modest);

#endif
