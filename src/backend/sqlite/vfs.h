/* SPDX-License-Identifier: MIT */
/*
 * SQLite's way to files, less one thing: of what has a name it finds, opens
 * and deletes the database and its write-ahead log alone. SQLite plays a
 * rollback journal back before it has read a byte of the database, whoever
 * made it, and deletes the further file that is named in it. A database in
 * WAL mode never has one that counts, so for ours there is none. Temporary
 * files stay: they have no name that anybody could foresee.
 * Thread: any.
 */
#ifndef HF_BACKEND_SQLITE_VFS_H
#define HF_BACKEND_SQLITE_VFS_H

#include "src/base/base.h"

#include <sqlite3.h>

/* What stands below: the system's own. NULL: SQLite does not work. Forks are
 * forbidden by the caller; see base/fork.h. */
sqlite3_vfs *hf__vfs_below(void);
/* As sqlite3_open_v2(), for a path that is absolute. */
HF_MUST_CHECK int hf__vfs_open(const char *path, int flags,
                               sqlite3 **ret_handle);

#endif
