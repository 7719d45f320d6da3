/* SPDX-License-Identifier: MIT */
/*
 * Shared by the stores that live in files: the kind of file system that a
 * folder is on, the status for an errno, and the list of overrides. Thread:
 * any.
 */
#ifndef HF_BASE_FILES_H
#define HF_BASE_FILES_H

#include "src/base/base.h"

/* The name of a network file system by statfs()'s f_type, or NULL. Pure. */
const char *hf__netfs_name(uint64_t f_type);

/* Is the path itself a mount point? Kernels before 5.8 can't tell: false. */
bool hf__is_mount(const char *path);

/* Gives HF_EAUTH for EACCES and EPERM, HF_ENOMEM for ENOMEM, else
 * HF_EUNAVAIL. */
int hf__errno_status(int number);

/* Is the word in the comma-separated list, such as that of allow=? */
HF_MODULE_API bool hf__is_allowed(const char *allow, const char *word);

#endif
