/* SPDX-License-Identifier: MIT */
/*
 * The way into a store: one opener at a time, on one machine, through a
 * locked byte of the side file. Decides whether the side file is ours and
 * usable, makes it, and says whether anybody is inside. Called by the thread
 * that opens a session.
 */
#include "src/backend/sqlite/ofd.h"
#include "src/backend/sqlite/side.h"
#include "src/base/error.h"
#include "src/base/fork.h"
#include "src/base/rand.h"
#include "src/base/wake.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 2: stamps, and databases of format 2. */
#define VERSION 2

const struct hf__board_head hf__our_head = {
    {'H', 'F', 'l', 'k', 's', 'i', 'd', 'e'},
    VERSION,
    sizeof(struct hf__board)};

static int fail_errno(hf_error *err, const char *doing, const char *path)
{
    int number = errno;
    char text[128];

    if (number == ELOOP) {
        return hf__fail_native(err, HF_EUNSAFE, number,
                               "%s is a symbolic link; remove it", path);
    }
    if (number == EISDIR || number == ENXIO) {
        return hf__fail_native(err, HF_EPROTO, number,
                               "%s is not a regular file", path);
    }
    if (number == ENOSPC || number == EDQUOT || number == EFBIG) {
        return hf__fail_native(err, HF_EUNAVAIL, number,
                               "disk full: cannot %s %s", doing, path);
    }
    return hf__fail_native(err, hf__errno_status(number), number,
                           "cannot %s %s: %s", doing, path,
                           hf__errno_text(number, text, sizeof text));
}

void hf__door_close(struct hf__door *door)
{
    hf__fd_close(door->fd);
    door->fd = -1;
}

/* Open or make the file, and make sure that it is one. */
static int open_file(const struct hf__place *place, struct hf__door *door,
                     hf_error *err)
{
    const char *path = place->path[HF__FILE_SIDE];
    struct stat st;
    int r;

    door->fd =
        open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
             place->mode);
    if (door->fd < 0 || fstat(door->fd, &st)) {
        return fail_errno(err, "open", path);
    }
    if (hf__fd_register(door->fd)) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    r = hf__place_judge(path, &st, err);
    if (r != HF_OK) {
        return r;
    }
    if (hf__place_is_strange(place, &st)) {
        return hf__fail(err, HF_EUNSAFE,
                        "%s belongs to a stranger (user %ld); remove it", path,
                        (long)st.st_uid);
    }
    door->id = (struct hf__file_id){(uint64_t)st.st_dev, (uint64_t)st.st_ino};
    return HF_OK;
}

/* HF_OK with the byte, HF_CONFLICT: the path leads to another file by now. */
static int lock_file(const struct hf__place *place, struct hf__door *door,
                     hf__time deadline, hf_error *err)
{
    struct hf__file_ids ids;

    while (hf__ofd_lock(door->fd, F_WRLCK, HF__BYTE_DOOR)) {
        hf__time now = hf__now();

        if (errno != EAGAIN && errno != EACCES) {
            return fail_errno(err, "lock", place->path[HF__FILE_SIDE]);
        }
        if (!hf__before(now, deadline)) {
            return hf__fail(err, HF_EUNAVAIL,
                            "another process is opening %s and does not get "
                            "on; is it stopped?",
                            place->path[HF__FILE_DB]);
        }
        now = hf__after_ns(now, hf__random_between(HF__MS / 4, 3 * HF__MS));
        hf__sleep_until(hf__earlier(now, deadline));
    }
    hf__place_ids(place, &ids);
    return ids.file[HF__FILE_SIDE].ino == door->id.ino &&
                   ids.file[HF__FILE_SIDE].dev == door->id.dev
               ? HF_OK
               : HF_CONFLICT;
}

/* A new file, or an old one in which nobody is: all begins anew. */
static int reset(const struct hf__place *place, const struct hf__door *door,
                 hf_error *err)
{
    static const struct hf__board blank;
    const char *path = place->path[HF__FILE_SIDE];

    /* Allocated, so that no page is missing when the disk is full. */
    errno = posix_fallocate(door->fd, 0, (off_t)sizeof blank);
    if (errno) {
        return fail_errno(err, "fill", path);
    }
    if (pwrite(door->fd, &blank, sizeof blank, 0) != (ssize_t)sizeof blank ||
        pwrite(door->fd, &hf__our_head, sizeof hf__our_head, 0) !=
            (ssize_t)sizeof hf__our_head) {
        return fail_errno(err, "write", path);
    }
    hf__place_adorn(place, door->fd);
    return HF_OK;
}

static bool is_blank(const struct hf__board_head *head)
{
    static const struct hf__board_head zero;

    return memcmp(head, &zero, sizeof zero) == 0;
}

static int examine(const struct hf__place *place, const struct hf__door *door,
                   hf_error *err)
{
    const char *path = place->path[HF__FILE_SIDE];
    struct hf__board_head head = {0};
    struct stat st;

    if (fstat(door->fd, &st) || pread(door->fd, &head, sizeof head, 0) < 0) {
        return fail_errno(err, "read", path);
    }
    if (!is_blank(&head) &&
        memcmp(head.magic, hf__our_head.magic, sizeof head.magic) != 0) {
        return hf__fail(err, HF_EPROTO,
                        "%s is another program's file, or was written over by "
                        "one; if no program uses %s, remove it",
                        path, place->path[HF__FILE_DB]);
    }
    if (head.version > VERSION) {
        return hf__fail(err, HF_EPROTO,
                        "%s was made by a newer version of Holdfast (its "
                        "format is %u, this program knows %d)",
                        path, (unsigned)head.version, VERSION);
    }
    if (!door->has_others) {
        return reset(place, door, err);
    }
    /* It would neither see nor heed what it has not heard of. */
    if (head.version < VERSION && !is_blank(&head)) {
        return hf__fail(err, HF_EPROTO,
                        "%s is in use by an older version of Holdfast; stop "
                        "all programs that use it, then start this one again: "
                        "it brings the file to the new format",
                        place->path[HF__FILE_DB]);
    }
    if (head.size != hf__our_head.size ||
        st.st_size < (off_t)sizeof(struct hf__board)) {
        return hf__fail(err, HF_EPROTO,
                        "%s is damaged; stop all programs that use %s, then "
                        "remove it",
                        path, place->path[HF__FILE_DB]);
    }
    return HF_OK;
}

int hf__door_open(const struct hf__place *place, hf__time deadline,
                  struct hf__door *ret_door, hf_error *err)
{
    int r = HF_CONFLICT;

    ret_door->fd = -1;
    while (r == HF_CONFLICT) {
        hf__door_close(ret_door);
        r = open_file(place, ret_door, err);
        if (r == HF_OK) {
            r = lock_file(place, ret_door, deadline, err);
        }
    }
    if (r == HF_OK) {
        ret_door->has_others =
            hf__ofd_test(ret_door->fd, F_WRLCK, HF__BYTE_PRESENCE) != 0;
        r = examine(place, ret_door, err);
    }
    if (r == HF_OK) {
        /* Where there is no room for it, it does without. */
        (void)posix_fallocate(ret_door->fd, (off_t)sizeof(struct hf__board),
                              HF__BALLAST);
    }
    if (r != HF_OK) {
        hf__door_close(ret_door);
    }
    return r;
}
