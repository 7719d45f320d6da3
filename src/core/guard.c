/* SPDX-License-Identifier: MIT */
/*
 * hf_guard_file(): replaces a file unless the writer is late. PATH.fence is
 * locked while its number is compared and the file replaced, so that this is
 * one step for all who write with hf_guard_file(); and the number is on the
 * disk before the bytes are, so that no crash in between lets an older writer
 * in. Called by users' threads.
 */
#include "include/holdfast-guard.h"
#include "src/backend/backend.h"
#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/ofd.h"
#include "src/base/wake.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define WAIT_MS  5000
#define PAUSE_MS 5
/* The number has a fixed width, so that it is overwritten in one piece. */
#define DIGITS     16
#define LINE       (DIGITS + 1)
#define MODE       0666
#define SUFFIX_MAX 8

struct guard {
    const char *path;
    const char *name; /* last part of the path */
    char fence_name[NAME_MAX + 1];
    char new_name[NAME_MAX + 1];
    int folder;
    int fence_fd; /* ≥ 0: open, and locked after open_fence() */
    uint64_t fence;
    uint64_t stored;
    struct stat old; /* the file to be replaced, */
    bool had_one;    /* if there is one */
    hf_error *err;
};

static int fail(const struct guard *g, const char *what, const char *suffix)
{
    int error = errno;
    char text[64];

    return hf__fail_native(g->err, hf__errno_status(error), error,
                           "%s %s%s: %s", what, g->path, suffix,
                           hf__errno_text(error, text, sizeof text));
}

/* ---- the path */

static int open_folder(struct guard *g)
{
    size_t length = (size_t)(g->name - g->path);
    char folder[PATH_MAX] = ".";
    struct statfs fs;
    const char *net = NULL;

    if (length > 0) {
        memcpy(folder, g->path, length);
        folder[length] = '\0';
    }
    g->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (g->folder < 0 || fstatfs(g->folder, &fs) < 0) {
        return fail(g, "open the folder of", "");
    }
    net = hf__netfs_name((uint64_t)fs.f_type);
    if (net != NULL) {
        return hf__fail(g->err, HF_EUNSAFE,
                        "%s is on a network file system (%s), whose locks and "
                        "renames are not one step for all hosts",
                        g->path, net);
    }
    return HF_OK;
}

static int split(struct guard *g)
{
    const char *slash = strrchr(g->path, '/');
    size_t length;

    g->name = slash == NULL ? g->path : slash + 1;
    length = strlen(g->name);
    if (length == 0 || length + SUFFIX_MAX > NAME_MAX ||
        strlen(g->path) >= PATH_MAX || strcmp(g->name, ".") == 0 ||
        strcmp(g->name, "..") == 0) {
        return hf__fail(g->err, HF_EINVAL,
                        "\"%s\" is no path of a file: its name has 1 to %d "
                        "bytes",
                        g->path, NAME_MAX - SUFFIX_MAX);
    }
    (void)snprintf(g->fence_name, sizeof g->fence_name, "%s.fence", g->name);
    (void)snprintf(g->new_name, sizeof g->new_name, "%s.new", g->name);
    return HF_OK;
}

/* ---- the fence's file */

