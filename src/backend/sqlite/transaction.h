/* SPDX-License-Identifier: MIT */
/*
 * A change of the database, as a transaction that runs on s->db: beginning and
 * committing it, the space on the disk that it needs, so that a full one takes
 * no lock that is held, and fences that rise through a power failure although
 * commits are not synced. Thread: the session's.
 */
#ifndef HF_BACKEND_SQLITE_TRANSACTION_H
#define HF_BACKEND_SQLITE_TRANSACTION_H

#include "src/backend/sqlite/sqlite.h"

/* At the start of each call: its limits. */
void hf__sqlite_begin(struct hf__sqlite *s, hf__time deadline, hf_error *err);
/* Are the files no longer those that were opened? s->moved_file says which. */
HF_MUST_CHECK bool hf__sqlite_has_moved(struct hf__sqlite *s);
/* Set s->now_us and s->wall_us; before judging. */
void hf__sqlite_set_clock(struct hf__sqlite *s);

/* ---- a turn of the writers: what is changed in one transaction */

struct hf__txn {
    /* With the files in their place and the clocks read. SQLITE_OK: commit;
     * SQLITE_DONE: there is nothing to commit; or why all is to be undone. */
    int (*fn)(struct hf__sqlite *s, void *arg);
    void *arg;
    bool is_modest;  /* on a full disk it may have the ballast */
    bool is_unknown; /* afterwards: whether it lasts nobody knows */
};

/* One transaction, or as many as it takes to raise the ceiling first.
 * SQLITE_OK, SQLITE_READONLY_DBMOVED, or SQLite's own reason. If it failed,
 * deeds are undone, unless that is not known. */
HF_MUST_CHECK int hf__txn_once(struct hf__sqlite *s, struct hf__txn *txn);
/* The same in the order of coming, and again where the disk is full, once room
 * was made. */
HF_MUST_CHECK int hf__txn_queue(struct hf__sqlite *s, struct hf__txn *txn);
/* What an operation in it is told, of one that failed so. */
int hf__txn_tell(const struct hf__sqlite *s, const struct hf__txn *txn, int rc,
                 hf_error *err);
/* And the session, in s->err; HF_OK: it goes on. */
HF_MUST_CHECK int hf__txn_end(const struct hf__sqlite *s,
                              const struct hf__txn *txn, int rc);

/* ---- deeds */

/* As many as a batch has in most cases. HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__side_effects_reserve(struct hf__sqlite *s, hf_error *err);
/* SQLITE_OK or SQLITE_NOMEM. */
HF_MUST_CHECK int hf__side_effects_note(struct hf__sqlite *s,
                                        const struct hf__side_effect *);
/* All of them, and none is left. */
void hf__side_effects_do(struct hf__sqlite *s);

/* ---- space
 *
 * A renewal changes pages that the database has. It writes them to the log,
 * which has blocks from its beginning on, see dir.h, and is written from its
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

#endif
