/* SPDX-License-Identifier: MIT */
/*
 * Where a SQLite store lives: four files beside each other in one folder, and
 * never a fifth: a rollback journal.
 * Decides whether that place can be trusted with locks (who may write there,
 * is it on a network), with which mode new files are made, and whether the
 * files that a session opened are still the ones that the names lead to.
 * Never opens a file that SQLite has open: closing it would drop SQLite's
 * POSIX locks. Thread: any.
 */
#ifndef HF_BACKEND_SQLITE_DIR_H
#define HF_BACKEND_SQLITE_DIR_H

#include "src/backend/local/side.h"
#include "src/backend/sqlite/write_queue.h"
#include "src/base/time.h"

#include <sys/stat.h>
#include <sys/types.h>

enum hf__sqlite_file { HF__FILE_DB, HF__FILE_WAL, HF__FILE_SHM, HF__FILE_SIDE };
#define HF__FILE_COUNT 4

struct hf__file_ids {
    struct hf__file_id file[HF__FILE_COUNT];
};

struct hf__sqlite_dir {
    struct hf__dir dir; /* mode: the database's, if it exists */
    char *folder;
    char *path[HF__FILE_COUNT]; /* absolute; FILE_DB is the URL's */
    char *journal;              /* what is there is none of ours */
    bool is_public;             /* everybody may make files in the folder */
    bool db_exists;
    struct hf__file_id folder_id;
};

/* What a session last saw of the folder; see hf__sqlite_dir_changed(). */
struct hf__sqlite_dir_watch {
    struct hf__file_ids expected;
    hf__time looked_at;
    int64_t folder_mtime_ns;
    bool is_settled;
};

/*
 * Look at `path` and its folder. Gives HF_OK, HF_EINVAL (no path, too long),
 * HF_EUNAVAIL (no such folder), HF_EAUTH, HF_EPROTO (not a file), HF_EUNSAFE,
 * HF_ENOMEM. place is to be zeroed before and given to fini in any case.
 */
HF_MUST_CHECK int hf__sqlite_dir_init(struct hf__sqlite_dir *sqlite_dir,
                                      const char *path, const char *allow,
                                      hf_error *err);
void hf__sqlite_dir_fini(struct hf__sqlite_dir *sqlite_dir);

/* With the open lock held, before SQLite would: make the log and its index,
 * without content, or judge those that are there. The log gets the blocks that
 * changes need on a full disk. HF_EUNSAFE also if one is strange. */
HF_MUST_CHECK int
hf__sqlite_dir_make_log(const struct hf__sqlite_dir *sqlite_dir, hf_error *err);

/* Make the database file, empty, with the place's mode, unless it exists. The
 * caller sees to it that nobody in this process opens it meanwhile. */
HF_MUST_CHECK int hf__sqlite_dir_create_db(struct hf__sqlite_dir *sqlite_dir,
                                           hf_error *err);

void hf__sqlite_dir_ids(const struct hf__sqlite_dir *sqlite_dir,
                        struct hf__file_ids *ret_ids);
/* The index of the first file that differs, or −1. A zero id in `expected`
 * means any. */
int hf__ids_differ(const struct hf__file_ids *expected,
                   const struct hf__file_ids *seen);

/* As hf__ids_differ() for what the watch expects; one system call as long as
 * nothing was made, removed or renamed in the folder, none for a look within
 * the last millisecond: that much later than the change a look can come in
 * any case, and who opens the replaced files is refused by the open lock. */
int hf__sqlite_dir_changed(const struct hf__sqlite_dir *sqlite_dir,
                           struct hf__sqlite_dir_watch *watch);

/* ---- PATH-holdfast, the side file
 *
 * What it has for this store beside the rest (local/side.h). Identities: the
 * database, -wal and -shm that belong together, so that one which was replaced
 * while in use is noticed. The write queue. The open lock: one opener at a
 * time; it belongs to the thread that opened it. Ballast. */

struct hf__local;

extern const struct hf__side_kind hf__sqlite_side_kind;

/* What the layout has for this store. */
struct hf__sqlite_side {
    struct hf__file_ids ids; /* read and written with the open lock held only */
    struct hf__write_queue write_queue;
};

/* Where a part of that is. */
#define HF__SQLITE_SIDE_OFFSET(member)                                         \
    (HF__SIDE_OFFSET(own) + offsetof(struct hf__sqlite_side, member))

/* Exclusive among all who open or close the store; see hf__open_lock_take(). */
struct hf__open_lock {
    int fd;
    bool has_others; /* some process, perhaps this one, uses the store */
    struct hf__file_id id;
};

/*
 * Make the side file if need be and wait for the open lock. Gives HF_OK,
 * HF_EUNAVAIL (deadline, disk full), HF_EAUTH, HF_EPROTO (not a file),
 * HF_EUNSAFE (a symbolic link, a stranger's), HF_ENOMEM.
 */
HF_MUST_CHECK int hf__open_lock_take(const struct hf__sqlite_dir *sqlite_dir,
                                     struct hf__head *head, hf__time deadline,
                                     struct hf__open_lock *ret_open_lock,
                                     hf_error *err);
/* Takes an open lock that is not open (fd −1). */
void hf__open_lock_release(struct hf__open_lock *open_lock);
/* Behind an open lock: this process's object for the side file; who is inside
 * is known then. As hf__side_get(). */
HF_MUST_CHECK int hf__open_lock_enter(const struct hf__sqlite_dir *sqlite_dir,
                                      struct hf__open_lock *open_lock,
                                      struct hf__local *s, hf_error *err);

/* Behind the layout the file has blocks that are of no use but one: given back
 * to the disk when it is full, they are for a renewal that there are no
 * blocks for, unless others are faster. The next who opens the store takes them
 * up again. */
void hf__side_drop_ballast(struct hf__side *side);

static inline struct hf__write_queue_at
hf__side_write_queue(const struct hf__side *side)
{
    return (struct hf__write_queue_at){&side->words,
                                       HF__SQLITE_SIDE_OFFSET(write_queue)};
}

#endif
