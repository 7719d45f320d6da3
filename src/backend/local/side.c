/* SPDX-License-Identifier: MIT */
/*
 * The side file as an object of this process: creating it, setting it up, its
 * descriptor, its mapping and its life. Called by every session's thread.
 */
#include "src/backend/local/side.h"

#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/fork.h"
#include "src/base/ofd.h"
#include "src/base/rand.h"
#include "src/base/wake.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static off_t byte_of(uint64_t life)
{
    return (off_t)(HF__BYTE_LIVES + (int64_t)(life >> 3));
}

int hf__side_probe(const struct hf__side *side, uint64_t life)
{
    if (life == 0 || life == side->life) {
        return life == 0 ? -1 : 1;
    }
    return hf__ofd_test(side->fd, F_WRLCK, byte_of(life));
}

bool hf__side_look(const struct hf__side *side, struct hf__side_hot *ret_hot)
{
    hf__words_read(&side->words, 0, ret_hot, sizeof *ret_hot);
    return memcmp(&ret_hot->head, &side->kind->head, sizeof ret_hot->head) == 0;
}

/* ---- the file */

int hf__side_open(const struct hf__dir *dir, int *ret_fd,
                  struct hf__file_id *ret_id, hf_error *err)
{
    struct stat st;

    *ret_fd = openat(dir->fd, dir->side,
                     O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                     dir->mode);
    if (*ret_fd < 0 || fstat(*ret_fd, &st)) {
        return hf__dir_fail(dir, "open", dir->side, err);
    }
    if (hf__fd_register(*ret_fd)) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    *ret_id = hf__id_of(&st);
    return hf__dir_check_file_owner(dir, dir->side, &st, err);
}

static bool is_blank(const struct hf__side_header *head)
{
    static const struct hf__side_header zero;

    return memcmp(head, &zero, sizeof zero) == 0;
}

static int examine(const struct hf__dir *dir, const struct hf__side *side,
                   bool is_alone, hf_error *err)
{
    const struct hf__side_header *ours = &side->kind->head;
    struct hf__side_header head = {0};
    struct stat st;

    if (fstat(side->fd, &st) || pread(side->fd, &head, sizeof head, 0) < 0) {
        return hf__dir_fail(dir, "read", dir->side, err);
    }
    if (!is_blank(&head) &&
        memcmp(head.magic, ours->magic, sizeof head.magic) != 0) {
        return hf__fail(err, HF_EPROTO,
                        "%s%s is another program's file, or was written over "
                        "by one; if no program uses %s, remove it",
                        dir->prefix, dir->side, dir->store);
    }
    if (head.version > ours->version) {
        return hf__fail(err, HF_EPROTO,
                        "%s%s was made by a newer version of Holdfast (its "
                        "format is %u, this program knows %u); to go back, "
                        "stop all programs that use %s, then remove that file",
                        dir->prefix, dir->side, (unsigned)head.version,
                        (unsigned)ours->version, dir->store);
    }
    /* An older version neither sees nor respects what the new format adds. */
    if (!is_alone && head.version < ours->version && !is_blank(&head)) {
        return hf__fail(err, HF_EPROTO,
                        "%s is in use by an older version of Holdfast; stop "
                        "all programs that use it, then start this one again: "
                        "it brings the file to the new format",
                        dir->store);
    }
    if (!is_alone &&
        (head.size != ours->size || st.st_size < (off_t)ours->size)) {
        return hf__fail(err, HF_EPROTO,
                        "%s%s is damaged; stop all programs that use %s, then "
                        "remove that file",
                        dir->prefix, dir->side, dir->store);
    }
    return HF_OK;
}

static void bytes_free(unsigned char **bytes)
{
    hf__free(*bytes);
}

static bool is_written(const struct hf__side *side, const void *bytes,
                       size_t size)
{
    errno = ENOSPC; /* for a write that was cut short */
    return pwrite(side->fd, bytes, size, 0) == (ssize_t)size;
}

