/* SPDX-License-Identifier: MIT */
/*
 * The header of a database file: is it a database, whose is it, and in which
 * mode? It is checked before any file is made beside it and before SQLite gets
 * it, because hf__vfs_open() is right only for a database in WAL mode. The
 * header is read through SQLite's own VFS: closing a descriptor of ours would
 * drop the POSIX locks that other code in this process may have on the file.
 * Thread: any.
 */
#ifndef HF_BACKEND_SQLITE_VFS_H
#define HF_BACKEND_SQLITE_VFS_H

#include "src/backend/sqlite/dir.h"
#include "src/base/base.h"
#include "src/base/time.h"

#include <sqlite3.h>

#define HF__SQLITE_APPLICATION_ID 1212574827 /* "HFlk" */

/* Check the header; changes nothing. HF_OK, also if there is no file;
 * HF_EPROTO: not a database, or another program's; HF_EINVAL: the path is too
 * long for SQLite; HF_EAUTH, HF_EUNAVAIL, HF_ENOMEM. */
HF_MUST_CHECK int hf__header_look(const struct hf__sqlite_dir *sqlite_dir,
                                  hf_error *err);
/* With the open lock held, and log and index in place: turn an empty file into
 * an empty database in WAL mode, and put a database that was taken out of WAL
 * mode back into it. HF_OK; HF_EPROTO as above; HF_EUNSAFE: it was taken out of
 * WAL mode and has a journal that may count, or as hf__sqlite_dir_make_log();
 * HF_EUNAVAIL, also if another program has it locked until the deadline;
 * HF_EAUTH, HF_ENOMEM. */
HF_MUST_CHECK int hf__header_prepare(const struct hf__sqlite_dir *sqlite_dir,
                                     hf__time deadline, hf_error *err);

/* HF_EPROTO: "… is another program's database; …" */
HF_MUST_CHECK int
hf__header_fail_foreign(const struct hf__sqlite_dir *sqlite_dir, hf_error *err);

/* As sqlite3_open_v2(), for an absolute path, with SQLite's own VFS except that
 * by name it finds, opens and deletes only the database and its write-ahead
 * log. SQLite plays a rollback journal back before it has read a
 * byte of the database, whoever made it, and deletes the further file that the
 * journal names. A database in WAL mode never has a journal that counts, so
 * ours is opened as if there were none. Temporary files still work: SQLite
 * opens them without a name, so that nobody can foresee it. */
HF_MUST_CHECK int hf__vfs_open(const char *path, int flags,
                               sqlite3 **ret_handle);

#endif
