/* SPDX-License-Identifier: MIT */
/*
 * Which byte of the side file means what; see base/ofd.h. Such locks are
 * never used on a file that SQLite has open. Thread: any.
 */
#ifndef HF_BACKEND_SQLITE_OFD_H
#define HF_BACKEND_SQLITE_OFD_H

#include "src/base/ofd.h"

/* Far behind the contents, so that no reader of the file meets them.
 * LIVES and all above: a process with that life is there (exclusive).
 * PRESENCE: some process uses the store (shared).
 * DOOR: a process is opening it (exclusive). */
#define HF__BYTE_LIVES    (INT64_C(1) << 30)
#define HF__BYTE_PRESENCE (HF__BYTE_LIVES - 1)
#define HF__BYTE_DOOR     (HF__BYTE_LIVES - 2)

#endif