/* The name still leads to the file that is open. */
static bool is_in_place(const struct guard *g)
{
    struct stat open_one;
    struct stat named;

    return fstat(g->fence_fd, &open_one) == 0 &&
           fstatat(g->folder, g->fence_name, &named, AT_SYMLINK_NOFOLLOW) ==
               0 &&
           open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

static int lock_fence(const struct guard *g, hf__time limit)
{
    while (hf__ofd_lock(g->fence_fd, F_WRLCK, 0) < 0) {
        if (errno != EAGAIN && errno != EACCES && errno != EINTR) {
            return fail(g, "lock", ".fence");
        }
        if (!hf__before(hf__now(), limit)) {
            return hf__fail(g->err, HF_BUSY,
                            "another write of %s has been under way for %d s; "
                            "is its writer stopped?",
                            g->path, WAIT_MS / 1000);
        }
        hf__sleep_until(hf__after_ms(hf__now(), PAUSE_MS));
    }
    return HF_OK;
}

/* Let all who may write the folder write this file too, but no one else even
 * read it: with a lock for reading, a reader would keep writers out. */
static void lend_fence(const struct guard *g)
{
    struct stat folder;

    if (fstat(g->folder, &folder) == 0) {
        bool is_shared = (folder.st_mode & S_ISVTX) == 0;
        mode_t mode = 0600 | ((folder.st_mode & S_IWGRP) != 0 ? 0060 : 0) |
                      (is_shared && (folder.st_mode & S_IWOTH) != 0 ? 0006 : 0);

        (void)fchmod(g->fence_fd, mode);
    }
}

/* Open the file, or create it. fence_fd is −1 with errno on failure. */
static void open_or_make(struct guard *g)
{
    int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;

    do {
        g->fence_fd = openat(g->folder, g->fence_name, flags);
        if (g->fence_fd < 0 && errno == ENOENT) {
            g->fence_fd = openat(g->folder, g->fence_name,
                                 flags | O_CREAT | O_EXCL, 0600);
            if (g->fence_fd >= 0) {
                lend_fence(g);
            }
        }
    } while (g->fence_fd < 0 && (errno == EEXIST || errno == EINTR));
}

/* Try until the file is both locked and in place. */
static int open_fence(struct guard *g)
{
    hf__time limit = hf__after_ms(hf__now(), WAIT_MS);
    int r;

    for (;;) {
        struct stat st;

        open_or_make(g);
        if (g->fence_fd < 0 && errno != ELOOP) {
            return fail(g, "open", ".fence");
        }
        if (g->fence_fd < 0 || fstat(g->fence_fd, &st) < 0 ||
            !S_ISREG(st.st_mode) || st.st_nlink > 1) {
            return hf__fail(g->err, HF_EUNSAFE,
                            "%s.fence is no plain file of one name", g->path);
        }
        r = lock_fence(g, limit);
        if (r != HF_OK || is_in_place(g)) {
            return r;
        }
        (void)close(g->fence_fd);
        g->fence_fd = -1;
    }
}

static int read_number(struct guard *g)
{
    char text[LINE + 2] = "";
    ssize_t n = pread(g->fence_fd, text, LINE + 1, 0);

    if (n < 0) {
        return fail(g, "read", ".fence");
    }
    if (n == 0) {
        return HF_OK; /* no write yet */
    }
    if (n != LINE || text[DIGITS] != '\n' ||
        strspn(text, "0123456789") != DIGITS) {
        return hf__fail(g->err, HF_EPROTO,
                        "%s.fence does not have the number of %d digits that "
                        "was written there; write into it a line with that of "
                        "the last holder",
                        g->path, DIGITS);
    }
    g->stored = strtoull(text, NULL, 10);
    return HF_OK;
}

/* Write the number even if it is the same: its earlier writer may have died, or
 * failed, before it was on the disk. A file that has a number has room for
 * another. */
static int raise_number(struct guard *g)
{
    char line[LINE + 8];
    ssize_t n;

    (void)snprintf(line, sizeof line, "%0*llu\n", DIGITS,
                   (unsigned long long)g->fence);
    n = pwrite(g->fence_fd, line, LINE, 0);
    if (n != LINE) {
        errno = n < 0 ? errno : ENOSPC;
        if (g->stored == 0) {
            (void)!ftruncate(g->fence_fd, 0);
        }
        return fail(g, "write", ".fence");
    }
    return fsync(g->fence_fd) < 0 || fsync(g->folder) < 0
               ? fail(g, "write", ".fence")
               : (int)HF_OK;
}

/* ---- the guarded file */

static int write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, bytes, length);

        if (n < 0 && errno != EINTR) {
            return -1;
        }
        bytes += n > 0 ? n : 0;
        length -= n > 0 ? (size_t)n : 0;
    }
    return fsync(fd);
}

