/* SPDX-License-Identifier: MIT */
/*
 * Locks on single bytes of the side file that belong to an open file
 * description (fcntl(2), "Open file description locks"), and which byte
 * means what. Never used on a file that SQLite has open. Thread: any.
 */
#ifndef HF_BACKEND_SQLITE_OFD_H
#define HF_BACKEND_SQLITE_OFD_H

#include "src/base/base.h"

#include <fcntl.h>

/* Far behind the contents, so that no reader of the file meets them.
 * LIVES and all above: a process with that life is there (exclusive).
 * PRESENCE: some process uses the store (shared).
 * DOOR: a process is opening it (exclusive). */
#define HF__BYTE_LIVES    (INT64_C(1) << 30)
#define HF__BYTE_PRESENCE (HF__BYTE_LIVES - 1)
#define HF__BYTE_DOOR     (HF__BYTE_LIVES - 2)

/* type is F_RDLCK, F_WRLCK or F_UNLCK. 0, or −1 with errno: at once. */
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
