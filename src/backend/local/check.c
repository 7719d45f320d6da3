/* SPDX-License-Identifier: MIT */
/*
 * What a check says of files and of the file system that they are on. Called by
 * the session's thread.
 */
#include "src/backend/local/local.h"
#include "src/backend/report.h"

#include <stdio.h>

#define TMPFS_TYPE   0x01021994
#define SPACE_MIN_MB 16

void hf__local_tell_file(struct hf__report *to, const char *name,
                         const char *path, const struct stat *st,
                         const char *remedy)
{
    char value[512];

    (void)snprintf(value, sizeof value, "%.400s (%04o, user %ld, group %ld)",
                   path, (unsigned)st->st_mode & 07777, (long)st->st_uid,
                   (long)st->st_gid);
    hf__report_say(to, name, value, remedy);
}

void hf__local_tell_system(struct hf__report *to, const struct statfs *fs,
                           const struct hf__remedies *remedies)
{
    const char *network = hf__netfs_name((uint64_t)fs->f_type);
    uint64_t free_mb = (uint64_t)fs->f_bavail * (uint64_t)fs->f_bsize >> 20;
    char value[64];

    (void)snprintf(value, sizeof value, "%s 0x%lx",
                   network != NULL ? network : "local",
                   (unsigned long)(uint32_t)fs->f_type);
    hf__report_say(to, "file_system", value,
                   network != NULL                      ? remedies->network
                   : (uint32_t)fs->f_type == TMPFS_TYPE ? remedies->memory
                                                        : NULL);
    (void)snprintf(value, sizeof value, "%llu MB", (unsigned long long)free_mb);
    hf__report_say(to, "free_space", value,
                   free_mb < SPACE_MIN_MB ? remedies->space : NULL);
}
