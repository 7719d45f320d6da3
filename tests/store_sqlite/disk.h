/* SPDX-License-Identifier: MIT */
/*
 * A disk that is small, and full when the test says so. It is the test's
 * folder, for the process that mounts it and its children; where that may not
 * be, the test is skipped.
 */
#ifndef HF_TESTS_STORE_SQLITE_DISK_H
#define HF_TESTS_STORE_SQLITE_DISK_H

#include <stdint.h>

void mount_small(void);
/* With options of tmpfs: "size=4m,mode=700" is small. */
void mount_of(const char *options);

/* To the last byte, and again what has become free; or make it empty. */
void fill(void);
void remove_filler(void);

/* That path_of(suffix) has on the disk. */
int64_t blocks_of(const char *suffix);

#endif
