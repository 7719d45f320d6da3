/* SPDX-License-Identifier: MIT */
/*
 * The folder of a file store. What is in its files is cell.c's and side.c's.
 * Called by whoever opens or uses a session.
 */
#include "src/backend/file/place.h"

#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/fork.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

int hf__file_fail_errno(const struct hf__file_place *place, const char *doing,
                        const char *name, hf_error *err)
{
    int number = errno;
    char text[128];

    if (number == ELOOP) {
        return hf__fail_native(err, HF_EUNSAFE, number,
                               "%s/%s is a symbolic link; remove it",
                               place->path, name);
    }
    if (number == ENOSPC || number == EDQUOT) {
        return hf__fail_native(err, HF_EUNAVAIL, number,
                               "disk full: cannot %s %s/%s", doing, place->path,
                               name);
    }
    return hf__fail_native(err, hf__errno_status(number), number,
                           "cannot %s %s/%s: %s", doing, place->path, name,
                           hf__errno_text(number, text, sizeof text));
}

static int fail_folder(const struct hf__file_place *place, const char *doing,
                       hf_error *err)
{
    int number = errno;
    char text[128];

    if (number == ENOENT) {
        return hf__fail_native(err, HF_EUNAVAIL, ENOENT,
                               "the folder %s does not exist; make it: "
                               "mkdir -p -m 700 '%s'",
                               place->path, place->path);
    }
    return hf__fail_native(err, hf__errno_status(number), number,
                           "cannot %s the folder %s: %s", doing, place->path,
                           hf__errno_text(number, text, sizeof text));
}

/* Absolute, because the program may change its working folder later. */
static int set_path(struct hf__file_place *place, const char *path,
                    hf_error *err)
{
    char whole[PATH_MAX] = "";
    size_t used;

    if (path[0] != '/' && !getcwd(whole, sizeof whole)) {
        return hf__fail(err, HF_EUNAVAIL, "cannot find the working folder");
    }
    used = strlen(whole);
    /* Room for the longest name of a file in it. */
    if (used + strlen(path) + NAME_MAX + 3 > sizeof whole) {
        return hf__fail(err, HF_EINVAL, "the path %.64s… is too long", path);
    }
    (void)snprintf(whole + used, sizeof whole - used, "%s%s",
                   path[0] == '/' ? "" : "/", path);
    used = strlen(whole);
    while (used > 1 && whole[used - 1] == '/') {
        whole[--used] = '\0';
    }
    place->path = hf__strdup(whole);
    return place->path != NULL ? HF_OK
                               : hf__fail(err, HF_ENOMEM, "out of memory");
}

/* Who may rename the folder may put another one in its place. */
static int look_above(const struct hf__file_place *place, hf_error *err)
{
    char above[PATH_MAX];
    struct stat st;
    char *slash;

    (void)snprintf(above, sizeof above, "%s", place->path);
    slash = strrchr(above, '/');
    slash[slash == above] = '\0';
    if (stat(above, &st)) {
        return fail_folder(place, "find", err);
    }
    if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX)) {
        return hf__fail(err, HF_EUNSAFE,
                        "everybody may replace folders in %s, and so break "
                        "every lock; use another place, or: chmod o-w '%s'",
                        above, above);
    }
    return HF_OK;
}

