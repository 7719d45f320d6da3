/* SPDX-License-Identifier: MIT */
/*
 * The folder of a file store: may locks live there, with which mode are files
 * made in it, and is it still the one that its path leads to. Thread: any.
 */
#ifndef HF_BACKEND_FILE_PLACE_H
#define HF_BACKEND_FILE_PLACE_H

#include "src/base/base.h"

#include <sys/stat.h>
#include <sys/types.h>

struct hf__file_place {
    char *path; /* absolute, without a '/' at the end */
    int fd;     /* of the folder, O_PATH; −1: not open */
    uint64_t dev;
    uint64_t ino;
    mode_t mode; /* of the files in it */
    uid_t uid;   /* whose folder it is */
    gid_t gid;
    hf_reach reach;
};

/*
 * Look at the folder, make it if only its last part is missing, and open it.
 * Gives HF_OK, HF_EINVAL (no path), HF_EUNAVAIL, HF_EAUTH, HF_EUNSAFE,
 * HF_ENOMEM. place is to be zeroed before, and given to fini in any case.
 */
HF_MUST_CHECK int hf__file_place_init(struct hf__file_place *place,
                                      const char *path, const char *allow,
                                      hf_error *err);
void hf__file_place_fini(struct hf__file_place *place);

/* HF_OK, or HF_EUNSAFE: the path leads to another folder by now, or none. */
HF_MUST_CHECK int hf__file_place_check(const struct hf__file_place *place,
                                       hf_error *err);

/* Give a file that was just made the folder's mode and group. */
void hf__file_place_adorn(const struct hf__file_place *place, int fd);
/* Is the open file one that only we and those we trust can have made? HF_OK,
 * HF_EPROTO (no regular file), HF_EUNSAFE (a stranger's). */
HF_MUST_CHECK int hf__file_place_trust(const struct hf__file_place *place,
                                       const char *name, const struct stat *st,
                                       hf_error *err);

/* "cannot open DIR/name: …", by errno. */
int hf__file_fail_errno(const struct hf__file_place *place, const char *doing,
                        const char *name, hf_error *err);

#endif
