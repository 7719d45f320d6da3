/* SPDX-License-Identifier: MIT */
/*
 * The files of the file store, for tests that meddle with them.
 */
#ifndef HF_TESTS_STORE_FILE_FILES_H
#define HF_TESTS_STORE_FILE_FILES_H

#include "src/backend/file/record.h"
#include "tests/store_sqlite/world.h"

/* "<the store's folder>/NAME", valid until the fourth next call. */
const char *file_of(const char *name);
/* The file of the lock "job", as the words of world.h name it. */
#define JOB "test:job"

/* Break the grant with that fence; 0: any. p->fence is the raised one. */
int break_it(struct peer *p, const char *name, uint64_t fence);

void read_slots(const char *path, struct hf__file_slots *ret_slots);
void write_bytes(const char *path, const void *bytes, size_t length);
/* The second half of the side file is gone, as by a hand or a full disk. */
void cut_side_file(void);

#endif
