/* SPDX-License-Identifier: MIT */
/*
 * Files as SQLite sees them. This is a VFS over the system's, for SQLite to
 * call, that knows no rollback journals. It also reads the first hundred bytes
 * of a database, as sqlite.org/fileformat2.html describes them, which say
 * whether it may be opened in this way. A new database is begun here and not by
 * SQLite, which begins each in rollback mode with a journal on the disk. The
 * rest of the file is left to connect.c. Called by any thread that opens a
 * session.
 */
#include "src/backend/sqlite/vfs.h"

#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/fork.h"
#include "src/base/rand.h"
#include "src/base/wake.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- a VFS without journals */

/* Both are set once, with forks forbidden, which is one lock for the whole
 * process. */
static sqlite3_vfs *below;
static sqlite3_vfs shim; /* a copy of it with four calls replaced */
/* This name is unique to this copy of the library: a program may have two, one
 * of them in a plugin. */
static char shim_name[32];

/* The only other files that SQLite asks for by name are journals. */
static bool is_log(const char *name)
{
    size_t length = strlen(name);

    return length >= 4 && strcmp(name + length - 4, "-wal") == 0;
}

static int open_by_name(sqlite3_vfs *vfs, const char *name, sqlite3_file *file,
                        int flags, int *ret_flags)
{
    (void)vfs;
    if (name != NULL && !(flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL))) {
        file->pMethods = NULL;
        return SQLITE_CANTOPEN;
    }
    return below->xOpen(below, name, file, flags, ret_flags);
}

static int delete_file(sqlite3_vfs *vfs, const char *name, int sync_folder)
{
    (void)vfs;
    return is_log(name) ? below->xDelete(below, name, sync_folder) : SQLITE_OK;
}

static int find_file(sqlite3_vfs *vfs, const char *name, int how, int *ret_is)
{
    (void)vfs;
    *ret_is = 0;
    return is_log(name) ? below->xAccess(below, name, how, ret_is) : SQLITE_OK;
}

/* Return the path as it was checked. Resolving it here would follow a symbolic
 * link that was put there since. */
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

/* Found by its name: the program may free a VFS that it made the default. */
static sqlite3_vfs *find_below(void)
{
    if (below == NULL) {
        below = sqlite3_vfs_find("unix");
    }
    if (below == NULL) {
        below = sqlite3_vfs_find(NULL);
    }
    return below;
}

/* The VFS is registered for this moment only: the list of VFSs is the whole
 * program's, and the entry would outlive a library that is unloaded. A
 * connection keeps the VFS that it was opened with. */
int hf__vfs_open(const char *path, int flags, sqlite3 **ret_handle)
{
    int rc = SQLITE_NOMEM;

    hf__fork_forbid();
    if (shim.zName == NULL && find_below() != NULL) {
        (void)snprintf(shim_name, sizeof shim_name, "holdfast-%p",
                       (void *)&shim);
        shim = *below;
        shim.iVersion = shim.iVersion < 3 ? shim.iVersion : 3; /* our newest */
        shim.pNext = NULL;
        shim.zName = shim_name;
        shim.xOpen = open_by_name;
        shim.xDelete = delete_file;
        shim.xAccess = find_file;
        shim.xFullPathname = name_file;
    }
    if (shim.zName != NULL) {
        rc = sqlite3_vfs_register(&shim, 0);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_open_v2(path, ret_handle, flags, shim.zName);
        (void)sqlite3_vfs_unregister(&shim);
    }
    hf__fork_allow();
    return rc;
}

/* ---- the header of a database */

enum {
    PAGE_SIZE = 4096,
    HEADER_SIZE = 100,
    AT_WRITE_MODE = 18, /* 1: rollback journal, 2: WAL */
    AT_READ_MODE = 19,
    AT_CHANGES = 24,
    AT_SCHEMA = 40, /* rises with each change of it; 0: no schema yet */
    AT_USER_VERSION = 60,
    AT_APPLICATION_ID = 68,
    AT_VALID_FOR = 92, /* the change count for which the next field is valid */
    AT_LIBRARY = 96
};