/* No process uses the store, so the layout starts empty. */
static int set_up(const struct hf__dir *dir, const struct hf__side *side,
                  hf_error *err)
{
    const struct hf__side_header *ours = &side->kind->head;
    HF_AUTO(bytes_free) unsigned char *layout = hf__alloc(ours->size);

    if (layout == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    /* Allocated, so that no page is missing when the disk is full. */
    errno = posix_fallocate(side->fd, 0, (off_t)ours->size);
    if (errno) {
        return hf__dir_fail(dir, "fill", dir->side, err);
    }
    if (!is_written(side, layout, ours->size) ||
        !is_written(side, ours, sizeof *ours)) {
        return hf__dir_fail(dir, "write", dir->side, err);
    }
    hf__dir_set_owner_mode(dir, side->fd);
    return HF_OK;
}

static int lock_byte(const struct hf__dir *dir, const struct hf__side *side,
                     int type, off_t byte, hf_error *err)
{
    return hf__ofd_lock(side->fd, type, byte)
               ? hf__dir_fail(dir, "lock", dir->side, err)
               : HF_OK;
}

/* Lock the presence byte, as the only process or beside others. HF_CONFLICT:
 * try again, as another process is just setting the file up or deleted it. */
static int be_present(const struct hf__dir *dir, const struct hf__side *side,
                      bool *ret_has_others, hf_error *err)
{
    bool is_alone = !hf__ofd_lock(side->fd, F_WRLCK, HF__BYTE_PRESENCE);
    int r = HF_OK;

    *ret_has_others = !is_alone;
    if (!is_alone && hf__ofd_lock(side->fd, F_RDLCK, HF__BYTE_PRESENCE)) {
        return errno == EAGAIN || errno == EACCES
                   ? HF_CONFLICT
                   : hf__dir_fail(dir, "lock", dir->side, err);
    }
    if (!hf__id_equal(hf__dir_id(dir, dir->side), side->id)) {
        return HF_CONFLICT;
    }
    r = examine(dir, side, is_alone, err);
    if (r == HF_OK && is_alone) {
        r = set_up(dir, side, err);
    }
    return r == HF_OK && is_alone
               ? lock_byte(dir, side, F_RDLCK, HF__BYTE_PRESENCE, err)
               : r;
}

/* ---- the object */

static void side_free(struct hf__side *side)
{
    if (side == NULL) {
        return;
    }
    hf__held_fini(&side->held);
    hf__words_fini(&side->words);
    hf__fd_close(side->fd);
    hf__mutex_fini(&side->lock);
    hf__free(side);
}

HF_CLEANUP_FN(struct hf__side, side_free);

/* Map the layout, and lock the byte of this process's life. */
static int come_alive(const struct hf__dir *dir, struct hf__side *side,
                      hf_error *err)
{
    if (hf__words_map(&side->words, side->fd, side->kind->head.size)) {
        return hf__dir_fail(dir, "map", dir->side, err);
    }
    side->wake_view.words = &side->words;
    side->wake_view.at = HF__SIDE_OFFSET(wake_table);
    hf__random(&side->life, sizeof side->life);
    side->life |= 1; /* zero means no life */
    return lock_byte(dir, side, F_WRLCK, byte_of(side->life), err);
}

static struct hf__side *find(const struct hf__side *same)
{
    HF__LIST_EACH (it, &same->kind->sides->members) {
        struct hf__side *side = HF__ELEMENT(it, struct hf__side, link);

        if (hf__id_equal(side->id, same->id)) {
            return side;
        }
    }
    return NULL;
}

/* One try, with the list of sides locked; HF_CONFLICT: try again. */
static int try_get(const struct hf__dir *dir, struct hf__side **ret_side,
                   bool *ret_has_others, hf_error *err)
{
    HF_AUTO(side_free_auto) struct hf__side *side = hf__alloc(sizeof *side);
    int r;

    if (side == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    side->kind = dir->kind;
    hf__mutex_init(&side->lock);
    hf__list_init(&side->idle);
    r = hf__side_open(dir, &side->fd, &side->id, err);
    if (r != HF_OK) {
        return r;
    }
    *ret_side = find(side);
    if (*ret_side != NULL) {
        *ret_has_others = true;
        return HF_OK;
    }
    r = be_present(dir, side, ret_has_others, err);
    if (r == HF_OK &&
        hf__held_init(&side->held,
                      side->kind->names_have_bytes ? side->fd : -1)) {
        r = hf__fail(err, HF_ENOMEM, "out of memory");
    }
    if (r == HF_OK) {
        r = come_alive(dir, side, err);
    }
    if (r == HF_OK) {
        hf__list_push(&side->kind->sides->members, &side->link);
        *ret_side = HF_MOVE(side);
    }
    return r;
}

int hf__side_rest(const struct hf__dir *dir, struct hf__head *head,
                  hf__time deadline, hf_error *err)
{
    struct hf__parker nobody = {0};
    hf__time now = hf__now();

    if (!hf__before(now, deadline) || hf__is_interrupted(head)) {
        return hf__fail(err, HF_EUNAVAIL,
                        "another process is opening %s and does not get on; is "
                        "it stopped?",
                        dir->store);
    }
    now = hf__after_ns(now, hf__random_between(HF__MS / 4, 3 * HF__MS));
    hf__park(&nobody, hf__parker_seen(&nobody), hf__earlier(now, deadline));
    return HF_CONFLICT;
}

int hf__side_get(const struct hf__dir *dir, struct hf__head *head,
                 hf__time deadline, struct hf__side **ret_side,
                 bool *ret_has_others, hf_error *err)
{
    struct hf__side *side = NULL;
    int r = HF_CONFLICT;

    while (r == HF_CONFLICT) {
        hf__fork_list_lock(dir->kind->sides);
        r = try_get(dir, &side, ret_has_others, err);
        if (r == HF_OK) {
            HF_ASSERT(side != NULL);
            side->refs++;
            side->users++;
            *ret_side = side;
        }
        hf__fork_list_unlock(dir->kind->sides);
        if (r == HF_CONFLICT) {
            r = hf__side_rest(dir, head, deadline, err);
        }
    }
    return r;
}

bool hf__side_leave(struct hf__side *side)
{
    bool is_last;

    hf__fork_list_lock(side->kind->sides);
    side->users--;
    is_last = side->users == 0;
    hf__fork_list_unlock(side->kind->sides);
    return is_last && hf__held_has_any(&side->held, hf__now().ns / 1000);
}

void hf__side_put(struct hf__side *side)
{
    int64_t now_us = hf__now().ns / 1000;
    struct hf__fork_list *sides;

    if (side == NULL) {
        return;
    }
    sides = side->kind->sides; /* the side may be freed below */
    hf__fork_list_lock(sides);
    side->refs--;
    /* Free every side without sessions whose grants have all ended, also those
     * kept by earlier calls. */
    HF__LIST_EACH (it, &sides->members) {
        struct hf__side *one = HF__ELEMENT(it, struct hf__side, link);

        if (one->refs == 0 && !hf__held_has_any(&one->held, now_us)) {
            hf__list_remove(it);
            side_free(one);
        }
    }
    hf__fork_list_unlock(sides);
}
