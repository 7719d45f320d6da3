/* SPDX-License-Identifier: MIT */
/*
 * Holdfast's guard of a file: a process that was stopped for longer than its
 * lease, and then writes what it had computed, is refused. The guard compares
 * the fence of its lock with the highest one so far, so the lock may be of any
 * store.
 *
 *     if (hf_guard_file("/srv/report.json", hf_fence(lock), text, length,
 *                       &err) == HF_LOST) {
 *         … somebody else has had the lock since, and has written …
 *     }
 *
 * A table of your own has hf_mysql_guard_sql() (holdfast-mysql.h) or
 * hf_postgres_guard_sql() (holdfast-postgres.h), a key in Redis the script in
 * docs/reference.md, "Fences that are checked".
 */
#ifndef HOLDFAST_GUARD_H
#define HOLDFAST_GUARD_H

#include "holdfast.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Replace the contents of the file at `path` by `length` bytes, unless a writer
 * with a higher fence came before. This is atomic: readers, who need only the
 * path, find the old bytes or the new ones, also after a power failure. A new
 * file gets the permissions of the old one (and its owner and group, as far as
 * the caller may set them). The same fence may write again.
 *
 * PATH.fence beside it has the highest fence so far, and PATH.new exists during
 * a write. Whoever may write the folder is trusted, and may write PATH.fence,
 * too (its group: in a folder with the setgid bit); all writers must use this
 * function. Never delete PATH.fence while a late writer may still come. A
 * `path` that is a symbolic link is replaced, not followed.
 *
 * Gives: HF_OK; HF_LOST, a writer with a higher fence came before, and nothing
 * was done; HF_BUSY, another write has been under way for 5 s (its writer was
 * stopped in it); HF_EINVAL (the path, fence 0, or 2^53 and more, as of a store
 * without fences), HF_EPROTO (PATH.fence has no number), HF_EUNSAFE (a network
 * file system, or it is no plain file), HF_EAUTH, HF_EUNAVAIL, HF_ENOMEM: the
 * file is as it was, though lower fences may be refused from now on;
 * HF_EUNKNOWN: it was written, but perhaps a power failure undoes it. Any
 * thread, no client. Blocks: up to 5 s, and for the disk.
 */
HF_API HF_MUST_CHECK int hf_guard_file(const char *path, uint64_t fence,
                                       const void *bytes, size_t length,
                                       hf_error *err);

#ifdef __cplusplus
}
#endif

#endif