static const char magic[16] = "SQLite format 3";

struct opened {
    const char *name;
    bool is_readonly;
    sqlite3_int64 size;
    unsigned char header[HEADER_SIZE];
    sqlite3_file file; /* last, as the VFS's own is longer */
};

static void opened_free(struct opened *o)
{
    if (o == NULL) {
        return;
    }
    if (o->file.pMethods != NULL) {
        (void)o->file.pMethods->xClose(&o->file);
    }
    sqlite3_free_filename((void *)(uintptr_t)o->name);
    hf__free(o);
}

HF_CLEANUP_FN(struct opened, opened_free);

static uint32_t number_at(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
           (uint32_t)bytes[2] << 8 | bytes[3];
}

static void put_number(unsigned char *bytes, uint32_t number)
{
    for (int i = 0; i < 4; i++) {
        bytes[i] = (unsigned char)(number >> (24 - 8 * i));
    }
}

static int fail(const struct hf__sqlite_dir *sqlite_dir, int rc, hf_error *err)
{
    const char *db = sqlite_dir->path[HF__FILE_DB];
    int number = errno;
    char text[128];

    switch (rc) {
    case SQLITE_OK:
        return HF_OK;
    case SQLITE_NOMEM:
        return hf__fail(err, HF_ENOMEM, "out of memory");
    case SQLITE_BUSY:
        return HF_CONFLICT;
    case SQLITE_FULL:
        return hf__fail_native(err, HF_EUNAVAIL, rc,
                               "disk full: %s cannot grow; free space in %s",
                               db, sqlite_dir->folder);
    default:
        return hf__fail_native(
            err, hf__errno_status(number), rc, "cannot use %s: %s", db,
            number != 0 ? hf__errno_text(number, text, sizeof text)
                        : sqlite3_errstr(rc));
    }
}

static int read_header(struct opened *o)
{
    const sqlite3_io_methods *do_ = o->file.pMethods;
    int rc = do_->xFileSize(&o->file, &o->size);

    if (rc == SQLITE_OK && o->size > 0) {
        rc = do_->xRead(&o->file, o->header, HEADER_SIZE, 0);
    }
    return rc == SQLITE_IOERR_SHORT_READ ? SQLITE_OK : rc;
}

/* Gives SQLite's code; *ret_opened is set early, also on failure. */
static int open_file(const struct hf__sqlite_dir *sqlite_dir,
                     struct opened **ret_opened)
{
    const char *db = sqlite_dir->path[HF__FILE_DB];
    sqlite3_vfs *vfs = find_below();
    struct opened *o;
    int flags = 0;
    int rc;

    if (vfs == NULL) {
        return SQLITE_NOMEM;
    }
    o = hf__alloc(sizeof *o + (size_t)vfs->szOsFile);
    *ret_opened = o;
    if (o == NULL) {
        return SQLITE_NOMEM;
    }
    o->name = sqlite3_create_filename(db, sqlite_dir->journal,
                                      sqlite_dir->path[HF__FILE_WAL], 0, NULL);
    if (o->name == NULL) {
        return SQLITE_NOMEM;
    }
    errno = 0;
    rc = vfs->xOpen(vfs, o->name, &o->file,
                    SQLITE_OPEN_READWRITE | SQLITE_OPEN_MAIN_DB, &flags);
    o->is_readonly = (flags & SQLITE_OPEN_READONLY) != 0;
    return rc == SQLITE_OK ? read_header(o) : rc;
}

static bool is_out_of_wal(const struct opened *o)
{
    return o->header[AT_WRITE_MODE] == 1 && o->header[AT_READ_MODE] == 1;
}

int hf__header_fail_foreign(const struct hf__sqlite_dir *sqlite_dir,
                            hf_error *err)
{
    return hf__fail(err, HF_EPROTO,
                    "%s is another program's database; it was left as it "
                    "is: name another file",
                    sqlite_dir->path[HF__FILE_DB]);
}

