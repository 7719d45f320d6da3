/* SPDX-License-Identifier: MIT */
/*
 * Checks of a store's folder and of the files in it. Their contents are left to
 * the stores. Called by any thread that opens or uses a session.
 */
#include "src/backend/local/dir.h"

#include "src/base/alloc.h"
#include "src/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int fail(hf_error *err, int status, int number, const char *doing,
                const char *prefix, const char *name)
{
    char text[128];

    return hf__fail_native(err, status, number, "cannot %s %s%s: %s", doing,
                           prefix, name,
                           hf__errno_text(number, text, sizeof text));
}

int hf__dir_fail(const struct hf__dir *dir, const char *doing, const char *name,
                 hf_error *err)
{
    int number = errno;

    switch (number) {
    case ELOOP:
        return hf__fail_native(err, HF_EUNSAFE, number,
                               "%s%s is a symbolic link; remove it",
                               dir->prefix, name);
    case EISDIR:
    case ENXIO:
        return hf__fail_native(err, HF_EPROTO, number,
                               "%s%s is not a regular file", dir->prefix, name);
    case ENOSPC:
    case EDQUOT:
        return hf__fail_native(err, HF_EUNAVAIL, number,
                               "disk full: cannot %s %s%s", doing, dir->prefix,
                               name);
    default:
        return fail(err, hf__errno_status(number), number, doing, dir->prefix,
                    name);
    }
}

int hf__dir_fail_itself(const char *folder, const char *doing, hf_error *err)
{
    int number = errno;

    return number == ENOENT
               ? hf__fail_native(err, HF_EUNAVAIL, ENOENT,
                                 "the folder %s does not exist; make it: "
                                 "mkdir -p -m 700 '%s'",
                                 folder, folder)
               : fail(err, hf__errno_status(number), number, doing,
                      "the folder ", folder);
}

int hf__dir_name(struct hf__dir *dir, const char *path, size_t room,
                 hf_error *err)
{
    char whole[PATH_MAX + 1] = "";
    size_t used;

    if (path[0] != '/' && !getcwd(whole, sizeof whole - 1)) {
        return fail(err, hf__errno_status(errno), errno, "find", "",
                    "the working folder");
    }
    used = strlen(whole);
    if (used + strlen(path) + room + 2 > sizeof whole) {
        return hf__fail(err, HF_EINVAL, "the path %.64s… is too long", path);
    }
    (void)snprintf(whole + used, sizeof whole - used, "%s%s",
                   path[0] == '/' ? "" : "/", path);
    dir->store = hf__strdup(whole);
    return dir->store != NULL ? HF_OK
                              : hf__fail(err, HF_ENOMEM, "out of memory");
}

int hf__dir_check(const char *folder, const struct stat *st,
                  const struct statfs *fs, const char *allow, const char *whose,
                  hf_error *err)
{
    const char *network = hf__netfs_name((uint64_t)fs->f_type);

    if (!S_ISDIR(st->st_mode)) {
        return hf__fail(err, HF_EUNAVAIL, "%s is not a folder", folder);
    }
    if ((st->st_mode & S_IWOTH) && !(st->st_mode & S_ISVTX)) {
        return hf__fail(err, HF_EUNSAFE,
                        "everybody may remove files in %s, and so break every "
                        "lock; use a private folder, or: chmod o-w '%s'",
                        folder, folder);
    }
    if (network != NULL && !hf__is_allowed(allow, "netfs")) {
        return hf__fail(err, HF_EUNSAFE,
                        "%s is on a network file system (%s), where %s do not "
                        "hold; use a local folder or a server (allow=netfs "
                        "overrides)",
                        folder, network, whose);
    }
    return HF_OK;
}

void hf__dir_set_owner_mode(const struct hf__dir *dir, int fd)
{
    struct stat st;

    if (fstat(fd, &st)) {
        return;
    }
    /* In a setgid folder the file has the group already. If chown fails, the
     * file stays ours, which is safe. */
    if (st.st_gid != dir->gid && fchown(fd, (uid_t)-1, dir->gid)) {
        return;
    }
    /* Only root can give a file away, and must not give one that may have a
     * second name. */
    if (geteuid() == 0 && dir->has_sole_names && st.st_uid != dir->uid &&
        fchown(fd, dir->uid, dir->gid)) {
        return;
    }
    if ((st.st_mode & 0777) != dir->mode) {
        (void)fchmod(fd, dir->mode);
    }
}

bool hf__dir_is_strangers(const struct hf__dir *dir, const struct stat *st)
{
    return st->st_uid != dir->uid && st->st_uid != geteuid() &&
           st->st_uid != 0 &&
           !((dir->mode & S_IWGRP) && st->st_gid == dir->gid &&
             !dir->lends_group);
}

int hf__dir_check_file(const struct hf__dir *dir, const char *name,
                       const struct stat *st, hf_error *err)
{
    if (S_ISLNK(st->st_mode)) {
        errno = ELOOP;
        return hf__dir_fail(dir, "use", name, err);
    }
    if (!S_ISREG(st->st_mode)) {
        errno = EISDIR;
        return hf__dir_fail(dir, "use", name, err);
    }
    if (st->st_nlink > 1 && dir->has_sole_names) {
        return hf__fail(err, HF_EUNSAFE,
                        "%s%s has a second name (a hard link), and may be "
                        "anybody's file; remove it",
                        dir->prefix, name);
    }
    return HF_OK;
}

int hf__dir_check_file_owner(const struct hf__dir *dir, const char *name,
                             const struct stat *st, hf_error *err)
{
    int r = hf__dir_check_file(dir, name, st, err);

    return r == HF_OK && hf__dir_is_strangers(dir, st)
               ? hf__fail(err, HF_EUNSAFE,
                          "%s%s belongs to a stranger (user %ld); remove it",
                          dir->prefix, name, (long)st->st_uid)
               : r;
}

struct hf__file_id hf__dir_id(const struct hf__dir *dir, const char *name)
{
    struct stat st;

    return fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW)
               ? (struct hf__file_id){0, 0}
               : hf__id_of(&st);
}
