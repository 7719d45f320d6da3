/* SPDX-License-Identifier: MIT */
/*
 * What a lock's file is called. Thread: any.
 */
#ifndef HF_BACKEND_FILE_NAME_H
#define HF_BACKEND_FILE_NAME_H

#include "src/backend/backend.h"

#define HF__FILE_NAME_SIZE 256

/* What files are called that are not locks yet; see lockfile.c. */
#define HF__ASIDE      ".new-"
#define HF__ASIDE_SIZE 32

/*
 * Small letters, digits and - _ : = @ , stand for themselves, as does a dot
 * that is not the first; a capital is '+' and its small letter, all else is
 * '%' and two small hex digits. So two keys never meet in one file, also
 * where the file system folds case or Unicode, and what begins with a dot is
 * never a lock. What would be longer than 200 bytes is cut and ends in "%_"
 * and a hash of the whole key, which stands in the file.
 */
void hf__file_name(const struct hf__key *key, char to[HF__FILE_NAME_SIZE]);

#endif
