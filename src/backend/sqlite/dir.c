/* SPDX-License-Identifier: MIT */
/*
 * The folder and the four files of a SQLite store: may locks live there, who
 * may open them, and are they still the same files? This file also takes the
 * open lock, a locked byte of the side file that lets in one opener at a time
 * on one machine. The contents of the files are left to vfs.c and connect.c.
 * Called by any thread that opens or uses a session.
 */
#include "src/backend/sqlite/dir.h"

#include "src/backend/local/local.h"
#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/fork.h"
#include "src/base/ofd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct hf__fork_list sides;

/* Version 2 came with the times when waiters were last seen, and with databases
 * of format 2; since version 3 the layout and the locked bytes are those of the
 * file stores. */
static const struct hf__side_kind side_kind = {
    .head = {.magic = {'H', 'F', 'l', 'k', 's', 'i', 'd', 'e'},
             .version = 3,
             .size = sizeof(struct hf__side_layout)},
    .sides = &sides};

/* ---- the folder and its files */

/* A change within this time of an earlier one may leave the folder's mtime as
 * it was. The kernel stamps by its tick (at most 10 ms), but some file systems
 * keep whole seconds (ext3, and ext4 with small inodes) or two (FAT). */
#define SETTLED_NS (2100 * HF__MS)

/* 63 pages, far more than one change writes. */
#define LOG_BYTES 262144

#define BLOCK_BYTES 512 /* the unit of st_blocks on any file system */

static const char *const suffixes[HF__FILE_COUNT] = {"", "-wal", "-shm",
                                                     "-holdfast"};

static int name_files(struct hf__sqlite_dir *sqlite_dir, const char *path,
                      hf_error *err)
{
    int r = hf__dir_name(&sqlite_dir->dir, path, strlen("-holdfast"), err);
    char whole[PATH_MAX + 1] = "";
    bool has_memory = true;
    char *slash;
    size_t used;

    if (r != HF_OK) {
        return r;
    }
    used = strlen(sqlite_dir->dir.store);
    memcpy(whole, sqlite_dir->dir.store, used);
    for (int i = 0; i < HF__FILE_COUNT; i++) {
        (void)snprintf(whole + used, sizeof whole - used, "%s", suffixes[i]);
        sqlite_dir->path[i] = hf__strdup(whole);
        has_memory &= sqlite_dir->path[i] != NULL;
    }
    (void)snprintf(whole + used, sizeof whole - used, "-journal");
    sqlite_dir->journal = hf__strdup(whole);
    whole[used] = '\0';
    slash = strrchr(whole, '/');
    if (slash[1] == '\0') {
        return hf__fail(err, HF_EINVAL, "%s names a folder, not a file", path);
    }
    slash[slash == whole] = '\0';
    sqlite_dir->folder = hf__strdup(whole);
    sqlite_dir->dir.side = sqlite_dir->path[HF__FILE_SIDE];
    return has_memory && sqlite_dir->folder != NULL &&
                   sqlite_dir->journal != NULL
               ? HF_OK
               : hf__fail(err, HF_ENOMEM, "out of memory");
}

/* Check the folder: does it exist, who may write to it, is it on this
 * machine? */
static int look_at_folder(struct hf__sqlite_dir *sqlite_dir, const char *allow,
                          struct stat *ret_st, hf_error *err)
{
    struct statfs fs;
    int r = stat(sqlite_dir->folder, ret_st) || statfs(sqlite_dir->folder, &fs)
                ? hf__dir_fail_itself(sqlite_dir->folder, "look at", err)
                : hf__dir_check(sqlite_dir->folder, ret_st, &fs, allow,
                                "SQLite's locks", err);

    if (r == HF_OK) {
        sqlite_dir->is_public = (ret_st->st_mode & S_IWOTH) != 0;
        sqlite_dir->dir.lends_group =
            sqlite_dir->is_public && (ret_st->st_mode & S_ISGID) != 0;
        sqlite_dir->folder_id = hf__id_of(ret_st);
    }
    return r;
}

