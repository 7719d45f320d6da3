/* SPDX-License-Identifier: MIT */
/*
 * The file store's primitives for the engine, and the name that they have in
 * hand. Thread: the session's.
 */
#ifndef HF_BACKEND_FILE_STORE_H
#define HF_BACKEND_FILE_STORE_H

#include "src/backend/file/file.h"
#include "src/backend/name/engine.h"

extern const struct hf__primitives hf__file_primitives;

/* The name of the file that was read, as it stands for that operation, or
 * (NULL, is_whole) altogether. HF_OK or HF_ENOMEM; to be ended in any case. */
HF_MUST_CHECK int hf__file_judge(const struct hf__lockfile *,
                                 const struct hf__op *, bool is_whole,
                                 struct hf__name *);

/* write.c: a primitive of the same. */
int hf__file_commit(void *s, const struct hf__op *, struct hf__name *,
                    struct hf__outcome *);

/* survey.c: two more. */
int hf__file_scan(void *s, struct hf__scan *, hf_error *);
int hf__file_forget(void *s, const struct hf__key *, struct hf__name *,
                    int64_t idle_us);

#endif
