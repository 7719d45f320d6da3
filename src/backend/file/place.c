/* SPDX-License-Identifier: MIT */
/*
 * The folder of a file store. What is in its files is lockfile.c's. Called by
 * whoever opens or uses a session.
 */
#include "src/backend/file/place.h"

#include "src/backend/file/hold.h"
#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/fork.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int set_path(struct hf__file_place *place, const char *path,
                    hf_error *err)
{
    /* Room for the longest name of a file in it. */
    int r = hf__ground_name(&place->ground, path, NAME_MAX + 2, err);
    char *whole = place->ground.store;
    size_t used;

    if (r != HF_OK) {
        return r;
    }
    used = strlen(whole);
    while (used > 1 && whole[used - 1] == '/') {
        whole[--used] = '\0';
    }
    place->prefix = hf__alloc(used + 2);
    if (place->prefix == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    (void)snprintf(place->prefix, used + 2, "%s/", whole);
    place->ground.prefix = place->prefix;
    return HF_OK;
}

/* Who may rename the folder may put another one in its place. */
static int look_above(const char *path, hf_error *err)
{
    char above[PATH_MAX];
    struct stat st;
    char *slash;

    (void)snprintf(above, sizeof above, "%s", path);
    slash = strrchr(above, '/');
    slash[slash == above] = '\0';
    if (stat(above, &st)) {
        return hf__ground_fail_folder(path, "find", err);
    }
    if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX)) {
        return hf__fail(err, HF_EUNSAFE,
                        "everybody may replace folders in %s, and so break "
                        "every lock; use another place, or: chmod o-w '%s'",
                        above, above);
    }
    return HF_OK;
}

static int open_folder(struct hf__ground *ground, struct stat *ret_st,
                       hf_error *err)
{
    if (lstat(ground->store, ret_st) && errno == ENOENT &&
        mkdir(ground->store, 0700) && errno != EEXIST) {
        return hf__ground_fail_folder(ground->store, "make", err);
    }
    ground->fd = open(ground->store, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (ground->fd < 0 || fstat(ground->fd, ret_st)) {
        return hf__ground_fail_folder(ground->store, "open", err);
    }
    if (hf__fd_register(ground->fd)) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    return S_ISLNK(ret_st->st_mode)
               ? hf__fail(err, HF_EUNSAFE,
                          "%s is a symbolic link, which can be turned while "
                          "locks are held; name the folder itself",
                          ground->store)
               : HF_OK;
}

/* With a group: what is made there is of it. Where everybody may make files,
 * that says nothing of who did. */
static bool is_of_group(const struct stat *st)
{
    return (st->st_mode & S_ISGID) != 0 && (st->st_mode & S_IWOTH) == 0;
}

/* A folder of another user serves only where that was meant to be shared. */
static int look_at_owner(const char *path, const struct stat *st, hf_error *err)
{
    bool is_shared = is_of_group(st) && (st->st_mode & S_IWGRP);

    return st->st_uid != geteuid() && st->st_uid != 0 && !is_shared
               ? hf__fail(err, HF_EUNSAFE,
                          "%s belongs to user %ld, who may remove every lock "
                          "in it; use a folder of your own, or one of a group: "
                          "chmod g+ws '%s'",
                          path, (long)st->st_uid, path)
               : HF_OK;
}

static int look_at(const struct hf__ground *ground, const struct stat *st,
                   const char *allow, hf_error *err)
{
    struct statfs fs;
    int r = fstatfs(ground->fd, &fs)
                ? hf__ground_fail_folder(ground->store, "look at", err)
                : hf__ground_judge_folder(ground->store, st, &fs, allow,
                                          "file locks", err);

    return r == HF_OK ? look_at_owner(ground->store, st, err) : r;
}

int hf__file_place_init(struct hf__file_place *place, const char *path,
                        const char *allow, hf_error *err)
{
    struct hf__ground *ground = &place->ground;
    struct stat st;
    int r;

    ground->fd = -1;
    if (path == NULL || path[0] == '\0') {
        return hf__fail(err, HF_EINVAL,
                        "a file store needs a folder: file:/some/folder");
    }
    r = set_path(place, path, err);
    if (r == HF_OK) {
        r = look_above(ground->store, err);
    }
    if (r == HF_OK) {
        r = open_folder(ground, &st, err);
    }
    if (r == HF_OK) {
        r = look_at(ground, &st, allow, err);
    }
    if (r == HF_OK) {
        bool is_shared = is_of_group(&st);

        place->id = hf__id_of(&st);
        ground->side = HF__SIDE_NAME;
        ground->kind = &hf__file_side_kind;
        ground->uid = st.st_uid;
        ground->gid = is_shared ? st.st_gid : getegid();
        ground->mode = is_shared ? 0660 : 0600;
        ground->reach = is_shared ? HF_REACH_HOST : HF_REACH_USER;
    }
    return r;
}

void hf__file_place_fini(struct hf__file_place *place)
{
    if (place->ground.store != NULL) {
        hf__fd_close(place->ground.fd);
    }
    hf__free(place->ground.store);
    hf__free(place->prefix);
    *place = (struct hf__file_place){.prefix = NULL};
}

int hf__file_place_check(const struct hf__file_place *place, hf_error *err)
{
    return hf__id_equal(hf__ground_id(&place->ground, place->ground.store),
                        place->id)
               ? HF_OK
               : hf__fail(err, HF_EUNSAFE,
                          "the folder %s was removed or replaced while in use; "
                          "stop all programs that use it, then start them "
                          "again",
                          place->ground.store);
}
