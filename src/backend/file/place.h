/* SPDX-License-Identifier: MIT */
/*
 * The folder of a file store: may locks live there, with which mode are files
 * made in it, and is it still the one that its path leads to. Thread: any.
 */
#ifndef HF_BACKEND_FILE_PLACE_H
#define HF_BACKEND_FILE_PLACE_H

#include "src/backend/local/ground.h"

struct hf__file_place {
    struct hf__ground ground; /* its fd is O_PATH */
    struct hf__file_id id;
    char *prefix;
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

#endif
