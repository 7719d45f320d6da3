/* SPDX-License-Identifier: MIT */
/*
 * The folders of servers: where they lie, how one is filled from a template,
 * and how one is recognised that was left by a warden which was killed: its
 * file "lock" exists and nobody has locked it. Who removes a folder in good
 * time is the warden. Any process may call this.
 */
#include "tests/lib/runner.h"
#include "tests/servers/servers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define MEMORY "/dev/shm"
enum { ENOUGH_MB = 512, TRIES = 10 };

static bool has_room(const char *path)
{
    struct statvfs room;

    return access(path, W_OK | X_OK) == 0 && statvfs(path, &room) == 0 &&
           (uint64_t)room.f_bavail * room.f_frsize >> 20 >= ENOUGH_MB;
}

const char *hf__servers_parent(bool on_disk)
{
    const char *given = getenv("TMPDIR");

    if (on_disk) {
        return "/var/tmp";
    }
    return has_room(MEMORY) ? MEMORY : given && given[0] ? given : "/tmp";
}

/* The locked descriptor; −1: somebody else has it. */
static int lock_folder(const char *folder, int flags)
{
    char path[HF__SERVERS_PATH + 8];
    struct stat st;
    int fd;

    snprintf(path, sizeof path, "%s/lock", folder);
    fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
    if (fd >= 0 && (flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0 ||
                    st.st_nlink == 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

static void remove_if_left(const char *folder)
{
    struct stat st;
    int lock;

    if (lstat(folder, &st) < 0 || !S_ISDIR(st.st_mode) ||
        st.st_uid != geteuid()) {
        return;
    }
    lock = lock_folder(folder, 0);
    if (lock >= 0) {
        hf__test_remove_tree(folder);
        close(lock);
    }
}

static void remove_what_was_left(const char *parent)
{
    DIR *dir = opendir(parent);
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        char path[HF__SERVERS_PATH];
        int n = snprintf(path, sizeof path, "%s/%s", parent, entry->d_name);

        if (strncmp(entry->d_name, HF__SERVERS_PREFIX,
                    strlen(HF__SERVERS_PREFIX)) == 0 &&
            n < (int)sizeof path) {
            remove_if_left(path);
        }
    }
    if (dir) {
        closedir(dir);
    }
}

int hf__servers_folder(const char *kind, bool on_disk,
                       char path[HF__SERVERS_PATH])
{
    const char *parent = hf__servers_parent(on_disk);

    remove_what_was_left(parent);
    for (int i = 0; i < TRIES; i++) {
        int lock;

        snprintf(path, HF__SERVERS_PATH, "%s/" HF__SERVERS_PREFIX "%s-XXXXXX",
                 parent, kind);
        if (!mkdtemp(path)) {
            break;
        }
        lock = lock_folder(path, O_CREAT);
        if (lock >= 0) {
            return lock;
        }
    }
    hf__servers_fail("mkdtemp %s: %s", path, strerror(errno));
}

static void copy_file(const char *from, const char *to, const struct stat *st)
{
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    off_t left = st->st_size;

    while (in >= 0 && out >= 0 && left > 0) {
        ssize_t n = sendfile(out, in, NULL, (size_t)left);

        if (n <= 0) {
            break;
        }
        left -= n;
    }
    if (in < 0 || out < 0 || left > 0) {
        hf__servers_fail("copy %s to %s: %s", from, to, strerror(errno));
    }
    close(in);
    close(out);
}

void hf__servers_copy(const char *from, const char *to)
{
    DIR *dir = opendir(from);
    struct dirent *entry;

    if (!dir || (mkdir(to, 0700) < 0 && errno != EEXIST)) {
        hf__servers_fail("copy %s to %s: %s", from, to, strerror(errno));
    }
    while ((entry = readdir(dir))) {
        char inner_from[1024];
        char inner_to[1024];
        struct stat st;

        snprintf(inner_from, sizeof inner_from, "%s/%s", from, entry->d_name);
        snprintf(inner_to, sizeof inner_to, "%s/%s", to, entry->d_name);
        if (strcmp(entry->d_name, ".") == 0 ||
            strcmp(entry->d_name, "..") == 0 || lstat(inner_from, &st) < 0) {
            continue;
        }
        if (S_ISDIR(st.st_mode)) {
            hf__servers_copy(inner_from, inner_to);
        } else if (S_ISREG(st.st_mode)) {
            copy_file(inner_from, inner_to, &st);
        }
    }
    closedir(dir);
}
