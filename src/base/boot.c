/* SPDX-License-Identifier: MIT */
/*
 * Reads the identity of the boot clock. The stores decide what a change of it
 * means. Thread: any.
 */
#include "src/base/boot.h"

#include "src/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int hf__boot_read(char to[HF__BOOT_SIZE], hf_error *err)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    int number = errno;
    ssize_t length = -1;
    struct stat st = {0};
    char text[128];

    memset(to, 0, HF__BOOT_SIZE);
    if (fd >= 0) {
        length = read(fd, to, HF__BOOT_ID_LENGTH);
        (void)close(fd);
    } else if (number != ENOENT && number != EACCES) {
        return hf__fail_native(err, HF_EUNAVAIL, number,
                               "cannot read the boot id: %s",
                               hf__errno_text(number, text, sizeof text));
    }
    if (length != HF__BOOT_ID_LENGTH) {
        return hf__fail(err, HF_EUNSAFE,
                        "cannot read /proc/sys/kernel/random/boot_id, without "
                        "which leases from before a restart can't be told; "
                        "mount /proc");
    }
    /* Before Linux 5.6 there are no time namespaces: stat() fails, and the
     * inode stays 0 for the one clock that there is. */
    (void)stat("/proc/self/ns/time", &st);
    (void)snprintf(to + HF__BOOT_ID_LENGTH, HF__BOOT_SIZE - HF__BOOT_ID_LENGTH,
                   ":%llu", (unsigned long long)st.st_ino);
    return HF_OK;
}
