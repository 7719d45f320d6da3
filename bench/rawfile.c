/* SPDX-License-Identifier: MIT */
/*
 * Locks in files by hand: open, an OFD lock, is it still the file of that
 * name, read the record, write the next one, unlock, close. Left out is what
 * the library adds: leases and their renewal, who is dead, waking, lines,
 * files that are damaged or deleted while held.
 */
#include "bench/rawfile.h"

#include "bench/measure.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* About as long as ours, whose labels may be 255 bytes. */
struct record {
    uint64_t fence;
    int64_t acquired_us;
    int64_t pid;
    char host[65];
    char owner[256];
    char note[256];
};

static bool is_in_place(int fd, const char *path)
{
    struct stat held;
    struct stat named;

    return !fstat(fd, &held) && !stat(path, &named) &&
           held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

static void write_holder(int fd, const char *path)
{
    struct record record = {0};
    struct timespec now;
    int64_t now_us;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    now_us = now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
    if (pread(fd, &record, sizeof record, 0) < 0) {
        bench_fail("%s: %s", path, strerror(errno));
    }
    record.fence =
        record.fence >= (uint64_t)now_us ? record.fence + 1 : (uint64_t)now_us;
    record.acquired_us = now_us;
    record.pid = getpid();
    memcpy(record.host, "localhost", 10);
    memcpy(record.owner, "bench", 6);
    if (pwrite(fd, &record, sizeof record, 0) != (ssize_t)sizeof record) {
        bench_fail("%s: %s", path, strerror(errno));
    }
}

static int take(const char *path)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0) {
        bench_fail("%s: %s", path, strerror(errno));
    }
    if (fcntl(fd, F_OFD_SETLK, &lock) || !is_in_place(fd, path)) {
        (void)close(fd);
        return -1;
    }
    write_holder(fd, path);
    return fd;
}

bool rawfile_pair(const char *path)
{
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_len = 1};
    int fd = take(path);

    if (fd < 0) {
        return false;
    }
    (void)fcntl(fd, F_OFD_SETLK, &lock);
    (void)close(fd);
    return true;
}
