/* SPDX-License-Identifier: MIT */
/*
 * The folder and the four files of a SQLite store: may locks live there, who
 * may open them, are they still the same. Leaves what is in the files to
 * sql.c and side.c. Called by whoever opens or uses a session.
 */
#include "src/backend/sqlite/place.h"

#include "src/base/alloc.h"
#include "src/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

/* A change within this time of an earlier one may leave the folder's mtime
 * as it was: the kernel stamps by its tick (at most 10 ms), but file systems
 * keep whole seconds (ext3, and ext4 with small inodes) or two (FAT). */
#define SETTLED_NS (2100 * HF__MS)

/* Far more than one change writes: 63 pages. */
#define LOG_BYTES 262144

#define BLOCK_BYTES 512 /* of st_blocks, whatever the file system's are */

static const char *const suffixes[HF__FILE_COUNT] = {"", "-wal", "-shm",
                                                     "-holdfast"};

static int fail_errno(hf_error *err, const char *doing, const char *path)
{
    int number = errno;
    char text[128];

    return hf__fail_native(err, hf__errno_status(number), number,
                           "cannot %s %s: %s", doing, path,
                           hf__errno_text(number, text, sizeof text));
}

/* Absolute, because the program may change its working folder later. */
static int name_files(struct hf__place *place, const char *path, hf_error *err)
{
    char whole[PATH_MAX + 1] = "";
    char *slash;
    size_t used;

    if (path[0] != '/' && !getcwd(whole, sizeof whole - 1)) {
        return fail_errno(err, "find", "the working folder");
    }
    used = strlen(whole);
    if (used + strlen(path) + sizeof "/-holdfast" > sizeof whole) {
        return hf__fail(err, HF_EINVAL, "the path %.64s… is too long", path);
    }
    (void)snprintf(whole + used, sizeof whole - used, "%s%s",
                   path[0] == '/' ? "" : "/", path);
    used = strlen(whole);
    for (int i = 0; i < HF__FILE_COUNT; i++) {
        size_t size = sizeof whole - used;

        (void)snprintf(whole + used, size, "%s", suffixes[i]);
        place->path[i] = hf__strdup(whole);
    }
    (void)snprintf(whole + used, sizeof whole - used, "-journal");
    place->journal = hf__strdup(whole);
    whole[used] = '\0';
    slash = strrchr(whole, '/');
    if (slash[1] == '\0') {
        return hf__fail(err, HF_EINVAL, "%s names a folder, not a file", path);
    }
    slash[slash == whole] = '\0';
    place->folder = hf__strdup(whole);
    for (int i = 0; i < HF__FILE_COUNT; i++) {
        if (place->path[i] == NULL) {
            return hf__fail(err, HF_ENOMEM, "out of memory");
        }
    }
    return place->folder != NULL && place->journal != NULL
               ? HF_OK
               : hf__fail(err, HF_ENOMEM, "out of memory");
}

/* The folder: is it there, who may write into it, is it on this machine? */
static int look_at_folder(struct hf__place *place, const char *allow,
                          struct stat *ret_st, hf_error *err)
{
    struct statfs fs;
    const char *network;

    if (stat(place->folder, ret_st) || statfs(place->folder, &fs)) {
        if (errno == ENOENT) {
            return hf__fail_native(err, HF_EUNAVAIL, ENOENT,
                                   "the folder %s does not exist; make it: "
                                   "mkdir -p -m 700 '%s'",
                                   place->folder, place->folder);
        }
        return fail_errno(err, "look at the folder", place->folder);
    }
    if (!S_ISDIR(ret_st->st_mode)) {
        return hf__fail(err, HF_EUNAVAIL, "%s is not a folder", place->folder);
    }
    if ((ret_st->st_mode & S_IWOTH) && !(ret_st->st_mode & S_ISVTX)) {
        return hf__fail(err, HF_EUNSAFE,
                        "everybody may remove files in %s, and so break every "
                        "lock; use a private folder, or: chmod o-w '%s'",
                        place->folder, place->folder);
    }
    network = hf__netfs_name((uint64_t)fs.f_type);
    if (network != NULL && !hf__is_allowed(allow, "netfs")) {
        return hf__fail(err, HF_EUNSAFE,
                        "%s is on a network file system (%s), where SQLite's "
                        "locks do not hold; use a local folder or a server "
                        "(allow=netfs overrides)",
                        place->folder, network);
    }
    place->is_public = (ret_st->st_mode & S_IWOTH) != 0;
    place->lends_group = place->is_public && (ret_st->st_mode & S_ISGID) != 0;
    place->folder_id = (struct hf__file_id){(uint64_t)ret_st->st_dev,
                                            (uint64_t)ret_st->st_ino};
    return HF_OK;
}

