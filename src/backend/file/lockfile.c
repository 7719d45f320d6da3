/* SPDX-License-Identifier: MIT */
/*
 * One lock's file: its name, and the steps by which it is read and changed.
 * write.c decides what to change. Only locking the file can block. Nothing is
 * synced: the kernel keeps what a killed process wrote, and a power failure
 * ends all grants. Called by the session's thread; hf__file_name() by any.
 */
#include "src/backend/file/file.h"

#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/fork.h"
#include "src/base/map.h"
#include "src/base/ofd.h"
#include "src/base/rand.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOCK_BYTE 0
/* A read may meet a record half written; it is whole soon, so try this
 * often. */
#define LOOKS 5

/* ---- from keys to file names */

#define LONGEST  200
#define HASHED   34 /* "%_" and 32 digits */
#define UNIT_MAX 3

/* Encode one byte of a key for the file name; gives the length. */
static size_t encode(unsigned char c, bool is_first, char to[UNIT_MAX + 1])
{
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
        (c != '\0' && strchr("-_:=@,", c) != NULL) || (c == '.' && !is_first)) {
        to[0] = (char)c;
        return 1;
    }
    if (c >= 'A' && c <= 'Z') {
        to[0] = '+';
        to[1] = (char)(c - 'A' + 'a');
        return 2;
    }
    (void)snprintf(to, UNIT_MAX + 1, "%%%02x", c);
    return UNIT_MAX;
}

/* A second, different hash: of the bytes in reverse order. */
static uint64_t hash_backwards(const struct hf__key *key)
{
    char bytes[HF__KEY_MAX];

    for (size_t i = 0; i < key->length; i++) {
        bytes[i] = key->bytes[key->length - 1 - i];
    }
    return hf__hash(bytes, key->length);
}

void hf__file_name(const struct hf__key *key, char to[HF__FILE_NAME_SIZE])
{
    size_t used = 0;
    size_t cut = 0; /* length to keep if a hash must follow */

    for (size_t i = 0; i < key->length; i++) {
        char unit[UNIT_MAX + 1];
        size_t length = encode((unsigned char)key->bytes[i], i == 0, unit);

        if (used + length > LONGEST) {
            (void)snprintf(
                to + cut, HASHED + 1, "%%_%016llx%016llx",
                (unsigned long long)hf__hash(key->bytes, key->length),
                (unsigned long long)hash_backwards(key));
            return;
        }
        memcpy(to + used, unit, length);
        used += length;
        cut = used <= LONGEST - HASHED ? used : cut;
    }
    to[used] = '\0';
}

/* ---- opening */

static int fail(const struct hf__lockfile *lockfile, const char *doing,
                hf_error *err)
{
    return hf__dir_fail(&lockfile->s->file_dir.dir, doing, lockfile->name, err);
}

int hf__lockfile_open_name(struct hf__file *s, const char *name,
                           struct hf__lockfile *lockfile, hf_error *err)
{
    struct stat st;

    lockfile->s = s;
    lockfile->is_locked = false;
    lockfile->is_torn = false;
    lockfile->is_left = false;
    lockfile->waiters = (struct hf__file_waiters){NULL, 0, 0, 0};
    (void)snprintf(lockfile->name, sizeof lockfile->name, "%s", name);
    lockfile->fd =
        openat(s->file_dir.dir.fd, lockfile->name,
               O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (lockfile->fd < 0) {
        return errno == ENOENT ? HF_OK : fail(lockfile, "open", err);
    }
    if (hf__fd_register(lockfile->fd)) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    if (fstat(lockfile->fd, &st)) {
        return fail(lockfile, "look at", err);
    }
    lockfile->id = hf__id_of(&st);
    lockfile->size = st.st_size;
    lockfile->ctime_us =
        st.st_ctim.tv_sec * INT64_C(1000000) + st.st_ctim.tv_nsec / 1000;
    return hf__dir_check_file_owner(&s->file_dir.dir, lockfile->name, &st, err);
}

int hf__lockfile_open(struct hf__file *s, const struct hf__key *key,
                      struct hf__lockfile *lockfile, hf_error *err)
{
    char name[HF__FILE_NAME_SIZE];

