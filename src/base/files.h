/* SPDX-License-Identifier: MIT */
/*
 * What the stores that live in files have in common: what kind of file system
 * a folder is on, what an errno means to a caller, and the list of overrides.
 * Thread: any.
 */
#ifndef HF_BASE_FILES_H
#define HF_BASE_FILES_H

#include "src/base/base.h"

/* The name of a network file system by statfs()'s f_type, or NULL. Pure. */
const char *hf__netfs_name(uint64_t f_type);

/* Is something mounted right there? Kernels before 5.8 can't tell: false. */
bool hf__is_mount(const char *path);

/* HF_EAUTH for EACCES and EPERM, HF_ENOMEM, else HF_EUNAVAIL. */
int hf__errno_status(int number);

/* Is the word in the comma-separated list, as allow= has it? */
HF_MODULE_API bool hf__is_allowed(const char *allow, const char *word);

#endif