static int open_folder(struct hf__file_place *place, struct stat *ret_st,
                       hf_error *err)
{
    if (lstat(place->path, ret_st) && errno == ENOENT &&
        mkdir(place->path, 0700) && errno != EEXIST) {
        return fail_folder(place, "make", err);
    }
    place->fd = open(place->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (place->fd < 0 || fstat(place->fd, ret_st)) {
        return fail_folder(place, "open", err);
    }
    if (hf__fd_register(place->fd)) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    if (S_ISLNK(ret_st->st_mode)) {
        return hf__fail(err, HF_EUNSAFE,
                        "%s is a symbolic link, which can be turned while "
                        "locks are held; name the folder itself",
                        place->path);
    }
    return S_ISDIR(ret_st->st_mode)
               ? HF_OK
               : hf__fail(err, HF_EUNAVAIL, "%s is not a folder", place->path);
}

/* With a group: what is made there is of it. Where everybody may make files,
 * that says nothing of who did. */
static bool is_of_group(const struct stat *st)
{
    return (st->st_mode & S_ISGID) != 0 && (st->st_mode & S_IWOTH) == 0;
}

/* A folder of another user serves only where that was meant to be shared. */
static int look_at_mode(const struct hf__file_place *place,
                        const struct stat *st, hf_error *err)
{
    bool is_shared = is_of_group(st) && (st->st_mode & S_IWGRP);

    if ((st->st_mode & S_IWOTH) && !(st->st_mode & S_ISVTX)) {
        return hf__fail(err, HF_EUNSAFE,
                        "everybody may remove files in %s, and so break every "
                        "lock; use a private folder, or: chmod o-w '%s'",
                        place->path, place->path);
    }
    if (st->st_uid != geteuid() && st->st_uid != 0 && !is_shared) {
        return hf__fail(err, HF_EUNSAFE,
                        "%s belongs to user %ld, who may remove every lock in "
                        "it; use a folder of your own, or one of a group: "
                        "chmod g+ws '%s'",
                        place->path, (long)st->st_uid, place->path);
    }
    return HF_OK;
}

static int look_at_system(const struct hf__file_place *place, const char *allow,
                          hf_error *err)
{
    struct statfs fs;
    const char *network;

    if (fstatfs(place->fd, &fs)) {
        return fail_folder(place, "look at", err);
    }
    network = hf__netfs_name((uint64_t)fs.f_type);
    if (network != NULL && !hf__is_allowed(allow, "netfs")) {
        return hf__fail(err, HF_EUNSAFE,
                        "%s is on a network file system (%s), where file "
                        "locks do not hold; use a local folder or a server "
                        "(allow=netfs overrides)",
                        place->path, network);
    }
    return HF_OK;
}

int hf__file_place_init(struct hf__file_place *place, const char *path,
                        const char *allow, hf_error *err)
{
    struct stat st;
    int r;

    place->fd = -1;
    if (path == NULL || path[0] == '\0') {
        return hf__fail(err, HF_EINVAL,
                        "a file store needs a folder: file:/some/folder");
    }
    r = set_path(place, path, err);
    if (r == HF_OK) {
        r = look_above(place, err);
    }
    if (r == HF_OK) {
        r = open_folder(place, &st, err);
    }
    if (r == HF_OK) {
        r = look_at_mode(place, &st, err);
    }
    if (r == HF_OK) {
        r = look_at_system(place, allow, err);
    }
    if (r == HF_OK) {
        bool is_shared = is_of_group(&st);

        place->dev = (uint64_t)st.st_dev;
        place->ino = (uint64_t)st.st_ino;
        place->uid = st.st_uid;
        place->gid = st.st_gid;
        place->mode = is_shared ? 0660 : 0600;
        place->reach = is_shared ? HF_REACH_HOST : HF_REACH_USER;
    }
    return r;
}

void hf__file_place_fini(struct hf__file_place *place)
{
    if (place->path != NULL && place->fd >= 0) {
        hf__fd_close(place->fd);
    }
    hf__free(place->path);
    *place = (struct hf__file_place){.fd = -1};
}

int hf__file_place_check(const struct hf__file_place *place, hf_error *err)
{
    struct stat st;

    if (lstat(place->path, &st) || (uint64_t)st.st_ino != place->ino ||
        (uint64_t)st.st_dev != place->dev) {
        return hf__fail(err, HF_EUNSAFE,
                        "the folder %s was removed or replaced while in use; "
                        "stop all programs that use it, then start them again",
                        place->path);
    }
    return HF_OK;
}

void hf__file_place_adorn(const struct hf__file_place *place, int fd)
{
    struct stat st;

    if (fstat(fd, &st)) {
        return;
    }
    /* A setgid folder has given the group already. Where this fails the file
     * stays ours, which is safe. */
    if ((place->mode & S_IWGRP) && st.st_gid != place->gid &&
        fchown(fd, (uid_t)-1, place->gid)) {
        return;
    }
    if ((st.st_mode & 0777) != place->mode) {
        (void)fchmod(fd, place->mode);
    }
}

int hf__file_place_trust(const struct hf__file_place *place, const char *name,
                         const struct stat *st, hf_error *err)
{
    if (!S_ISREG(st->st_mode)) {
        return hf__fail(err, HF_EPROTO, "%s/%s is not a regular file",
                        place->path, name);
    }
    if (st->st_uid != place->uid && st->st_uid != 0 &&
        st->st_uid != geteuid() &&
        !((place->mode & S_IWGRP) && st->st_gid == place->gid)) {
        return hf__fail(err, HF_EUNSAFE,
                        "%s/%s belongs to a stranger (user %ld); remove it",
                        place->path, name, (long)st->st_uid);
    }
    return HF_OK;
}