bool hf__place_is_strange(const struct hf__place *place, const struct stat *st)
{
    return st->st_uid != place->uid && st->st_uid != geteuid() && st->st_uid &&
           !((place->mode & S_IWGRP) && st->st_gid == place->gid &&
             !place->lends_group);
}

int hf__place_judge(const char *path, const struct stat *st, hf_error *err)
{
    if (S_ISLNK(st->st_mode)) {
        return hf__fail(err, HF_EUNSAFE, "%s is a symbolic link; remove it",
                        path);
    }
    if (!S_ISREG(st->st_mode)) {
        return hf__fail(err, HF_EPROTO, "%s is not a regular file", path);
    }
    if (st->st_nlink > 1) {
        return hf__fail(err, HF_EUNSAFE,
                        "%s has a second name (a hard link), and may be "
                        "anybody's file; remove it",
                        path);
    }
    return HF_OK;
}

/* The database has one name, with a log beside it, for all. */
static int look_at_names(const char *db, const struct stat *st, hf_error *err)
{
    if (st->st_nlink > 1) {
        return hf__fail(err, HF_EUNSAFE,
                        "%s has a second name (a hard link), under which it "
                        "would be another store; remove that",
                        db);
    }
    /* Bound into a container without its folder, a file has another log inside
     * than outside. */
    if (hf__is_mount(db)) {
        return hf__fail(err, HF_EUNSAFE,
                        "%s is mounted without its folder, so its log is "
                        "not that of others; mount the folder",
                        db);
    }
    return HF_OK;
}

/* The database file: may be missing, must not be anything else. */
static int look_at_db(struct hf__place *place, const struct stat *folder,
                      hf_error *err)
{
    const char *db = place->path[HF__FILE_DB];
    struct stat st;

    place->mode = (folder->st_mode & S_ISGID) ? 0660 : 0600;
    place->uid = geteuid();
    place->gid = (folder->st_mode & S_ISGID) ? folder->st_gid : getegid();
    if (lstat(db, &st)) {
        return errno == ENOENT ? HF_OK : fail_errno(err, "look at", db);
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
    place->db_exists = true;
    place->mode = st.st_mode & 0666;
    place->uid = st.st_uid;
    place->gid = st.st_gid;
    return look_at_names(db, &st, err);
}

int hf__place_init(struct hf__place *place, const char *path, const char *allow,
                   hf_error *err)
{
    struct stat folder;
    int r;

    if (path == NULL || path[0] == '\0') {
        return hf__fail(err, HF_EINVAL,
                        "a SQLite store needs a path: sqlite:/folder/file.db");
    }
    r = name_files(place, path, err);
    if (r == HF_OK) {
        r = look_at_folder(place, allow, &folder, err);
    }
    if (r == HF_OK) {
        r = look_at_db(place, &folder, err);
    }
    place->reach = place->mode & 0077 ? HF_REACH_HOST : HF_REACH_USER;
    return r;
}

void hf__place_fini(struct hf__place *place)
{
    for (int i = 0; i < HF__FILE_COUNT; i++) {
        hf__free(place->path[i]);
    }
    hf__free(place->journal);
    hf__free(place->folder);
    *place = (struct hf__place){0};
}

void hf__place_adorn(const struct hf__place *place, int fd)
{
    struct stat st;

    if (fstat(fd, &st)) {
        return;
    }
    /* Only root can give a file away; a setgid folder has given the group
     * already. Where it fails the file stays ours, which is safe. */
    if (st.st_gid != place->gid && fchown(fd, (uid_t)-1, place->gid)) {
        return;
    }
    if (geteuid() == 0 && st.st_uid != place->uid &&
        fchown(fd, place->uid, place->gid)) {
        return;
    }
    if ((st.st_mode & 0777) != place->mode) {
        (void)fchmod(fd, place->mode);
    }
}

int hf__place_create_db(struct hf__place *place, hf_error *err)
{
    const char *db = place->path[HF__FILE_DB];
    struct stat folder;
    int fd = open(db, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                  place->mode);

    if (fd < 0 && errno != EEXIST) {
        return fail_errno(err, "create", db);
    }
    if (fd < 0) {
        /* Perhaps somebody made it since we looked: who, and what? */
        return stat(place->folder, &folder)
                   ? fail_errno(err, "look at the folder", place->folder)
                   : look_at_db(place, &folder, err);
    }
    hf__place_adorn(place, fd);
    (void)close(fd);
    place->db_exists = true;
    return HF_OK;
}

/* Log and index count as much as the database: in a folder where everybody
 * may make files, somebody may have made them first. Not asked where everybody
 * may write the database, or where only those make files who are trusted. What
 * is ours, or was judged, nobody else can replace in such a folder. */
static int make_one(const struct hf__place *place, const char *path,
                    hf_error *err)
{
    bool is_open_to_all = place->is_public && !(place->mode & S_IWOTH);
    struct stat st;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                  place->mode);
    int number = errno;
    int r;

    if (fd >= 0) {
        hf__place_adorn(place, fd);
        (void)close(fd);
        return HF_OK;
    }
    if (lstat(path, &st)) {
        errno = number;
        return fail_errno(err, "create", path);
    }
    r = hf__place_judge(path, &st, err);
    if (r == HF_OK && is_open_to_all && hf__place_is_strange(place, &st)) {
        r = hf__fail(err, HF_EUNSAFE,
                     "%s belongs to a stranger (user %ld); remove it", path,
                     (long)st.st_uid);
    }
    return r;
}

