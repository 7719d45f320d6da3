/* SPDX-License-Identifier: MIT */
/*
 * Where a SQLite store lives: in four files beside each other in one folder. It
 * never uses a rollback journal, which would be a fifth. This file decides
 * whether locks are safe there (who may write to the folder, is it on a
 * network), which mode new files get, and whether the files that a session
 * opened are still the ones that their names lead to. It never opens a file
 * that SQLite has open, because closing the descriptor would drop SQLite's
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
    struct hf__dir dir; /* its mode is the database's, if that exists */
    char *folder;
    char *path[HF__FILE_COUNT]; /* absolute; FILE_DB is the URL's */
    char *journal;              /* path of a journal: we never make one */
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
 * Examine `path` and its folder. Gives HF_OK, HF_EINVAL (no path, or too long),
 * HF_EUNAVAIL (no such folder), HF_EAUTH, HF_EPROTO (not a file), HF_EUNSAFE,
 * HF_ENOMEM. The caller zeroes sqlite_dir first, and calls fini whatever the
 * result.
 */
HF_MUST_CHECK int hf__sqlite_dir_init(struct hf__sqlite_dir *sqlite_dir,
                                      const char *path, const char *allow,
                                      hf_error *err);
void hf__sqlite_dir_fini(struct hf__sqlite_dir *sqlite_dir);

/* With the open lock held, before SQLite would do it: create the log and its
 * index, both empty, or check the ones that exist. The log gets the disk blocks
 * that changes need on a full disk. HF_EUNSAFE also if either file fails the
 * check. */
HF_MUST_CHECK int
hf__sqlite_dir_make_log(const struct hf__sqlite_dir *sqlite_dir, hf_error *err);

/* Create the database file, empty and with the mode in sqlite_dir, unless it
 * exists. The caller makes sure that no other thread of this process opens it
 * meanwhile. */
HF_MUST_CHECK int hf__sqlite_dir_create_db(struct hf__sqlite_dir *sqlite_dir,
                                           hf_error *err);

void hf__sqlite_dir_ids(const struct hf__sqlite_dir *sqlite_dir,
                        struct hf__file_ids *ret_ids);
/* Give the index of the first file that differs, or −1. A zero id in `expected`
 * matches any file. */
int hf__ids_differ(const struct hf__file_ids *expected,
                   const struct hf__file_ids *seen);

/* As hf__ids_differ() for what the watch expects. It takes one system call as
 * long as no file was made, removed or renamed in the folder, and none within a
 * millisecond of the last check. That delay is harmless: a check may come that
 * much later than the change in any case, and the open lock refuses sessions
 * that open the replaced files. */
int hf__sqlite_dir_changed(const struct hf__sqlite_dir *sqlite_dir,
                           struct hf__sqlite_dir_watch *watch);

/* ---- PATH-holdfast, the side file
 *
 * This store keeps four things in it beside the common ones (local/side.h). The
 * identities of the database, -wal and -shm that belong together, so that a
 * file replaced while in use is noticed. The write queue. The open lock, which
 * lets in one opener at a time and belongs to the thread that took it. The
 * ballast. */

struct hf__local;

/* The part of the layout that belongs to this store. */
struct hf__sqlite_side {
    struct hf__file_ids ids; /* read and written with the open lock held only */
    struct hf__write_queue write_queue;
};

/* The offset of one of its members in the layout. */
#define HF__SQLITE_SIDE_OFFSET(member)                                         \
    (HF__SIDE_OFFSET(own) + offsetof(struct hf__sqlite_side, member))

/* Excludes all others that open or close the store; see
 * hf__open_lock_take(). */
struct hf__open_lock {
    int fd;
    bool has_others; /* some process, perhaps this one, uses the store */
    struct hf__file_id id;
};

/*
 * Create the side file if it is missing, and wait for the open lock. Gives
 * HF_OK, HF_EUNAVAIL (deadline, disk full), HF_EAUTH, HF_EPROTO (not a file),
 * HF_EUNSAFE (a symbolic link, or a stranger's file), HF_ENOMEM.
 */
HF_MUST_CHECK int hf__open_lock_take(const struct hf__sqlite_dir *sqlite_dir,
                                     struct hf__head *head, hf__time deadline,
                                     struct hf__open_lock *ret_open_lock,
                                     hf_error *err);
/* Does nothing if the lock is not taken (fd −1). */
void hf__open_lock_release(struct hf__open_lock *open_lock);
/* With the open lock held: get this process's object for the side file, and
 * find out whether others use the store. Results as hf__side_get(). */
HF_MUST_CHECK int hf__open_lock_enter(const struct hf__sqlite_dir *sqlite_dir,
                                      struct hf__open_lock *open_lock,
                                      struct hf__local *s, hf_error *err);

/* Give the ballast back to the disk. The ballast is a range of blocks behind
 * the layout, kept for one purpose: when the disk is full, a renewal that finds
 * no blocks can use them, unless another program takes them first. The next
 * session that opens the store allocates them again. */
void hf__side_drop_ballast(struct hf__side *side);

static inline struct hf__write_queue_at
hf__side_write_queue(const struct hf__side *side)
{
    return (struct hf__write_queue_at){&side->words,
                                       HF__SQLITE_SIDE_OFFSET(write_queue)};
}

#endif
