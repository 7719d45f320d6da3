/* SPDX-License-Identifier: MIT */
/*
 * Which clock a point on CLOCK_BOOTTIME belongs to: that of one start of the
 * machine, as one time namespace sees it. Thread: any.
 */
#ifndef HF_BASE_BOOT_H
#define HF_BASE_BOOT_H

#include "src/base/base.h"

#define HF__BOOT_ID_LENGTH 36
#define HF__BOOT_SIZE      64

/* Boot id ':' inode of the time namespace, zeros behind. HF_OK; HF_EUNSAFE:
 * it can't be told; HF_EUNAVAIL: not now. */
HF_MUST_CHECK int hf__boot_read(char to[HF__BOOT_SIZE], hf_error *err);

#endif
