/* SPDX-License-Identifier: MIT */
/*
 * A session of the file store, as the files of this folder share it.
 *
 *     file.c     a session and its calls         name.c     file names
 *     place.c    the folder                      record.c   what is in a file
 *     side.c     who lives; words to sleep on    cell.c     one lock's file
 *     held.c     what this process holds         line.c     who waits
 *     judge.c    where they stand                store.c    loading, sleeping
 *     write.c    what was decided                survey.c   all of the folder
 *     check.c    check()
 *
 * Thread: the session's, except hf__file_interrupt().
 */
#ifndef HF_BACKEND_FILE_FILE_H
#define HF_BACKEND_FILE_FILE_H

#include "src/backend/file/cell.h"
#include "src/backend/file/place.h"
#include "src/backend/file/side.h"
#include "src/backend/shared.h"
#include "src/base/boot.h"

struct hf__file {
    struct hf__head head;
    struct hf__file_place place;
    struct hf__file_side *side;
    struct hf__nap nap;
    struct hf__heard heard;
    char boot[HF__BOOT_SIZE];
    struct hf__cell cell; /* in hand, see store.c */
    struct hf__name name; /* what is in it */
    struct hf__few few;
    hf__time deadline; /* of the call that runs */
};

/* Must the running call end? */
static inline bool hf__file_is_over(struct hf__file *s)
{
    return hf__is_interrupted(&s->head) || !hf__before(hf__now(), s->deadline);
}

/* HF_OK, or HF_EUNSAFE: the folder or the side file is not what it was. */
HF_MUST_CHECK int hf__file_check_ground(struct hf__file *s, hf_error *err);

int hf__file_check(void *state, hf__check_fn fn, void *arg, hf__time deadline,
                   hf_error *err);

#endif
