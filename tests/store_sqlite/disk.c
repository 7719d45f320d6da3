/* SPDX-License-Identifier: MIT */
/*
 * A tmpfs over the test's folder, in a mount namespace of its own, and the
 * file that fills it. Thread: the test's.
 */
#include "tests/store_sqlite/disk.h"

#include "tests/store_sqlite/world.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_line(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool is_written = fd >= 0 && write(fd, text, strlen(text)) > 0;

    if (fd >= 0) {
        (void)close(fd);
    }
    return is_written;
}

/* Ordinary users may mount where they may have namespaces of their own. */
static bool become_root(void)
{
    char users[32];
    char groups[32];

    (void)snprintf(users, sizeof users, "0 %ld 1", (long)geteuid());
    (void)snprintf(groups, sizeof groups, "0 %ld 1", (long)getegid());
    return unshare(CLONE_NEWUSER) == 0 &&
           write_line("/proc/self/setgroups", "deny") &&
           write_line("/proc/self/uid_map", users) &&
           write_line("/proc/self/gid_map", groups);
}

void mount_of(const char *options)
{
    if ((geteuid() != 0 && !become_root()) || unshare(CLONE_NEWNS) ||
        mount("", "/", NULL, MS_REC | MS_PRIVATE, "") ||
        mount("tmpfs", hf__test_folder(), "tmpfs", 0, options)) {
        SKIP("needs to mount a small file system, as root may");
    }
}

void mount_small(void)
{
    mount_of("size=4m,mode=700");
}

int64_t blocks_of(const char *suffix)
{
    struct stat st;

    EXPECT_IS(stat(path_of(suffix), &st), 0);
    return st.st_blocks;
}

static const char *filler(void)
{
    static char path[600];

    (void)snprintf(path, sizeof path, "%s/filler", hf__test_folder());
    return path;
}

void remove_filler(void)
{
    EXPECT_IS(unlink(filler()), 0);
}

void fill(void)
{
    static char block[4096];
    int fd = open(filler(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    EXPECT(fd >= 0);
    while (write(fd, block, sizeof block) > 0) {
        /* Until there is no room for another one. */
    }
    while (write(fd, block, 1) > 0) {
        /* Nor for a byte. */
    }
    (void)close(fd);
}
