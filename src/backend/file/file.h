/* SPDX-License-Identifier: MIT */
/*
 * A session of the file store, as the files of this folder share it.
 *
 *     file.c      a session and its calls         name.c      file names
 *     place.c     the folder                      record.c    what is in a file
 *     hold.c      names without a file            lockfile.c  one lock's file
 *     read.c      who stands in it                line.c      who waits
 *     write.c     what was decided                store.c     loading
 *     survey.c    all of the folder               check.c     check()
 *     cells.c     values with versions
 *
 * Thread: the session's, except hf__local_interrupt().
 */
#ifndef HF_BACKEND_FILE_FILE_H
#define HF_BACKEND_FILE_FILE_H

#include "src/backend/file/hold.h"
#include "src/backend/file/lockfile.h"
#include "src/backend/file/place.h"
#include "src/backend/local/local.h"

struct hf__file {
    struct hf__local local;
    struct hf__file_place place;
    struct hf__lockfile lockfile; /* in hand, see store.c */
    struct hf__name name;         /* what is in it */
    struct hf__few few;
};

/* HF_OK, or HF_EUNSAFE: the folder or the side file is not what it was. */
HF_MUST_CHECK int hf__file_check_ground(void *s, hf_error *err);

int hf__file_check(void *state, hf__check_fn fn, void *arg, hf__time deadline,
                   hf_error *err);

#endif