/* The database must have one name, as the log is found by that name. */
static int look_at_names(const char *db, const struct stat *st, hf_error *err)
{
    if (st->st_nlink > 1) {
        return hf__fail(err, HF_EUNSAFE,
                        "%s has a second name (a hard link), under which it "
                        "would be another store; remove that",
                        db);
    }
    /* A file that is bound into a container without its folder has another log
     * inside than outside. */
    if (hf__is_mount(db)) {
        return hf__fail(err, HF_EUNSAFE,
                        "%s is mounted without its folder, so its log is "
                        "not that of others; mount the folder",
                        db);
    }
    return HF_OK;
}

/* Check the database file: it may be missing, but must be a regular file that
 * we can trust. */
static int look_at_db(struct hf__sqlite_dir *sqlite_dir,
                      const struct stat *folder, hf_error *err)
{
    const char *db = sqlite_dir->path[HF__FILE_DB];
    struct hf__dir *dir = &sqlite_dir->dir;
    struct stat st;

    dir->mode = (folder->st_mode & S_ISGID) ? 0660 : 0600;
    dir->uid = geteuid();
    dir->gid = (folder->st_mode & S_ISGID) ? folder->st_gid : getegid();
    if (lstat(db, &st)) {
        return errno == ENOENT ? HF_OK : hf__dir_fail(dir, "look at", db, err);
    }
    if (S_ISLNK(st.st_mode)) {
        return hf__fail(err, HF_EUNSAFE,
                        "%s is a symbolic link, which can be turned while "
                        "locks are held; name the file itself",
                        db);
    }
    if (!S_ISREG(st.st_mode)) {
        return hf__fail(err, HF_EPROTO, "%s is not a regular file", db);
    }
    if ((folder->st_mode & S_IWOTH) && st.st_uid != geteuid() && st.st_uid) {
        return hf__fail(err, HF_EUNSAFE,
                        "%s in a folder open to everybody belongs to user "
                        "%ld; use a private folder",
                        db, (long)st.st_uid);
    }
    sqlite_dir->db_exists = true;
    dir->mode = st.st_mode & 0666;
    dir->uid = st.st_uid;
    dir->gid = st.st_gid;
    return look_at_names(db, &st, err);
}

int hf__sqlite_dir_init(struct hf__sqlite_dir *sqlite_dir, const char *path,
                        const char *allow, hf_error *err)
{
    struct stat folder;
    int r;

    if (path == NULL || path[0] == '\0') {
        return hf__fail(err, HF_EINVAL,
                        "a SQLite store needs a path: sqlite:/folder/file.db");
    }
    sqlite_dir->dir.kind = &side_kind;
    sqlite_dir->dir.prefix = "";
    sqlite_dir->dir.fd = AT_FDCWD;
    sqlite_dir->dir.has_sole_names = true;
    r = name_files(sqlite_dir, path, err);
    if (r == HF_OK) {
        r = look_at_folder(sqlite_dir, allow, &folder, err);
    }
    if (r == HF_OK) {
        r = look_at_db(sqlite_dir, &folder, err);
    }
    sqlite_dir->dir.reach =
        sqlite_dir->dir.mode & 0077 ? HF_REACH_HOST : HF_REACH_USER;
    return r;
}

void hf__sqlite_dir_fini(struct hf__sqlite_dir *sqlite_dir)
{
    for (int i = 0; i < HF__FILE_COUNT; i++) {
        hf__free(sqlite_dir->path[i]);
    }
    hf__free(sqlite_dir->dir.store);
    hf__free(sqlite_dir->journal);
    hf__free(sqlite_dir->folder);
    *sqlite_dir = (struct hf__sqlite_dir){0};
}

