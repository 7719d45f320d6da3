/* SPDX-License-Identifier: MIT */
/*
 * Locks on single bytes of a file that belong to an open file description
 * (fcntl(2), "Open file description locks"): they end when its last descriptor
 * is closed, and closing a descriptor of another description ends none of them.
 * Thread: any.
 */
#ifndef HF_BASE_OFD_H
#define HF_BASE_OFD_H

#include "src/base/base.h"

#include <fcntl.h>

/* type is F_RDLCK, F_WRLCK or F_UNLCK. 0, or −1 with errno; never blocks. */
static inline int hf__ofd_lock(int fd, int type, off_t byte)
{
    struct flock lock = {.l_type = (short)type,
                         .l_whence = SEEK_SET,
                         .l_start = byte,
                         .l_len = 1};

    return fcntl(fd, F_OFD_SETLK, &lock);
}

/* 1: a lock of another open file is in the way; 0: none; −1: can't tell. */
static inline int hf__ofd_test(int fd, int type, off_t byte)
{
    struct flock lock = {.l_type = (short)type,
                         .l_whence = SEEK_SET,
                         .l_start = byte,
                         .l_len = 1};

    if (fcntl(fd, F_OFD_GETLK, &lock)) {
        return -1;
    }
    return lock.l_type != F_UNLCK;
}

#endif
