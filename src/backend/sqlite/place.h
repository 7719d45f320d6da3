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
#ifndef HF_BACKEND_SQLITE_PLACE_H
#define HF_BACKEND_SQLITE_PLACE_H

#include "src/backend/local/ground.h"
#include "src/base/time.h"

#include <sys/stat.h>
#include <sys/types.h>

enum hf__place_file { HF__FILE_DB, HF__FILE_WAL, HF__FILE_SHM, HF__FILE_SIDE };
#define HF__FILE_COUNT 4

struct hf__file_ids {
    struct hf__file_id file[HF__FILE_COUNT];
};

struct hf__place {
    struct hf__ground ground; /* mode: the database's, if it exists */
    char *folder;
    char *path[HF__FILE_COUNT]; /* absolute; FILE_DB is the URL's */
    char *journal;              /* what is there is none of ours */
    bool is_public;             /* everybody may make files in the folder */
    bool db_exists;
    struct hf__file_id folder_id;
};

/* What a session last saw of the folder; see hf__place_changed(). */
struct hf__place_watch {
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
HF_MUST_CHECK int hf__place_init(struct hf__place *place, const char *path,
                                 const char *allow, hf_error *err);
void hf__place_fini(struct hf__place *place);

/* Behind the door, before SQLite would: make the log and its index, without
 * content, or judge those that are there. The log gets the blocks that changes
 * need on a full disk. HF_EUNSAFE also if one is strange. */
HF_MUST_CHECK int hf__place_make_beside(const struct hf__place *place,
                                        hf_error *err);

/* Make the database file, empty, with the place's mode, unless it exists. The
 * caller sees to it that nobody in this process opens it meanwhile. */
HF_MUST_CHECK int hf__place_create_db(struct hf__place *place, hf_error *err);

void hf__place_ids(const struct hf__place *place, struct hf__file_ids *ret_ids);
/* The index of the first file that differs, or −1. A zero id in `expected`
 * means any. */
int hf__ids_differ(const struct hf__file_ids *expected,
                   const struct hf__file_ids *seen);

/* As hf__ids_differ() for what the watch expects; one system call as long as
 * nothing was made, removed or renamed in the folder, none for a look within
 * the last millisecond: that much later than the change a look can come in
 * any case, and who opens the replaced files is refused by the door. */
int hf__place_changed(const struct hf__place *place,
                      struct hf__place_watch *watch);

#endif
