/* SPDX-License-Identifier: MIT */
/*
 * A VFS over the system's that knows no rollback journals; see vfs.h. Which
 * database may be opened so is for header.c to say. Called by SQLite, and by
 * whoever opens a connection.
 */
#include "src/backend/sqlite/vfs.h"

#include "src/base/fork.h"

#include <stdio.h>
#include <string.h>

/* Both are set once, with forks forbidden, which is one lock for all. */
static sqlite3_vfs *below;
static sqlite3_vfs shim;
/* This library's alone: a program may have two, one in a plugin. */
static char shim_name[32];

/* SQLite asks for no others by name but journals. */
static bool is_log(const char *name)
{
    size_t length = strlen(name);

    return length >= 4 && strcmp(name + length - 4, "-wal") == 0;
}

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file,
                     int flags, int *ret_flags)
{
    sqlite3_vfs *under = vfs->pAppData;

    if (name != NULL && !(flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL))) {
        file->pMethods = NULL;
        return SQLITE_CANTOPEN;
    }
    return under->xOpen(under, name, file, flags, ret_flags);
}

static int delete_file(sqlite3_vfs *vfs, const char *name, int sync_folder)
{
    sqlite3_vfs *under = vfs->pAppData;

    return is_log(name) ? under->xDelete(under, name, sync_folder) : SQLITE_OK;
}

static int find_file(sqlite3_vfs *vfs, const char *name, int how, int *ret_is)
{
    sqlite3_vfs *under = vfs->pAppData;

    *ret_is = 0;
    return is_log(name) ? under->xAccess(under, name, how, ret_is) : SQLITE_OK;
}

/* The path as it was judged: what has become a symbolic link since is not
 * followed, as it would be if it were resolved here. */
static int name_file(sqlite3_vfs *vfs, const char *name, int size, char *to)
{
    size_t length = strlen(name);

    (void)vfs;
    if (name[0] != '/' || length >= (size_t)size) {
        return SQLITE_CANTOPEN;
    }
    memcpy(to, name, length + 1);
    return SQLITE_OK;
}

static int draw_bytes(sqlite3_vfs *vfs, int size, char *to)
{
    sqlite3_vfs *under = vfs->pAppData;

    return under->xRandomness(under, size, to);
}

static int sleep_us(sqlite3_vfs *vfs, int us)
{
    sqlite3_vfs *under = vfs->pAppData;

    return under->xSleep(under, us);
}

static int read_clock(sqlite3_vfs *vfs, sqlite3_int64 *ret_ms)
{
    sqlite3_vfs *under = vfs->pAppData;

    return under->xCurrentTimeInt64(under, ret_ms);
}

static int last_error(sqlite3_vfs *vfs, int size, char *to)
{
    sqlite3_vfs *under = vfs->pAppData;

    return under->xGetLastError ? under->xGetLastError(under, size, to) : 0;
}

/* By its name: what the application made the default it may free again. */
sqlite3_vfs *hf__vfs_below(void)
{
    if (below == NULL) {
        below = sqlite3_vfs_find("unix");
    }
    if (below == NULL) {
        below = sqlite3_vfs_find(NULL);
    }
    return below;
}

static bool set_up(void)
{
    if (shim.zName == NULL && hf__vfs_below() != NULL) {
        (void)snprintf(shim_name, sizeof shim_name, "holdfast-%p",
                       (void *)&shim);
        shim = (sqlite3_vfs){.iVersion = 2,
                             .szOsFile = below->szOsFile,
                             .mxPathname = below->mxPathname,
                             .zName = shim_name,
                             .pAppData = below,
                             .xOpen = open_file,
                             .xDelete = delete_file,
                             .xAccess = find_file,
                             .xFullPathname = name_file,
                             .xRandomness = draw_bytes,
                             .xSleep = sleep_us,
                             .xGetLastError = last_error,
                             .xCurrentTimeInt64 = read_clock};
    }
    return shim.zName != NULL;
}

/* Its name is known for that moment only: the list of names is the whole
 * program's, and would outlive a library that is unloaded. A connection keeps
 * what it was opened with. */
int hf__vfs_open(const char *path, int flags, sqlite3 **ret_handle)
{
    int rc = SQLITE_NOMEM;

    hf__fork_forbid();
    if (set_up()) {
        rc = sqlite3_vfs_register(&shim, 0);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_open_v2(path, ret_handle, flags, shim.zName);
        (void)sqlite3_vfs_unregister(&shim);
    }
    hf__fork_allow();
    return rc;
}
