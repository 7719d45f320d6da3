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

/* A part of a scan: fn for the file of each lock, or (lead) each file whose
 * name begins so. */
typedef int (*hf__file_fn)(struct hf__file *s, const char *name,
                           const struct hf__scan *);
HF_MUST_CHECK int hf__file_walk(struct hf__file *s, struct hf__scan *scan,
                                const char *lead, hf__file_fn fn,
                                hf_error *err);

/* cells.c: cell(), and gc() of cells, once the ground was checked. */
int hf__file_cell(void *s, struct hf__cell_op *, hf__time deadline, hf_error *);
HF_MUST_CHECK int hf__file_clean_cells(struct hf__file *s,
                                       const struct hf__key *prefix,
                                       struct hf__gc *g, hf_error *err);

#endif