static int look_at_old(struct guard *g)
{
    if (fstatat(g->folder, g->name, &g->old, AT_SYMLINK_NOFOLLOW) < 0) {
        return errno == ENOENT ? (int)HF_OK : fail(g, "look at", "");
    }
    if (!S_ISREG(g->old.st_mode) && !S_ISLNK(g->old.st_mode)) {
        return hf__fail(g->err, HF_EUNSAFE, "%s is no plain file", g->path);
    }
    g->had_one = S_ISREG(g->old.st_mode);
    return HF_OK;
}

/* Give the new file the owner, group and permissions of the old one, as far as
 * we are allowed to. If the group cannot be set, the group gets no access;
 * set-user-ID and set-group-ID bits are dropped. */
static int lend_new(const struct guard *g, int fd)
{
    mode_t mode = g->old.st_mode & 0777;
    struct stat made;

    if (fstat(fd, &made) < 0) {
        return -1;
    }
    if ((made.st_uid != g->old.st_uid || made.st_gid != g->old.st_gid) &&
        fchown(fd, g->old.st_uid, g->old.st_gid) < 0 &&
        made.st_gid != g->old.st_gid &&
        fchown(fd, (uid_t)-1, g->old.st_gid) < 0) {
        mode &= 0707;
    }
    return fchmod(fd, mode);
}

static int make_new(const struct guard *g, const void *bytes, size_t length)
{
    int fd;
    int r = HF_OK;

    (void)unlinkat(g->folder, g->new_name, 0); /* left by a writer that died */
    fd = openat(g->folder, g->new_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                g->had_one ? 0600 : MODE);
    if (fd < 0) {
        return fail(g, "make", ".new");
    }
    if ((g->had_one && lend_new(g, fd) < 0) ||
        write_all(fd, bytes, length) < 0) {
        r = fail(g, "write", ".new");
        (void)unlinkat(g->folder, g->new_name, 0);
    }
    (void)close(fd);
    return r;
}

static int put_in_place(const struct guard *g)
{
    if (renameat(g->folder, g->new_name, g->folder, g->name) < 0) {
        int r = fail(g, "replace", "");

        (void)unlinkat(g->folder, g->new_name, 0);
        return r;
    }
    if (fsync(g->folder) < 0) {
        return hf__fail(g->err, HF_EUNKNOWN,
                        "%s was written, but the disk did not confirm it",
                        g->path);
    }
    return HF_OK;
}

static int write_guarded(struct guard *g, const void *bytes, size_t length)
{
    int r = split(g);

    r = r == HF_OK ? open_folder(g) : r;
    r = r == HF_OK ? open_fence(g) : r;
    r = r == HF_OK ? look_at_old(g) : r;
    r = r == HF_OK ? read_number(g) : r;
    if (r == HF_OK && g->fence < g->stored) {
        return hf__fail(g->err, HF_LOST,
                        "the fence %llu is late: a holder with %llu has come "
                        "to write %s",
                        (unsigned long long)g->fence,
                        (unsigned long long)g->stored, g->path);
    }
    r = r == HF_OK ? raise_number(g) : r;
    r = r == HF_OK ? make_new(g, bytes, length) : r;
    return r == HF_OK ? put_in_place(g) : r;
}

int hf_guard_file(const char *path, uint64_t fence, const void *bytes,
                  size_t length, hf_error *err)
{
    struct guard g = {
        .path = path, .folder = -1, .fence_fd = -1, .fence = fence, .err = err};
    int r;

    if (path == NULL || (bytes == NULL && length > 0)) {
        return hf__fail(err, HF_EINVAL,
                        "hf_guard_file() needs a path, and bytes");
    }
    if (fence == 0 || fence >= HF__FENCE_END) {
        return hf__fail(err, HF_EINVAL,
                        "%llu is no fence: take it from hf_fence(), of a store "
                        "that has HF_CAP_FENCE",
                        (unsigned long long)fence);
    }
    r = write_guarded(&g, bytes, length);
    if (g.fence_fd >= 0) {
        /* A forked child may have the descriptor too, so closing does not
         * unlock. */
        (void)hf__ofd_lock(g.fence_fd, F_UNLCK, 0);
        (void)close(g.fence_fd);
    }
    if (g.folder >= 0) {
        (void)close(g.folder);
    }
    return r;
}
