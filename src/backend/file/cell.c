/* SPDX-License-Identifier: MIT */
/*
 * The steps by which one lock's file is read and changed. What is changed is
 * write.c's. No step blocks but that for the lock, and none is synced: the
 * kernel keeps what a killed process wrote, and a power failure ends all
 * grants. Called by the session's thread.
 */
#include "src/backend/file/file.h"

#include "src/base/error.h"
#include "src/base/fork.h"
#include "src/base/ofd.h"
#include "src/base/rand.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOCK_BYTE 0
/* A record that is written just now may be met half; it is whole soon. */
#define LOOKS 5

static int fail(const struct hf__cell *cell, const char *doing, hf_error *err)
{
    return hf__ground_fail(&cell->s->place.ground, doing, cell->name, err);
}

/* ---- opening */

static int look_at(struct hf__cell *cell, hf_error *err)
{
    struct stat st;

    if (fstat(cell->fd, &st)) {
        return fail(cell, "look at", err);
    }
    cell->id = hf__id_of(&st);
    cell->size = st.st_size;
    cell->ctime_us =
        st.st_ctim.tv_sec * INT64_C(1000000) + st.st_ctim.tv_nsec / 1000;
    return hf__ground_trust(&cell->s->place.ground, cell->name, &st, err);
}