int hf__sqlite_dir_create_db(struct hf__sqlite_dir *sqlite_dir, hf_error *err)
{
    const char *db = sqlite_dir->path[HF__FILE_DB];
    struct stat folder;
    int fd = open(db, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                  sqlite_dir->dir.mode);

    if (fd < 0 && errno != EEXIST) {
        return hf__dir_fail(&sqlite_dir->dir, "create", db, err);
    }
    if (fd < 0) {
        /* Perhaps somebody created it since we looked: check whose it is. */
        return stat(sqlite_dir->folder, &folder)
                   ? hf__dir_fail_itself(sqlite_dir->folder, "look at", err)
                   : look_at_db(sqlite_dir, &folder, err);
    }
    hf__dir_set_owner_mode(&sqlite_dir->dir, fd);
    (void)close(fd);
    sqlite_dir->db_exists = true;
    return HF_OK;
}

/* The log and its index matter as much as the database: in a folder where
 * everybody may make files, a stranger may have made them first. So their owner
 * is checked there, unless everybody may write the database itself. Nobody else
 * can replace a file of ours, or one that passed the check, in such a
 * folder. */
static int make_one(const struct hf__sqlite_dir *sqlite_dir, const char *path,
                    hf_error *err)
{
    bool is_open_to_all =
        sqlite_dir->is_public && !(sqlite_dir->dir.mode & S_IWOTH);
    struct stat st;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                  sqlite_dir->dir.mode);
    int number = errno;

    if (fd >= 0) {
        hf__dir_set_owner_mode(&sqlite_dir->dir, fd);
        (void)close(fd);
        return HF_OK;
    }
    if (lstat(path, &st)) {
        errno = number;
        return hf__dir_fail(&sqlite_dir->dir, "create", path, err);
    }
    return is_open_to_all
               ? hf__dir_check_file_owner(&sqlite_dir->dir, path, &st, err)
               : hf__dir_check_file(&sqlite_dir->dir, path, &st, err);
}

/* Give the log its blocks in advance. SQLite ignores what follows the frames in
 * a log. On a full disk a log that has grown without this is left as it is:
 * SQLite writes it from its start again, too. */
static int fill_log(const struct hf__sqlite_dir *sqlite_dir, hf_error *err)
{
    const char *path = sqlite_dir->path[HF__FILE_WAL];
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;
    int r = HF_OK;

    if (fd < 0) {
        return HF_OK; /* the error is reported when it is opened for use */
    }
    if (fstat(fd, &st) == 0) {
        r = hf__dir_check_file(&sqlite_dir->dir, path, &st, err);
    }
    if (r == HF_OK &&
        (st.st_size < LOG_BYTES || st.st_blocks < LOG_BYTES / BLOCK_BYTES) &&
        fallocate(fd, 0, 0, LOG_BYTES) != 0 &&
        (errno == ENOSPC || errno == EDQUOT) && st.st_size == 0) {
        r = hf__dir_fail(&sqlite_dir->dir, "fill", path, err);
    }
    (void)close(fd);
    return r;
}

int hf__sqlite_dir_make_log(const struct hf__sqlite_dir *sqlite_dir,
                            hf_error *err)
{
    int r = make_one(sqlite_dir, sqlite_dir->path[HF__FILE_WAL], err);

    if (r == HF_OK) {
        r = fill_log(sqlite_dir, err);
    }
    return r == HF_OK
               ? make_one(sqlite_dir, sqlite_dir->path[HF__FILE_SHM], err)
               : r;
}

void hf__sqlite_dir_ids(const struct hf__sqlite_dir *sqlite_dir,
                        struct hf__file_ids *ret_ids)
{
    for (int i = 0; i < HF__FILE_COUNT; i++) {
        ret_ids->file[i] = hf__dir_id(&sqlite_dir->dir, sqlite_dir->path[i]);
    }
}

int hf__ids_differ(const struct hf__file_ids *expected,
                   const struct hf__file_ids *seen)
{
    for (int i = 0; i < HF__FILE_COUNT; i++) {
        if (expected->file[i].ino != 0 &&
            !hf__id_equal(expected->file[i], seen->file[i])) {
            return i;
        }
    }
    return -1;
}

int hf__sqlite_dir_changed(const struct hf__sqlite_dir *sqlite_dir,
                           struct hf__sqlite_dir_watch *watch)
{
    hf__time now = hf__now();
    struct hf__file_ids seen;
    struct stat st;
    int64_t mtime_ns;
    int differs;

