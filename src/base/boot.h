/* SPDX-License-Identifier: MIT */
/*
 * The identity of CLOCK_BOOTTIME: the clock is another one after a restart of
 * the machine and in another time namespace, and points in time of two of them
 * can't be compared. Thread: any.
 */
#ifndef HF_BASE_BOOT_H
#define HF_BASE_BOOT_H

#include "src/base/base.h"

#define HF__BOOT_ID_LENGTH 36
#define HF__BOOT_SIZE      64

/* Writes the boot id, ':' and the inode of the time namespace, padded with
 * zeros. HF_OK; HF_EUNSAFE: /proc does not give the boot id; HF_EUNAVAIL: it
 * can't be opened for now. */
HF_MUST_CHECK int hf__boot_read(char to[HF__BOOT_SIZE], hf_error *err);

#endif
