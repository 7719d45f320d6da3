/* SPDX-License-Identifier: MIT */
/*
 * Facts about files that several stores need. Each store decides what follows
 * from them and words its own errors. Thread: any.
 */
#include "src/base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Not every libc has statx(). */
#ifndef STATX_INO
#include <linux/stat.h>
#endif
/* STATX_ATTR_MOUNT_ROOT, which older headers lack. */
#define MOUNT_ROOT UINT64_C(0x2000)

const char *hf__netfs_name(uint64_t f_type)
{
    static const struct {
        uint32_t type;
        const char *name;
    } known[] = {
        {0x6969, "NFS"},        {0xfe534d42, "SMB"},    {0xff534d42, "CIFS"},
        {0x517b, "SMB"},        {0x65735546, "FUSE"},   {0x01021997, "9p"},
        {0x00c36400, "Ceph"},   {0x0bd00bd0, "Lustre"}, {0x47504653, "GPFS"},
        {0x5346414f, "AFS"},    {0x6b414653, "AFS"},    {0x7461636f, "OCFS2"},
        {0x01161970, "GFS2"},   {0x73757245, "Coda"},   {0x564c, "NCP"},
        {0x19830326, "BeeGFS"}, {0xaad7aaea, "PanFS"},  {0x786f4256, "vboxsf"},
        {0xbacbacbc, "vmhgfs"},
    };

    /* f_type is signed on some machines: only its low 32 bits count. */
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if ((uint32_t)f_type == known[i].type) {
            return known[i].name;
        }
    }
    return NULL;
}

bool hf__is_mount(const char *path)
{
    struct statx stx;

    return syscall(SYS_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_INO,
                   &stx) == 0 &&
           (stx.stx_attributes & stx.stx_attributes_mask & MOUNT_ROOT) != 0;
}

int hf__errno_status(int number)
{
    if (number == EACCES || number == EPERM) {
        return HF_EAUTH;
    }
    return number == ENOMEM ? HF_ENOMEM : HF_EUNAVAIL;
}

bool hf__is_allowed(const char *allow, const char *word)
{
    size_t length = strlen(word);

    while (allow != NULL && *allow) {
        size_t span = strcspn(allow, ",");

        if (span == length && memcmp(allow, word, length) == 0) {
            return true;
        }
        allow += span;
        allow += *allow == ',';
    }
    return false;
}
