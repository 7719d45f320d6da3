/* SPDX-License-Identifier: MIT */
/*
 * Where a store's files are: may locks live there, of whom may a file be, and
 * is it still the one that its name leads to. Thread: any.
 */
#ifndef HF_BACKEND_LOCAL_DIR_H
#define HF_BACKEND_LOCAL_DIR_H

#include "src/base/base.h"
#include "src/base/files.h"

#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/types.h>

/* One file, whatever it is called; all zero: there is none. */
struct hf__file_id {
    uint64_t dev;
    uint64_t ino;
};

struct hf__side_kind;

struct hf__dir {
    char *store;        /* what the URL names, absolute: a folder or a file */
    const char *prefix; /* of the names of files in texts: "FOLDER/", or "" */
    const char *side;   /* the name of the side file */
    const struct hf__side_kind *kind; /* and what it is; see side.h */
    int fd;           /* names go from this folder; AT_FDCWD: they are whole */
    mode_t mode;      /* of files yet to be made */
    uid_t uid;        /* whose files are ours, too, */
    gid_t gid;        /* and, if mode says so, those of this group, */
    bool lends_group; /* unless it is of whatever anybody makes there */
    bool has_sole_names; /* a file with a second name is none of ours */
    hf_reach reach;
};

/* "cannot DOING NAME: …", by errno. */
int hf__dir_fail(const struct hf__dir *, const char *doing, const char *name,
                 hf_error *);

/* Set the store's path, absolute, because the program may change its working
 * folder later, with room for so many bytes more. HF_OK, HF_EINVAL,
 * HF_EUNAVAIL, HF_ENOMEM. */
HF_MUST_CHECK int hf__dir_name(struct hf__dir *, const char *path, size_t room,
                               hf_error *);
/* "cannot DOING the folder FOLDER: …", by errno. */
int hf__dir_fail_itself(const char *folder, const char *doing, hf_error *);
/* Is it a folder, where nobody removes what is others', on this machine? whose:
 * "SQLite's locks". HF_OK, HF_EUNAVAIL, HF_EUNSAFE. */
HF_MUST_CHECK int hf__dir_check(const char *folder, const struct stat *,
                                const struct statfs *, const char *allow,
                                const char *whose, hf_error *);

/* Give the open file, which was just made, the mode and owner, as far as we
 * may. */
void hf__dir_set_owner_mode(const struct hf__dir *, int fd);
/* Is it neither ours nor of those whom we trust? */
bool hf__dir_is_strangers(const struct hf__dir *, const struct stat *);
/* HF_OK; HF_EPROTO: not a regular file; HF_EUNSAFE: a symbolic link, has a
 * second name. */
HF_MUST_CHECK int hf__dir_check_file(const struct hf__dir *, const char *name,
                                     const struct stat *, hf_error *);
/* The same, and HF_EUNSAFE: a stranger's. */
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

/* What the name leads to, followed through no link. */
struct hf__file_id hf__dir_id(const struct hf__dir *, const char *name);

#endif
