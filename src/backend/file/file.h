/* SPDX-License-Identifier: MIT */
/*
 * A session of the file store, as the files of this folder share it. Each uses
 * those below it:
 *
 *     file.c      the folder, sessions and their calls, check()
 *     cells.c     values with versions
 *     scan.c      all files of the folder
 *     read.c      loading a name from its file
 *     write.c     writing what was decided; names without a file
 *     lockfile.c  one lock's file
 *     record.c    its contents: the record and the queue
 *
 * Thread: the session's, except hf__local_interrupt().
 */
#ifndef HF_BACKEND_FILE_FILE_H
#define HF_BACKEND_FILE_FILE_H

#include "src/backend/file/lockfile.h"
#include "src/backend/local/local.h"
#include "src/backend/name/engine.h"

/* DIR/.holdfast, the side file of this store. It serves sessions that find no
 * file for a name: behind the layout it says until when names are held at most,
 * and each held name has a locked byte (held.h). Where the side file was
 * deleted while in use, holders count as alive until their leases end. */
#define HF__SIDE_NAME ".holdfast"

extern const struct hf__side_kind hf__file_side_kind; /* write.c */

struct hf__file_dir {
    struct hf__dir dir; /* its fd is O_PATH */
    struct hf__file_id id;
    char *prefix;
};

struct hf__file {
    struct hf__local local;
    struct hf__file_dir file_dir;
    struct hf__lockfile lockfile; /* the loaded one, see read.c */
    struct hf__name name;         /* what is in it */
    struct hf__inline_participants inline_one;
};

/* ---- read.c */

/* Primitives of the engine. */
int hf__file_load(void *s, const struct hf__key *, const struct hf__op *,
                  bool to_change, struct hf__name **ret_name, hf_error *);
void hf__file_put_down(void *s);
/* Fill the name from the file that was read: what that operation needs, or
 * everything (op NULL, or is_whole). HF_OK or HF_ENOMEM; the caller ends the
 * name whatever the result. */
HF_MUST_CHECK int hf__file_judge(const struct hf__lockfile *,
                                 const struct hf__op *, bool is_whole,
                                 struct hf__name *);

/* ---- write.c */

/* Another primitive. */
int hf__file_commit(void *s, const struct hf__op *, struct hf__name *,
                    struct hf__outcome *);
/* For a name without a record: until when may another token hold it
 * nevertheless (boot clock, µs)? 0: it is not held. */
int64_t hf__file_held_until(struct hf__side *side, const struct hf__key *key,
                            const struct hf__token *mine, int64_t now_us);

/* ---- scan.c */

/* Two more primitives. */
int hf__file_scan(void *s, struct hf__scan *, hf_error *);
int hf__file_forget(void *s, const struct hf__key *, struct hf__name *,
                    int64_t idle_us);
/* A part of a scan: call fn for the file of each lock, or, with `lead`, for
 * each file whose name begins with it. */
typedef int (*hf__file_fn)(struct hf__file *s, const char *name,
                           const struct hf__scan *);
HF_MUST_CHECK int hf__file_walk(struct hf__file *s, struct hf__scan *scan,
                                const char *lead, hf__file_fn fn,
                                hf_error *err);

/* Is `name` the file name of that key, and does the key begin with the
 * prefix? */
bool hf__file_is_named(const struct hf__key *, const char *name,
                       const struct hf__key *prefix);

/* ---- cells.c, called once the folder was checked */

HF_MUST_CHECK int hf__file_cell(struct hf__file *s, struct hf__cell_op *);
HF_MUST_CHECK int hf__file_clean_cells(struct hf__file *s,
                                       const struct hf__key *prefix,
                                       struct hf__gc *g, hf_error *err);

#endif