/* What follows the frames in a log counts for nothing. One that has grown
 * without this does without where the disk is full: what it has is used again,
 * too. */
static int fill_log(const struct hf__place *place, hf_error *err)
{
    const char *path = place->path[HF__FILE_WAL];
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;
    int r = HF_OK;

    if (fd < 0) {
        return HF_OK; /* why, is said by who opens it to use it */
    }
    if (fstat(fd, &st) == 0) {
        r = hf__place_judge(path, &st, err);
    }
    if (r == HF_OK &&
        (st.st_size < LOG_BYTES || st.st_blocks < LOG_BYTES / BLOCK_BYTES) &&
        fallocate(fd, 0, 0, LOG_BYTES) != 0 &&
        (errno == ENOSPC || errno == EDQUOT) && st.st_size == 0) {
        r = fail_errno(err, "fill", path);
    }
    (void)close(fd);
    return r;
}

int hf__place_make_beside(const struct hf__place *place, hf_error *err)
{
    int r = make_one(place, place->path[HF__FILE_WAL], err);

    if (r == HF_OK) {
        r = fill_log(place, err);
    }
    return r == HF_OK ? make_one(place, place->path[HF__FILE_SHM], err) : r;
}

static struct hf__file_id id_of(const char *path)
{
    struct stat st;

    if (lstat(path, &st)) {
        return (struct hf__file_id){0, 0};
    }
    return (struct hf__file_id){(uint64_t)st.st_dev, (uint64_t)st.st_ino};
}

void hf__place_ids(const struct hf__place *place, struct hf__file_ids *ret_ids)
{
    for (int i = 0; i < HF__FILE_COUNT; i++) {
        ret_ids->file[i] = id_of(place->path[i]);
    }
}

int hf__ids_differ(const struct hf__file_ids *expected,
                   const struct hf__file_ids *seen)
{
    for (int i = 0; i < HF__FILE_COUNT; i++) {
        const struct hf__file_id *e = &expected->file[i];
        const struct hf__file_id *s = &seen->file[i];

        if (e->ino && (e->ino != s->ino || e->dev != s->dev)) {
            return i;
        }
    }
    return -1;
}

int hf__place_changed(const struct hf__place *place,
                      struct hf__place_watch *watch)
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
    if (stat(place->folder, &st) ||
        (uint64_t)st.st_ino != place->folder_id.ino ||
        (uint64_t)st.st_dev != place->folder_id.dev) {
        return HF__FILE_DB;
    }
    mtime_ns = st.st_mtim.tv_sec * HF__SECOND + st.st_mtim.tv_nsec;
    if (watch->is_settled && mtime_ns == watch->folder_mtime_ns) {
        watch->looked_at = now;
        return -1;
    }
    hf__place_ids(place, &seen);
    differs = hf__ids_differ(&watch->expected, &seen);
    if (differs < 0) {
        watch->looked_at = now;
    }
    watch->folder_mtime_ns = mtime_ns;
    watch->is_settled =
        differs < 0 && hf__wall_us() * 1000 - mtime_ns > SETTLED_NS;
    return differs;
}