    hf__file_name(key, name);
    hf__file_record_init(&lockfile->record, key);
    return hf__lockfile_open_name(s, name, lockfile, err);
}

void hf__lockfile_close(struct hf__lockfile *lockfile)
{
    /* Unlocked explicitly: a child that was forked just now has the open file
     * too. */
    if (lockfile->is_locked) {
        (void)hf__ofd_lock(lockfile->fd, F_UNLCK, LOCK_BYTE);
    }
    hf__fd_close(lockfile->fd);
    hf__free(lockfile->waiters.list);
    lockfile->waiters = (struct hf__file_waiters){NULL, 0, 0, 0};
    lockfile->is_locked = false;
    lockfile->fd = -1;
}

bool hf__lockfile_is_in_place(const struct hf__lockfile *lockfile)
{
    return hf__id_equal(hf__dir_id(&lockfile->s->file_dir.dir, lockfile->name),
                        lockfile->id);
}

bool hf__lockfile_lock(struct hf__lockfile *lockfile, hf__time limit)
{
    struct hf__file *s = lockfile->s;

    limit = hf__earlier(limit, s->local.engine_session.deadline);
    while (hf__ofd_lock(lockfile->fd, F_WRLCK, LOCK_BYTE)) {
        unsigned seen = hf__parker_seen(&s->local.sleep_slot.parker);
        hf__time now = hf__now();

        if ((errno != EAGAIN && errno != EACCES) || !hf__before(now, limit) ||
            hf__is_interrupted(&s->local.engine_session.head)) {
            return false;
        }
        now = hf__after_ns(now, hf__random_between(HF__MS / 20, HF__MS / 2));
        hf__park(&s->local.sleep_slot.parker, seen, hf__earlier(now, limit));
    }
    lockfile->is_locked = true;
    return true;
}

/* ---- reading */

static int judge_damage(struct hf__lockfile *lockfile,
                        const struct hf__key *key, hf_error *err)
{
    /* It is older than the last restart, so no holder of it is alive. */
    if (key != NULL &&
        hf__file_is_from_before(lockfile->ctime_us, hf__wall_us(),
                                hf__now().ns / 1000)) {
        hf__file_record_init(&lockfile->record, key);
        lockfile->is_left = true;
        return HF_OK;
    }
    return hf__fail(err, HF_EPROTO,
                    "%s/%s is damaged and may have been of a lock that is "
                    "held; stop all programs that use this lock, then remove "
                    "the file",
                    lockfile->s->file_dir.dir.store, lockfile->name);
}

static int judge(struct hf__lockfile *lockfile, const struct hf__key *key,
                 enum hf__file_finding finding, hf_error *err)
{
    lockfile->is_torn = finding == HF__FOUND_TORN;
    lockfile->is_left = false;
    switch (finding) {
    case HF__FOUND:
    case HF__FOUND_TORN:
        return HF_OK;
    case HF__FOUND_DAMAGED:
        return judge_damage(lockfile, key, err);
    case HF__FOUND_UNKNOWN:
        return hf__fail(err, HF_EPROTO,
                        "%s/%s was made by another version of Holdfast; stop "
                        "all programs that use this lock, then remove the file",
                        lockfile->s->file_dir.dir.store, lockfile->name);
    case HF__FOUND_OTHER:
        break;
    }
    return hf__fail(err, HF_EPROTO,
                    "%s/%s is the file of another lock (a copy, perhaps); "
                    "remove it, or use another name",
                    lockfile->s->file_dir.dir.store, lockfile->name);
}

int hf__lockfile_read(struct hf__lockfile *lockfile, const struct hf__key *key,
                      hf_error *err)
{
    enum hf__file_finding finding = HF__FOUND_DAMAGED;
    int r = HF_OK;

    for (int i = 0; i < LOOKS && finding == HF__FOUND_DAMAGED; i++) {
        struct hf__file_contents all;
        ssize_t length = pread(lockfile->fd, &all, sizeof all, 0);

        if (length < 0) {
            return fail(lockfile, "read", err);
        }
        finding = hf__file_record_pick(&all.slots, (size_t)length, key,
                                       &lockfile->record);
        r = hf__file_waiters_read(lockfile, &all, (size_t)length);
        if (lockfile->is_locked) {
            break;
        }
    }
    return r == HF_OK ? judge(lockfile, key, finding, err)
                      : hf__fail(err, r, "out of memory for the waiters");
}

/* ---- writing */

static int fail_write(const struct hf__lockfile *lockfile, hf_error *err)
{
    int number = errno;

    /* A slot that is half written does not count. */
    if (number == ENOSPC || number == EDQUOT || number == EROFS) {
        return fail(lockfile, "write", err);
    }
    (void)fail(lockfile, "write", err);
    return HF_EUNKNOWN;
}

int hf__lockfile_write(struct hf__lockfile *lockfile, hf_error *err)
{
    struct hf__file_record *r = &lockfile->record;
    off_t at;

    r->sequence++;
    at = (off_t)(r->sequence & 1) * HF__SLOT_SIZE;
    hf__file_record_seal(r);
    errno = EIO;
    return pwrite(lockfile->fd, r, sizeof *r, at) == (ssize_t)sizeof *r
               ? HF_OK
               : fail_write(lockfile, err);
}

int hf__lockfile_aside(const struct hf__lockfile *lockfile, const void *bytes,
                       size_t size, char name[HF__ASIDE_SIZE], hf_error *err)
{
    const struct hf__dir *file_dir = &lockfile->s->file_dir.dir;
    uint64_t number;
    int fd;
    int r = HF_OK;

    hf__random(&number, sizeof number);
    (void)snprintf(name, HF__ASIDE_SIZE, HF__ASIDE "%016llx",
                   (unsigned long long)number);
    fd = openat(file_dir->fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
                file_dir->mode);
    if (fd < 0) {
        return fail(lockfile, "make", err);
    }
    hf__dir_set_owner_mode(file_dir, fd);
    if (hf__fd_register(fd)) {
        r = hf__fail(err, HF_ENOMEM, "out of memory");
    }
    errno = ENOSPC; /* for a write that is cut short */
    if (r == HF_OK && pwrite(fd, bytes, size, 0) != (ssize_t)size) {
        r = fail(lockfile, "write", err);
    }
    if (r == HF_OK) {
        return fd;
    }
    hf__fd_close(fd);
    (void)unlinkat(file_dir->fd, name, 0);
    return r;
}

/* Write a whole file that does not have a lock's name yet. Both slots are
 * written, so that either has its room on the disk. */
static int write_aside(const struct hf__lockfile *lockfile,
                       const struct hf__file_record *record,
                       char name[HF__ASIDE_SIZE], hf_error *err)
{
    struct hf__file_slots slots = {0};
    int fd;

    for (unsigned i = 0; i < 2; i++) {
        slots.slot[i].record = *record;
        slots.slot[i].record.sequence = i;
        hf__file_record_seal(&slots.slot[i].record);
    }
    fd = hf__lockfile_aside(lockfile, &slots, sizeof slots, name, err);
    if (fd < 0) {
        return fd;
    }
    hf__file_waiters_copy(lockfile, fd);
    hf__fd_close(fd);
    return HF_OK;
}

/* The file gets its name only when it is whole. */
int hf__lockfile_create(struct hf__lockfile *lockfile,
                        const struct hf__key *key, hf_error *err)
{
    int folder = lockfile->s->file_dir.dir.fd;
    struct hf__file_record blank;
    char name[HF__ASIDE_SIZE];
    int r;

    hf__file_record_init(&blank, key);
    r = write_aside(lockfile, &blank, name, err);
    if (r != HF_OK) {
        return r;
    }
    if (linkat(folder, name, folder, lockfile->name, 0) && errno != EEXIST) {
        r = fail(lockfile, "make", err);
    }
    (void)unlinkat(folder, name, 0);
    return r;
}

int hf__lockfile_replace(struct hf__lockfile *lockfile, hf_error *err)
{
    int folder = lockfile->s->file_dir.dir.fd;
    char name[HF__ASIDE_SIZE];
    int r = write_aside(lockfile, &lockfile->record, name, err);

    if (r == HF_OK && renameat(folder, name, folder, lockfile->name)) {
        r = fail(lockfile, "replace", err);
        (void)unlinkat(folder, name, 0);
    }
    return r;
}
