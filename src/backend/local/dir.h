/* SPDX-License-Identifier: MIT */
/*
 * The folder of a store's files: may locks live there, who may own a file in
 * it, and does a name still lead to the file that was opened? Thread: any.
 */
#ifndef HF_BACKEND_LOCAL_DIR_H
#define HF_BACKEND_LOCAL_DIR_H

#include "src/base/base.h"
#include "src/base/files.h"

#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/types.h>

/* Identifies a file, whatever its name is; all zero: no file. */
struct hf__file_id {
    uint64_t dev;
    uint64_t ino;
};

struct hf__side_kind;

struct hf__dir {
    char *store;        /* what the URL names, absolute: a folder or a file */
    const char *prefix; /* put before file names in texts: "FOLDER/", or "" */
    const char *side;   /* the name of the side file */
    const struct hf__side_kind *kind; /* its format; see side.h */
    int fd; /* file names are relative to it; AT_FDCWD: they are absolute */
    mode_t mode;      /* for new files */
    uid_t uid;        /* its files count as ours, too, */
    gid_t gid;        /* and so do this group's, if mode says so, */
    bool lends_group; /* unless files there get this group whoever makes them */
    bool has_sole_names; /* refuse a file that has a second name */
    hf_reach reach;
};

/* "cannot DOING NAME: …", by errno. */
int hf__dir_fail(const struct hf__dir *, const char *doing, const char *name,
                 hf_error *);

/* Set the store's path. It is made absolute, because the program may change its
 * working folder later, and must leave room for `room` more bytes. HF_OK,
 * HF_EINVAL, HF_EUNAVAIL, HF_ENOMEM. */
HF_MUST_CHECK int hf__dir_name(struct hf__dir *, const char *path, size_t room,
                               hf_error *);
/* "cannot DOING the folder FOLDER: …", by errno. */
int hf__dir_fail_itself(const char *folder, const char *doing, hf_error *);
/* Is it a folder on this machine, in which users cannot remove files of others?
 * whose: "SQLite's locks", for the text. HF_OK, HF_EUNAVAIL, HF_EUNSAFE. */
HF_MUST_CHECK int hf__dir_check(const char *folder, const struct stat *,
                                const struct statfs *, const char *allow,
                                const char *whose, hf_error *);

/* Give the open file, which was just created, the store's mode and owner as far
 * as this user may. */
void hf__dir_set_owner_mode(const struct hf__dir *, int fd);
/* Does it belong neither to us nor to a user or group that we trust? */
bool hf__dir_is_strangers(const struct hf__dir *, const struct stat *);
/* HF_OK; HF_EPROTO: not a regular file; HF_EUNSAFE: a symbolic link, or it has
 * a second name. */
HF_MUST_CHECK int hf__dir_check_file(const struct hf__dir *, const char *name,
                                     const struct stat *, hf_error *);
/* As hf__dir_check_file(), and HF_EUNSAFE if it is a stranger's. */
HF_MUST_CHECK int hf__dir_check_file_owner(const struct hf__dir *,
                                           const char *name,
                                           const struct stat *, hf_error *);

static inline struct hf__file_id hf__id_of(const struct stat *st)
{
    return (struct hf__file_id){(uint64_t)st->st_dev, (uint64_t)st->st_ino};
}

static inline bool hf__id_equal(struct hf__file_id a, struct hf__file_id b)
{
    return a.ino == b.ino && a.dev == b.dev;
}

/* The file that the name leads to; symbolic links are not followed. */
struct hf__file_id hf__dir_id(const struct hf__dir *, const char *name);

#endif
