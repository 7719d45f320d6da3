/* SPDX-License-Identifier: MIT */
/*
 * One lock's file: what it is called, finding it, reading its record, and
 * changing it under the file's own lock, which lasts for microseconds. A file
 * that was deleted or replaced while it was open is found out afterwards, by
 * comparing it with what its name leads to; then all is done again. Thread: the
 * session's.
 */
#ifndef HF_BACKEND_FILE_LOCKFILE_H
#define HF_BACKEND_FILE_LOCKFILE_H

#include "src/backend/file/record.h"

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

struct hf__file;

struct hf__lockfile {
    struct hf__file *s;
    char name[HF__FILE_NAME_SIZE];
    int fd; /* −1: there is no such file */
    bool is_locked;
    bool is_torn; /* somebody did not finish writing */
    bool is_left; /* a power failure damaged it; the record is a blank one */
    struct hf__file_id id;
    int64_t ctime_us;
    int64_t size;                  /* when it was opened */
    struct hf__file_record record; /* fence 0: there is none, or a blank one */
    struct hf__file_waiters waiters; /* who waits, as read with the record */
};

/* Open what there is for the key. HF_OK also if there is nothing; HF_EAUTH,
 * HF_EUNAVAIL, HF_EPROTO, HF_EUNSAFE. To be closed in any case. */
HF_MUST_CHECK int hf__lockfile_open(struct hf__file *s,
                                    const struct hf__key *key,
                                    struct hf__lockfile *lockfile,
                                    hf_error *err);
/* The same for a file of that name, of whatever key. */
HF_MUST_CHECK int hf__lockfile_open_name(struct hf__file *s, const char *name,
                                         struct hf__lockfile *lockfile,
                                         hf_error *err);
void hf__lockfile_close(struct hf__lockfile *lockfile);

/* Make the file, with a blank record; harmless if somebody just did. */
HF_MUST_CHECK int hf__lockfile_create(struct hf__lockfile *lockfile,
                                      const struct hf__key *key, hf_error *err);
/* Read the record and the queue; key NULL: of any key. HF_OK, HF_EPROTO
 * (damaged, not one of ours), HF_EUNAVAIL, HF_ENOMEM. What a power failure left
 * is a blank one. */
HF_MUST_CHECK int hf__lockfile_read(struct hf__lockfile *lockfile,
                                    const struct hf__key *key, hf_error *err);
/* Keep all others from changing it. False: not until `limit`. */
HF_MUST_CHECK bool hf__lockfile_lock(struct hf__lockfile *lockfile,
                                     hf__time limit);
/* Write lockfile->record, as the one that counts from now on, into a file that
 * is locked and not one that was left. HF_OK; HF_EUNAVAIL: surely not;
 * HF_EUNKNOWN. */
HF_MUST_CHECK int hf__lockfile_write(struct hf__lockfile *lockfile,
                                     hf_error *err);
/* The same into a new file in place of this one, which need not be locked; the
 * queue goes along. */
HF_MUST_CHECK int hf__lockfile_replace(struct hf__lockfile *lockfile,
                                       hf_error *err);
/* A new file with these bytes, open, that has a name of none yet; or a failure,
 * below 0. */
HF_MUST_CHECK int hf__lockfile_aside(const struct hf__lockfile *lockfile,
                                     const void *bytes, size_t size,
                                     char name[HF__ASIDE_SIZE], hf_error *err);
/* Does the name still lead to the file that is open? */
bool hf__lockfile_is_in_place(const struct hf__lockfile *lockfile);

#endif
