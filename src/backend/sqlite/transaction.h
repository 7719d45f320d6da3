/* SPDX-License-Identifier: MIT */
/*
 * A change of the database as one transaction on s->db: beginning and
 * committing it; reserving disk space for it, so that a full disk costs no held
 * lock; and keeping fences rising through a power failure although commits are
 * not synced. Thread: the session's.
 */
#ifndef HF_BACKEND_SQLITE_TRANSACTION_H
#define HF_BACKEND_SQLITE_TRANSACTION_H

#include "src/backend/sqlite/sqlite.h"

/* Called first in each call: set its deadline and its error. */
void hf__sqlite_begin(struct hf__sqlite *s, hf__time deadline, hf_error *err);
/* Were the opened files replaced or removed? s->moved_file says which one. */
HF_MUST_CHECK bool hf__sqlite_has_moved(struct hf__sqlite *s);
/* Set s->now_us and s->wall_us, before any lease is judged by them. */
void hf__sqlite_set_clock(struct hf__sqlite *s);

/* ---- what one turn in the write queue does, in one transaction */

struct hf__txn {
    /* Called with the files checked and the clocks read. SQLITE_OK: commit;
     * SQLITE_DONE: there is nothing to commit; else the reason to undo
     * everything. */
    int (*fn)(struct hf__sqlite *s, void *arg);
    void *arg;
    bool is_modest;  /* may use the ballast on a full disk */
    bool is_unknown; /* out: whether the change lasts is unknown */
};

/* Run one transaction, and again after raising the ceiling, if that was needed.
 * SQLITE_OK, SQLITE_READONLY_DBMOVED, or SQLite's own reason. A failure undoes
 * the side effects, unless txn->is_unknown. */
HF_MUST_CHECK int hf__txn_once(struct hf__sqlite *s, struct hf__txn *txn);
/* The same in this writer's turn of the write queue. Where the disk is full it
 * makes room and tries again. */
HF_MUST_CHECK int hf__txn_queue(struct hf__sqlite *s, struct hf__txn *txn);
/* The status and text for an operation whose transaction failed with `rc`. */
int hf__txn_tell(const struct hf__sqlite *s, const struct hf__txn *txn, int rc,
                 hf_error *err);
/* The same for the session, in s->err; HF_OK: the session goes on. */
HF_MUST_CHECK int hf__txn_end(const struct hf__sqlite *s,
                              const struct hf__txn *txn, int rc);

/* ---- side effects */

/* Reserve as many as most batches need. HF_OK or HF_ENOMEM. */
HF_MUST_CHECK int hf__side_effects_reserve(struct hf__sqlite *s, hf_error *err);
/* SQLITE_OK or SQLITE_NOMEM. */
HF_MUST_CHECK int hf__side_effects_note(struct hf__sqlite *s,
                                        const struct hf__side_effect *);
/* Do all that were noted, and empty the list. */
void hf__side_effects_do(struct hf__sqlite *s);

/* ---- space
 *
 * A renewal changes pages that the database already has. It writes them to the
 * log, whose blocks were allocated when it was created (see dir.h). Once the
 * log was merged into the database, it is written from its start again. Merging
 * works on a full disk if the database has blocks for all its pages. So the
 * database gets these blocks before a change that grows it is committed, not
 * when the log is merged. Neither file gives back a block as long as there is a
 * page for it.
 *
 * Merging truncates the database behind its last page, and with that the blocks
 * which another writer allocated and has not committed yet. A writer that finds
 * this merges once more, so that the pages themselves are written. */

/* Begin a transaction that writes. Gives SQLite's code. */
HF_MUST_CHECK int hf__space_begin(struct hf__sqlite *s);

/* Commit the running transaction. SQLITE_OK, SQLITE_FULL, or SQLite's own
 * reason. */
HF_MUST_CHECK int hf__space_commit(struct hf__sqlite *s);

/* ---- fences
 *
 * A fence is max(stored + 1, the wall clock, base). No fence is given out above
 * a ceiling that is certainly on the disk. Raising the ceiling is the only
 * commit that is synced, about once a minute. After a restart the last stored
 * fences may be lost, so the base becomes the old ceiling + 1. That is above
 * every fence that was given out, whatever the wall clock says. */

/* The operation's fence needs a higher ceiling first: undo, raise, apply again.
 * SQLite itself gives this code only to programs that have callbacks. */
#define HF__SQLITE_RAISE_FIRST SQLITE_ABORT

/* Read base and ceiling; after a restart, begin a new base. SQLITE_OK, or what
 * went wrong, with nothing changed. */
HF_MUST_CHECK int hf__fence_open(struct hf__sqlite *s);

/* The lowest value that the name's next fence may have. */
int64_t hf__fence_floor(struct hf__sqlite *s, bool has_record);
/* May this fence be given out? False: it is above the ceiling, and
 * s->fence_wanted is set; the transaction must be undone, the ceiling raised,
 * and everything tried again. */
HF_MUST_CHECK bool hf__fence_may_be(struct hf__sqlite *s, uint64_t fence);

/* In the transaction that deletes records, `highest` being their highest fence:
 * make the next fence of a name without a record higher, whatever the clock
 * says. SQLITE_OK, or what went wrong. */
HF_MUST_CHECK int hf__fence_forget(struct hf__sqlite *s, uint64_t highest);

#endif