    if (hf__between_ns(watch->looked_at, now) < HF__MS) {
        return -1;
    }
    watch->looked_at = (hf__time){0};
    if (stat(sqlite_dir->folder, &st) ||
        !hf__id_equal(hf__id_of(&st), sqlite_dir->folder_id)) {
        return HF__FILE_DB;
    }
    mtime_ns = st.st_mtim.tv_sec * HF__SECOND + st.st_mtim.tv_nsec;
    if (watch->is_settled && mtime_ns == watch->folder_mtime_ns) {
        watch->looked_at = now;
        return -1;
    }
    hf__sqlite_dir_ids(sqlite_dir, &seen);
    differs = hf__ids_differ(&watch->expected, &seen);
    if (differs < 0) {
        watch->looked_at = now;
    }
    watch->folder_mtime_ns = mtime_ns;
    watch->is_settled =
        differs < 0 && hf__wall_us() * 1000 - mtime_ns > SETTLED_NS;
    return differs;
}

/* ---- the open lock */

#define BALLAST (INT64_C(1) << 20)

_Static_assert(sizeof(struct hf__sqlite_side) <=
                   sizeof((struct hf__side_layout){0}.own),
               "the layout has room for it");

void hf__open_lock_release(struct hf__open_lock *open_lock)
{
    hf__fd_close(open_lock->fd);
    open_lock->fd = -1;
}

/* HF_OK: the byte is locked; HF_CONFLICT: the path leads to another file
 * now. */
static int lock_file(const struct hf__dir *dir,
                     const struct hf__open_lock *open_lock,
                     struct hf__head *head, hf__time deadline, hf_error *err)
{
    int r = HF_CONFLICT;

    while (r == HF_CONFLICT &&
           hf__ofd_lock(open_lock->fd, F_WRLCK, HF__BYTE_OPEN_LOCK)) {
        r = errno == EAGAIN || errno == EACCES
                ? hf__side_rest(dir, head, deadline, err)
                : hf__dir_fail(dir, "lock", dir->side, err);
    }
    return r == HF_CONFLICT &&
                   hf__id_equal(hf__dir_id(dir, dir->side), open_lock->id)
               ? HF_OK
               : r;
}

int hf__open_lock_take(const struct hf__sqlite_dir *sqlite_dir,
                       struct hf__head *head, hf__time deadline,
                       struct hf__open_lock *ret_open_lock, hf_error *err)
{
    const struct hf__dir *dir = &sqlite_dir->dir;
    int r = HF_CONFLICT;

    ret_open_lock->fd = -1;
    while (r == HF_CONFLICT) {
        hf__open_lock_release(ret_open_lock);
        r = hf__side_open(dir, &ret_open_lock->fd, &ret_open_lock->id, err);
        if (r == HF_OK) {
            r = lock_file(dir, ret_open_lock, head, deadline, err);
        }
        if (r == HF_CONFLICT) {
            r = hf__side_rest(dir, head, deadline, err);
        }
    }
    return r;
}

int hf__open_lock_enter(const struct hf__sqlite_dir *sqlite_dir,
                        struct hf__open_lock *open_lock, struct hf__local *s,
                        hf_error *err)
{
    int r = hf__side_get(&sqlite_dir->dir, &s->engine_session.head,
                         s->engine_session.deadline, &s->side,
                         &open_lock->has_others, err);

    if (r == HF_OK && !hf__id_equal(s->side->id, open_lock->id)) {
        return hf__fail(err, HF_EUNAVAIL, "%s was replaced just now; try again",
                        sqlite_dir->dir.side);
    }
    if (r == HF_OK) {
        /* If the disk has no room for the ballast, the store works without
         * it. */
        (void)posix_fallocate(open_lock->fd,
                              (off_t)sizeof(struct hf__side_layout), BALLAST);
    }
    return r;
}

void hf__side_drop_ballast(struct hf__side *side)
{
    /* The layout's last block stays whole: holes are cut at block
     * boundaries. */
    (void)fallocate(side->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    (off_t)sizeof(struct hf__side_layout), BALLAST);
}