/* Is it a database that may be ours? The header of one that was never
 * checkpointed says nothing: connect.c then looks at what is in its log. */
static int judge(const struct hf__sqlite_dir *sqlite_dir,
                 const struct opened *o, hf_error *err)
{
    const char *db = sqlite_dir->path[HF__FILE_DB];
    const unsigned char *header = o->header;
    uint32_t id = number_at(header + AT_APPLICATION_ID);

    if (o->size == 0) {
        return HF_OK;
    }
    if (memcmp(header, magic, sizeof magic) != 0) {
        return hf__fail(err, HF_EPROTO,
                        "%s is not a database; it was left as it is: name "
                        "another file",
                        db);
    }
    if (id != HF__SQLITE_APPLICATION_ID &&
        (id != 0 || number_at(header + AT_USER_VERSION) != 0 ||
         number_at(header + AT_SCHEMA) != 0)) {
        return hf__header_fail_foreign(sqlite_dir, err);
    }
    return HF_OK;
}

/* Called with the database locked: otherwise the journal might belong to a
 * transaction that still runs, and not be left over. A stranger's journal
 * cannot belong to the database. */
static int judge_journal(const struct hf__sqlite_dir *sqlite_dir,
                         const struct opened *o, hf_error *err)
{
    struct stat st;

    if (is_out_of_wal(o) && lstat(sqlite_dir->journal, &st) == 0 &&
        !hf__dir_is_strangers(&sqlite_dir->dir, &st)) {
        return hf__fail(err, HF_EUNSAFE,
                        "%s was taken out of WAL mode, and %s may have what "
                        "belongs to it; look whose that is, then end the "
                        "transaction with what began it, or remove the journal",
                        sqlite_dir->path[HF__FILE_DB], sqlite_dir->journal);
    }
    return HF_OK;
}

static int look(const struct hf__sqlite_dir *sqlite_dir, hf_error *err)
{
    HF_AUTO(opened_free_auto) struct opened *o = NULL;
    sqlite3_vfs *vfs = find_below();
    int rc;

    if (vfs != NULL && strlen(sqlite_dir->journal) > (size_t)vfs->mxPathname) {
        return hf__fail(err, HF_EINVAL,
                        "the path %.64s… is too long: with -journal SQLite "
                        "takes %d bytes",
                        sqlite_dir->path[HF__FILE_DB], vfs->mxPathname);
    }
    if (!sqlite_dir->db_exists) {
        return HF_OK;
    }
    rc = open_file(sqlite_dir, &o);
    if (rc != SQLITE_OK) {
        return errno == ENOENT ? HF_OK : fail(sqlite_dir, rc, err);
    }
    return judge(sqlite_dir, o, err);
}

int hf__header_look(const struct hf__sqlite_dir *sqlite_dir, hf_error *err)
{
    int r;

    hf__fork_forbid(); /* a forked child would find SQLite entered */
    r = look(sqlite_dir, err);
    hf__fork_allow();
    return r;
}

/* Write an empty database in WAL mode: one page of 4096 bytes, an empty leaf. A
 * log beside an empty file belongs to another database, which was deleted. */
static int begin(const struct hf__sqlite_dir *sqlite_dir, struct opened *o,
                 hf_error *err)
{
    unsigned char page[PAGE_SIZE] = {[16] = PAGE_SIZE >> 8,
                                     [AT_WRITE_MODE] = 2,
                                     [AT_READ_MODE] = 2,
                                     [21] = 64,
                                     [22] = 32,
                                     [23] = 32,
                                     [31] = 1, /* pages */
                                     [HEADER_SIZE] = 0x0d,
                                     [HEADER_SIZE + 5] = PAGE_SIZE >> 8};
    int r;

    if (unlink(sqlite_dir->path[HF__FILE_WAL]) != 0 && errno != ENOENT) {
        return fail(sqlite_dir, SQLITE_IOERR, err);
    }
    r = hf__sqlite_dir_make_log(sqlite_dir, err);
    if (r != HF_OK) {
        return r;
    }
    memcpy(page, magic, sizeof magic);
    put_number(page + AT_CHANGES, 1);
    put_number(page + AT_VALID_FOR, 1);
    put_number(page + AT_LIBRARY, (uint32_t)sqlite3_libversion_number());
    return fail(sqlite_dir,
                o->file.pMethods->xWrite(&o->file, page, sizeof page, 0), err);
}