static int open_it(struct hf__cell *cell, hf_error *err)
{
    cell->fd = openat(cell->s->place.ground.fd, cell->name,
                      O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (cell->fd < 0) {
        return errno == ENOENT ? HF_OK : fail(cell, "open", err);
    }
    if (hf__fd_register(cell->fd)) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    return look_at(cell, err);
}

int hf__cell_open_name(struct hf__file *s, const char *name,
                       struct hf__cell *cell, hf_error *err)
{
    cell->s = s;
    cell->fd = -1;
    cell->is_locked = false;
    cell->is_torn = false;
    cell->is_left = false;
    cell->line = (struct hf__file_line){NULL, 0, 0, 0};
    (void)snprintf(cell->name, sizeof cell->name, "%s", name);
    return open_it(cell, err);
}

int hf__cell_open(struct hf__file *s, const struct hf__key *key,
                  struct hf__cell *cell, hf_error *err)
{
    char name[HF__FILE_NAME_SIZE];

    hf__file_name(key, name);
    hf__file_record_init(&cell->record, key);
    return hf__cell_open_name(s, name, cell, err);
}

void hf__cell_close(struct hf__cell *cell)
{
    /* By name: a child that was forked just now has the open file too. */
    if (cell->is_locked) {
        (void)hf__ofd_lock(cell->fd, F_UNLCK, LOCK_BYTE);
    }
    hf__fd_close(cell->fd);
    hf__file_line_clear(&cell->line);
    cell->is_locked = false;
    cell->fd = -1;
}

uint64_t hf__file_life_of(const struct hf__cell *cell, struct hf__file_id side,
                          uint64_t life)
{
    return hf__id_equal(side, cell->s->local.side->id) ? life : 0;
}

bool hf__cell_is_in_place(const struct hf__cell *cell)
{
    return hf__id_equal(hf__ground_id(&cell->s->place.ground, cell->name),
                        cell->id);
}

bool hf__cell_lock(struct hf__cell *cell, hf__time limit)
{
    struct hf__file *s = cell->s;

    limit = hf__earlier(limit, s->local.plain.deadline);
    while (hf__ofd_lock(cell->fd, F_WRLCK, LOCK_BYTE)) {
        unsigned seen = hf__parker_seen(&s->local.nap.parker);
        hf__time now = hf__now();

        if ((errno != EAGAIN && errno != EACCES) || !hf__before(now, limit) ||
            hf__is_interrupted(&s->local.plain.head)) {
            return false;
        }
        now = hf__after_ns(now, hf__random_between(HF__MS / 20, HF__MS / 2));
        hf__park(&s->local.nap.parker, seen, hf__earlier(now, limit));
    }
    cell->is_locked = true;
    return true;
}

/* ---- reading */

static int judge_damage(struct hf__cell *cell, const struct hf__key *key,
                        hf_error *err)
{
    /* Nobody who held it then is alive. */
    if (key != NULL && hf__file_is_from_before(cell->ctime_us, hf__wall_us(),
                                               hf__now().ns / 1000)) {
        hf__file_record_init(&cell->record, key);
        cell->is_left = true;
        return HF_OK;
    }
    return hf__fail(err, HF_EPROTO,
                    "%s/%s is damaged and may have been of a lock that is "
                    "held; stop all programs that use this lock, then remove "
                    "the file",
                    cell->s->place.ground.store, cell->name);
}

static int judge(struct hf__cell *cell, const struct hf__key *key,
                 enum hf__file_finding finding, hf_error *err)
{
    cell->is_torn = finding == HF__FOUND_TORN;
    cell->is_left = false;
    switch (finding) {
    case HF__FOUND:
    case HF__FOUND_TORN:
        return HF_OK;
    case HF__FOUND_DAMAGED:
        return judge_damage(cell, key, err);
    case HF__FOUND_UNKNOWN:
        return hf__fail(err, HF_EPROTO,
                        "%s/%s was made by another version of Holdfast; stop "
                        "all programs that use this lock, then remove the file",
                        cell->s->place.ground.store, cell->name);
    case HF__FOUND_OTHER:
        break;
    }
    return hf__fail(err, HF_EPROTO,
                    "%s/%s is the file of another lock (a copy, perhaps); "
                    "remove it, or use another name",
                    cell->s->place.ground.store, cell->name);
}

int hf__cell_read(struct hf__cell *cell, const struct hf__key *key,
                  hf_error *err)
{
    enum hf__file_finding finding = HF__FOUND_DAMAGED;
    int r = HF_OK;

    for (int i = 0; i < LOOKS && finding == HF__FOUND_DAMAGED; i++) {
        struct hf__file_contents all;
        ssize_t length = pread(cell->fd, &all, sizeof all, 0);

        if (length < 0) {
            return fail(cell, "read", err);
        }
        finding = hf__file_record_pick(&all.slots, (size_t)length, key,
                                       &cell->record);
        r = hf__file_line_read(cell, &all, (size_t)length);
        if (cell->is_locked) {
            break;
        }
    }
    return r == HF_OK ? judge(cell, key, finding, err)
                      : hf__fail(err, r, "out of memory for the line");
}

/* ---- writing */

static int fail_write(const struct hf__cell *cell, hf_error *err)
{
    int number = errno;

    /* A slot that is half written does not count. */
    if (number == ENOSPC || number == EDQUOT || number == EROFS) {
        return fail(cell, "write", err);
    }
    (void)fail(cell, "write", err);
    return HF_EUNKNOWN;
}

int hf__cell_write(struct hf__cell *cell, hf_error *err)
{
    struct hf__file_record *r = &cell->record;
    off_t at;

    r->sequence++;
    at = (off_t)(r->sequence & 1) * HF__SLOT_SIZE;
    hf__file_record_seal(r);
    errno = EIO;
    return pwrite(cell->fd, r, sizeof *r, at) == (ssize_t)sizeof *r
               ? HF_OK
               : fail_write(cell, err);
}

/* Both slots, so that there is room for either on the disk. */
static int write_both(const struct hf__cell *cell,
                      const struct hf__file_record *record, int fd,
                      hf_error *err)
{
    struct hf__file_slots slots = {0};

    slots.slot[0].record = *record;
    slots.slot[0].record.sequence = 0;
    hf__file_record_seal(&slots.slot[0].record);
    slots.slot[1].record = *record;
    slots.slot[1].record.sequence = 1;
    hf__file_record_seal(&slots.slot[1].record);
    errno = EIO;
    return pwrite(fd, &slots, sizeof slots, 0) == (ssize_t)sizeof slots
               ? HF_OK
               : fail(cell, "write", err);
}

/* A whole file that has no name of a lock yet. */
static int write_aside(const struct hf__cell *cell,
                       const struct hf__file_record *record, char name[64],
                       hf_error *err)
{
    const struct hf__ground *place = &cell->s->place.ground;
    uint64_t number;
    int fd;
    int r;

    hf__random(&number, sizeof number);
    (void)snprintf(name, 64, HF__ASIDE "%016llx", (unsigned long long)number);
    fd = openat(place->fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
                place->mode);
    if (fd < 0) {
        return fail(cell, "make", err);
    }
    hf__ground_adorn(place, fd);
    r = hf__fd_register(fd) ? hf__fail(err, HF_ENOMEM, "out of memory")
                            : write_both(cell, record, fd, err);
    hf__file_line_copy(cell, fd);
    hf__fd_close(fd);
    if (r != HF_OK) {
        (void)unlinkat(place->fd, name, 0);
    }
    return r;
}

/* Under its name it is whole from the beginning. */
int hf__cell_create(struct hf__cell *cell, const struct hf__key *key,
                    hf_error *err)
{
    int folder = cell->s->place.ground.fd;
    struct hf__file_record blank;
    char name[64];
    int r;

    hf__file_record_init(&blank, key);
    r = write_aside(cell, &blank, name, err);
    if (r != HF_OK) {
        return r;
    }
    if (linkat(folder, name, folder, cell->name, 0) && errno != EEXIST) {
        r = fail(cell, "make", err);
    }
    (void)unlinkat(folder, name, 0);
    return r;
}

int hf__cell_replace(struct hf__cell *cell, hf_error *err)
{
    int folder = cell->s->place.ground.fd;
    char name[64];
    int r = write_aside(cell, &cell->record, name, err);

    if (r == HF_OK && renameat(folder, name, folder, cell->name)) {
        r = fail(cell, "replace", err);
        (void)unlinkat(folder, name, 0);
    }
    return r;
}
