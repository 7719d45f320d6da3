/* SPDX-License-Identifier: MIT */
/*
 * One lock's file: its name, opening it, reading its record, and changing it
 * under the file's own lock, which is held for microseconds. A file may be
 * deleted or replaced while it is open. That is noticed afterwards, by
 * comparing it with the file that its name leads to; then everything is done
 * again. Thread: the session's.
 */
#ifndef HF_BACKEND_FILE_LOCKFILE_H
#define HF_BACKEND_FILE_LOCKFILE_H

#include "src/backend/file/record.h"

#define HF__FILE_NAME_SIZE 256

/* The prefix of files that are not locks yet; see lockfile.c. */
#define HF__ASIDE      ".new-"
#define HF__ASIDE_SIZE 32

/*
 * Small letters, digits and - _ : = @ , stand for themselves, as does a dot
 * that is not the first; a capital is '+' and its small letter; every other
 * byte is '%' and two small hex digits. So two keys never share a file, even
 * where the file system folds case or Unicode, and a name that begins with a
 * dot is never a lock's. A name longer than 200 bytes is cut and ends in "%_"
 * and a hash of the whole key; the whole key is in the file.
 */
void hf__file_name(const struct hf__key *key, char to[HF__FILE_NAME_SIZE]);

struct hf__file;

struct hf__lockfile {
    struct hf__file *s;
    char name[HF__FILE_NAME_SIZE];
    int fd; /* −1: there is no such file */
    bool is_locked;
    bool is_torn; /* one slot was not written to its end */
    bool is_left; /* a power failure damaged it; the record is blank */
    struct hf__file_id id;
    int64_t ctime_us;
    int64_t size;                    /* when it was opened */
    struct hf__file_record record;   /* fence 0: missing or blank */
    struct hf__file_waiters waiters; /* as read with the record */
};

/* Open the key's file. HF_OK also if there is none; HF_EAUTH, HF_EUNAVAIL,
 * HF_EPROTO, HF_EUNSAFE. The caller closes it whatever the result. */
HF_MUST_CHECK int hf__lockfile_open(struct hf__file *s,
                                    const struct hf__key *key,
                                    struct hf__lockfile *lockfile,
                                    hf_error *err);
/* The same for a file name, whatever its key. */
HF_MUST_CHECK int hf__lockfile_open_name(struct hf__file *s, const char *name,
                                         struct hf__lockfile *lockfile,
                                         hf_error *err);
void hf__lockfile_close(struct hf__lockfile *lockfile);

/* Create the file with a blank record; harmless if another process just did. */
HF_MUST_CHECK int hf__lockfile_create(struct hf__lockfile *lockfile,
                                      const struct hf__key *key, hf_error *err);
/* Read the record and the queue; key NULL: accept any key. HF_OK, HF_EPROTO
 * (damaged, or not one of ours), HF_EUNAVAIL, HF_ENOMEM. A record that a power
 * failure damaged becomes a blank one. */
HF_MUST_CHECK int hf__lockfile_read(struct hf__lockfile *lockfile,
                                    const struct hf__key *key, hf_error *err);
/* Lock the file, so that no other session changes it. False: not possible until
 * `limit`. */
HF_MUST_CHECK bool hf__lockfile_lock(struct hf__lockfile *lockfile,
                                     hf__time limit);
/* Write lockfile->record as the record that counts from now on. The file must
 * be locked and must not be is_left. HF_OK; HF_EUNAVAIL: certainly not written;
 * HF_EUNKNOWN. */
HF_MUST_CHECK int hf__lockfile_write(struct hf__lockfile *lockfile,
                                     hf_error *err);
/* The same into a new file that replaces this one, which need not be locked;
 * the queue is copied to it. */
HF_MUST_CHECK int hf__lockfile_replace(struct hf__lockfile *lockfile,
                                       hf_error *err);
/* Create a file with these bytes under a name that no lock has. Gives its
 * descriptor, or a failure, which is below 0. */
HF_MUST_CHECK int hf__lockfile_aside(const struct hf__lockfile *lockfile,
                                     const void *bytes, size_t size,
                                     char name[HF__ASIDE_SIZE], hf_error *err);
/* Does the name still lead to the file that is open? */
bool hf__lockfile_is_in_place(const struct hf__lockfile *lockfile);

#endif