/* Set WAL mode as SQLite does it; a raised change count makes others drop the
 * pages that they have in memory. */
static int put_back(const struct hf__sqlite_dir *sqlite_dir, struct opened *o,
                    hf_error *err)
{
    uint32_t changes = number_at(o->header + AT_CHANGES) + 1;

    o->header[AT_WRITE_MODE] = 2;
    o->header[AT_READ_MODE] = 2;
    put_number(o->header + AT_CHANGES, changes);
    put_number(o->header + AT_VALID_FOR, changes);
    return fail(sqlite_dir,
                o->file.pMethods->xWrite(&o->file, o->header, HEADER_SIZE, 0),
                err);
}

static bool is_ready(const struct opened *o)
{
    return o->size > 0 && !is_out_of_wal(o);
}

/* Lock the file exclusively with SQLite's own locks, and read the header again
 * behind them. */
static int rewrite(const struct hf__sqlite_dir *sqlite_dir, struct opened *o,
                   hf_error *err)
{
    const sqlite3_io_methods *do_ = o->file.pMethods;
    int rc = do_->xLock(&o->file, SQLITE_LOCK_SHARED);
    int r;

    if (rc == SQLITE_OK) {
        rc = do_->xLock(&o->file, SQLITE_LOCK_EXCLUSIVE);
    }
    if (rc == SQLITE_OK) {
        rc = read_header(o);
    }
    r = rc == SQLITE_OK ? judge(sqlite_dir, o, err) : fail(sqlite_dir, rc, err);
    if (r == HF_OK) {
        r = judge_journal(sqlite_dir, o, err);
    }
    if (r == HF_OK && !is_ready(o)) {
        r = o->size == 0 ? begin(sqlite_dir, o, err)
                         : put_back(sqlite_dir, o, err);
    }
    if (r == HF_OK) {
        r = fail(sqlite_dir, do_->xSync(&o->file, SQLITE_SYNC_NORMAL), err);
    }
    (void)do_->xUnlock(&o->file, SQLITE_LOCK_NONE);
    return r;
}

/* HF_CONFLICT: somebody else has it locked. */
static int prepare(const struct hf__sqlite_dir *sqlite_dir, hf_error *err)
{
    HF_AUTO(opened_free_auto) struct opened *o = NULL;
    int r = fail(sqlite_dir, open_file(sqlite_dir, &o), err);

    if (r != HF_OK || o == NULL) {
        return r;
    }
    r = judge(sqlite_dir, o, err);
    /* A read-only file is reported when it is opened for use. */
    return r != HF_OK || is_ready(o) || o->is_readonly
               ? r
               : rewrite(sqlite_dir, o, err);
}

int hf__header_prepare(const struct hf__sqlite_dir *sqlite_dir,
                       hf__time deadline, hf_error *err)
{
    for (;;) {
        hf__time now;
        int r;

        hf__fork_forbid();
        r = prepare(sqlite_dir, err);
        hf__fork_allow();
        if (r != HF_CONFLICT) {
            return r;
        }
        now = hf__now();
        if (!hf__before(now, deadline)) {
            return hf__fail(err, HF_EUNAVAIL,
                            "%s is locked by another program's transaction; "
                            "see: fuser -v '%s'",
                            sqlite_dir->path[HF__FILE_DB],
                            sqlite_dir->path[HF__FILE_DB]);
        }
        now = hf__after_ns(now, hf__random_between(HF__MS / 4, 3 * HF__MS));
        hf__sleep_until(hf__earlier(now, deadline));
    }
}
