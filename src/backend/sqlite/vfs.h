/* SPDX-License-Identifier: MIT */
/*
 * What a database file begins with: is it one, whose, and in which mode? Asked
 * before anything is made beside it, and before SQLite is given the file, for
 * hf__vfs_open() is right for a database in WAL mode alone. Read through
 * SQLite's own VFS, as closing a descriptor of ours would drop the POSIX locks
 * that somebody else in this process may have on the file. Thread: any.
 */
#ifndef HF_BACKEND_SQLITE_VFS_H
#define HF_BACKEND_SQLITE_VFS_H

#include "src/backend/sqlite/dir.h"
#include "src/base/base.h"
#include "src/base/time.h"

#include <sqlite3.h>

#define HF__SQLITE_APPLICATION_ID 1212574827 /* "HFlk" */

/* Changes nothing. HF_OK, also if there is no file; HF_EPROTO: it is no
 * database, or another program's; HF_EUNSAFE: it was taken out of WAL mode,
 * and has a journal that may count; HF_EINVAL: SQLite takes no path as long;
 * HF_EAUTH, HF_EUNAVAIL, HF_ENOMEM. */
HF_MUST_CHECK int hf__header_look(const struct hf__sqlite_dir *sqlite_dir,
                                  hf_error *err);
/* With the open lock held, with log and index there: an empty file becomes an
 * empty database in WAL mode, one that was taken out of it is put back. Same
 * results.
 */
HF_MUST_CHECK int hf__header_prepare(const struct hf__sqlite_dir *sqlite_dir,
                                     hf__time deadline, hf_error *err);

/* HF_EPROTO: "… is another program's database; …" */
HF_MUST_CHECK int
hf__header_fail_foreign(const struct hf__sqlite_dir *sqlite_dir, hf_error *err);

/* As sqlite3_open_v2(), for a path that is absolute, by SQLite's way to files
 * less one thing: of what has a name it finds, opens and deletes the database
 * and its write-ahead log alone. SQLite plays a rollback journal back before it
 * has read a byte of the database, whoever made it, and deletes the further
 * file that is named in it. A database in WAL mode never has one that counts,
 * so for ours there is none. Temporary files stay: they have no name that
 * anybody could foresee. */
HF_MUST_CHECK int hf__vfs_open(const char *path, int flags,
                               sqlite3 **ret_handle);

#endif
