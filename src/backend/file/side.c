/* SPDX-License-Identifier: MIT */
/*
 * The side file as an object of the process: making it, setting it up, its
 * descriptor, mapping and life. Called by every session's thread.
 */
#include "src/backend/file/side.h"

#include "src/backend/shared.h"
#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/family.h"
#include "src/base/fork.h"
#include "src/base/ofd.h"
#include "src/base/rand.h"
#include "src/base/wake.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define VERSION 1

/* So much beyond the lease: who takes a name again and again writes it seldom.
 * Only a name whose file was deleted while held is free as much later. */
#define AHEAD_US INT64_C(100000)

static const struct hf__file_head our_head = {
    {'H', 'F', 'f', 'l', 's', 'i', 'd', 'e'},
    VERSION,
    sizeof(struct hf__file_board)};

static struct hf__family sides;

/* ---- what it tells */

static off_t byte_of(uint64_t life)
{
    return (off_t)(HF__BYTE_LIVES + (int64_t)(life >> 3));
}

int hf__file_side_probe(const struct hf__file_side *side, uint64_t life)
{
    return life == side->life ? 1
                              : hf__ofd_test(side->fd, F_WRLCK, byte_of(life));
}

int hf__file_side_check(const struct hf__file_side *side,
                        const struct hf__file_place *place,
                        struct hf__lobby *ret_lobby, hf_error *err)
{
    struct hf__file_threshold seen;

    hf__words_read(&side->words, HF__ON_FILE_BOARD(head), &seen, sizeof seen);
    *ret_lobby = seen.lobby;
    if (memcmp(&seen.head, &our_head, sizeof our_head) != 0) {
        return hf__fail(err, HF_EUNSAFE,
                        "%s/%s was cut off or written over while in use; stop "
                        "all programs that use %s, then start them again",
                        place->path, HF__SIDE_NAME, place->path);
    }
    return HF_OK;
}

static size_t until_at(const struct hf__key *key)
{
    return HF__ON_FILE_BOARD(until_us) +
           hf__bell_index(hf__chime_of(key)) * sizeof(int64_t);
}

static int64_t until_of(const struct hf__file_side *side,
                        const struct hf__key *key)
{
    int64_t until_us;

    hf__words_read(&side->words, until_at(key), &until_us, sizeof until_us);
    return until_us;
}

int hf__file_side_hold(struct hf__file_side *side, const struct hf__key *key,
                       int64_t until_us)
{
    bool is_noted = true;

    if (until_of(side, key) >= until_us) {
        return HF_OK; /* it only grows */
    }
    hf__words_lock(&side->words);
    if (until_of(side, key) < until_us) {
        until_us += AHEAD_US;
        is_noted = hf__words_write(&side->words, until_at(key), &until_us,
                                   sizeof until_us);
    }
    hf__words_unlock(&side->words);
    return is_noted ? HF_OK : HF_EUNAVAIL;
}

int64_t hf__file_side_held_until(struct hf__file_side *side,
                                 const struct hf__key *key,
                                 const struct hf__token *mine, int64_t now_us)
{
    int64_t until_us = hf__file_held_until(&side->held, key, mine);

    if (until_us <= now_us) {
        until_us = until_of(side, key);
        /* Nothing of ours sets it later; the page may have been scribbled. */
        if (until_us > now_us + HF_LEASE_MAX_MS * INT64_C(1000)) {
            until_us = now_us + HF_LEASE_MAX_MS * INT64_C(1000);
        }
        if (until_us > now_us && !hf__file_held_elsewhere(&side->held, key)) {
            until_us = 0;
        }
    }
    return until_us > now_us ? until_us : 0;
}

/* ---- the file */

static int open_file(const struct hf__file_place *place,
                     struct hf__file_side *side, hf_error *err)
{
    struct stat st;

    side->fd = openat(place->fd, HF__SIDE_NAME,
                      O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                      place->mode);
    if (side->fd < 0 || fstat(side->fd, &st)) {
        return hf__file_fail_errno(place, "open", HF__SIDE_NAME, err);
    }
    if (hf__fd_register(side->fd)) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    side->dev = (uint64_t)st.st_dev;
    side->ino = (uint64_t)st.st_ino;
    return hf__file_place_trust(place, HF__SIDE_NAME, &st, err);
}

static bool is_blank(const struct hf__file_head *head)
{
    static const struct hf__file_head zero;

    return memcmp(head, &zero, sizeof zero) == 0;
}

static int examine(const struct hf__file_place *place,
                   const struct hf__file_side *side, bool is_alone,
                   hf_error *err)
{
    struct hf__file_head head = {0};
    struct stat st;

    if (fstat(side->fd, &st) || pread(side->fd, &head, sizeof head, 0) < 0) {
        return hf__file_fail_errno(place, "read", HF__SIDE_NAME, err);
    }
    if (!is_blank(&head) &&
        memcmp(head.magic, our_head.magic, sizeof head.magic) != 0) {
        return hf__fail(err, HF_EPROTO,
                        "%s/%s is another program's file, or was written over "
                        "by one; if no program uses the folder, remove it",
                        place->path, HF__SIDE_NAME);
    }
    if (head.version > VERSION) {
        return hf__fail(err, HF_EPROTO,
                        "%s/%s was made by a newer version of Holdfast (its "
                        "format is %u, this program knows %d)",
                        place->path, HF__SIDE_NAME, (unsigned)head.version,
                        VERSION);
    }
    if (!is_alone && (head.size != our_head.size ||
                      st.st_size < (off_t)sizeof(struct hf__file_board))) {
        return hf__fail(err, HF_EPROTO,
                        "%s/%s is damaged; stop all programs that use it, "
                        "then remove it",
                        place->path, HF__SIDE_NAME);
    }
    return HF_OK;
}

/* Nobody is there: all begins anew. */
static int set_up(const struct hf__file_place *place,
                  const struct hf__file_side *side, hf_error *err)
{
    static const struct hf__file_board blank;

    /* Allocated, so that no page is missing when the disk is full. */
    errno = posix_fallocate(side->fd, 0, (off_t)sizeof blank);
    if (errno) {
        return hf__file_fail_errno(place, "fill", HF__SIDE_NAME, err);
    }
    if (pwrite(side->fd, &blank, sizeof blank, 0) != (ssize_t)sizeof blank ||
        pwrite(side->fd, &our_head, sizeof our_head, 0) !=
            (ssize_t)sizeof our_head) {
        return hf__file_fail_errno(place, "write", HF__SIDE_NAME, err);
    }
    hf__file_place_adorn(place, side->fd);
    return HF_OK;
}

/* Does the name still lead to the file that is open? */
static bool is_in_place(const struct hf__file_place *place,
                        const struct hf__file_side *side)
{
    struct stat st;

    return fstatat(place->fd, HF__SIDE_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           (uint64_t)st.st_ino == side->ino && (uint64_t)st.st_dev == side->dev;
}

/* Show that we are there, as the first one or beside others. HF_CONFLICT: try
 * again, somebody else is just setting it up or deleted it. */
static int be_present(const struct hf__file_place *place,
                      const struct hf__file_side *side, hf_error *err)
{
    bool is_alone = !hf__ofd_lock(side->fd, F_WRLCK, HF__BYTE_PRESENCE);
    int r;

    if (!is_alone && hf__ofd_lock(side->fd, F_RDLCK, HF__BYTE_PRESENCE)) {
        return errno == EAGAIN || errno == EACCES
                   ? HF_CONFLICT
                   : hf__file_fail_errno(place, "lock", HF__SIDE_NAME, err);
    }
    if (!is_in_place(place, side)) {
        return HF_CONFLICT;
    }
    r = examine(place, side, is_alone, err);
    if (r == HF_OK && is_alone) {
        r = set_up(place, side, err);
    }
    if (r == HF_OK && hf__ofd_lock(side->fd, F_RDLCK, HF__BYTE_PRESENCE)) {
        r = hf__file_fail_errno(place, "lock", HF__SIDE_NAME, err);
    }
    return r;
}

/* ---- the object */

static void side_free(struct hf__file_side *side)
{
    if (side == NULL) {
        return;
    }
    hf__file_held_fini(&side->held);
    hf__words_fini(&side->words);
    hf__fd_close(side->fd);
    hf__free(side);
}

HF_CLEANUP_FN(struct hf__file_side, side_free);

static int map_board(const struct hf__file_place *place,
                     struct hf__file_side *side, hf_error *err)
{
    if (hf__words_map(&side->words, side->fd, sizeof(struct hf__file_board))) {
        return hf__file_fail_errno(place, "map", HF__SIDE_NAME, err);
    }
    side->bells.words = &side->words;
    side->bells.at = HF__ON_FILE_BOARD(belfry);
    return HF_OK;
}

static int come_alive(const struct hf__file_place *place,
                      struct hf__file_side *side, hf_error *err)
{
    hf__random(&side->life, sizeof side->life);
    side->life |= 1; /* zero is no life */
    if (hf__ofd_lock(side->fd, F_WRLCK, byte_of(side->life))) {
        return hf__file_fail_errno(place, "lock", HF__SIDE_NAME, err);
    }
    return HF_OK;
}

static struct hf__file_side *find(uint64_t dev, uint64_t ino)
{
    HF__LIST_EACH (it, &sides.members) {
        struct hf__file_side *side =
            HF__ELEMENT(it, struct hf__file_side, link);

        if (side->dev == dev && side->ino == ino) {
            return side;
        }
    }
    return NULL;
}

/* One try, with the family locked; HF_CONFLICT: another one is needed. */
static int try_get(const struct hf__file_place *place,
                   struct hf__file_side **ret_side, hf_error *err)
{
    HF_AUTO(side_free_auto)
    struct hf__file_side *side = hf__alloc(sizeof *side);
    struct hf__file_side *known;
    int r;

    if (side == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    side->fd = -1;
    r = open_file(place, side, err);
    if (r != HF_OK) {
        return r;
    }
    known = find(side->dev, side->ino);
    if (known != NULL) {
        *ret_side = known;
        return HF_OK;
    }
    side->held.fd = side->fd;
    r = be_present(place, side, err);
    if (r == HF_OK && hf__file_held_init(&side->held)) {
        r = hf__fail(err, HF_ENOMEM, "out of memory");
    }
    if (r == HF_OK) {
        r = map_board(place, side, err);
    }
    if (r == HF_OK) {
        r = come_alive(place, side, err);
    }
    if (r == HF_OK) {
        hf__list_push(&sides.members, &side->link);
        *ret_side = HF_MOVE(side);
    }
    return r;
}

int hf__file_side_get(const struct hf__file_place *place, struct hf__head *head,
                      hf__time deadline, struct hf__file_side **ret_side,
                      hf_error *err)
{
    struct hf__parker nobody = {0};
    struct hf__file_side *side = NULL;
    int r;

    for (;;) {
        hf__time now = hf__now();

        hf__family_lock(&sides);
        r = try_get(place, &side, err);
        if (r == HF_OK) {
            HF_ASSERT(side != NULL);
            side->refs++;
            *ret_side = side;
        }
        hf__family_unlock(&sides);
        if (r != HF_CONFLICT) {
            return r;
        }
        if (!hf__before(now, deadline) || hf__is_interrupted(head)) {
            return hf__fail(err, HF_EUNAVAIL,
                            "another process is setting up %s/%s and does not "
                            "get on; is it stopped?",
                            place->path, HF__SIDE_NAME);
        }
        now = hf__after_ns(now, hf__random_between(HF__MS / 4, 3 * HF__MS));
        hf__park(&nobody, hf__parker_seen(&nobody), hf__earlier(now, deadline));
    }
}

bool hf__file_side_is_parting(struct hf__file_side *side)
{
    bool is_last;

    hf__family_lock(&sides);
    is_last = side->refs == 1;
    hf__family_unlock(&sides);
    return is_last && hf__file_held_has_any(&side->held, hf__now().ns / 1000);
}

void hf__file_side_put(struct hf__file_side *side)
{
    int64_t now_us = hf__now().ns / 1000;

    if (side == NULL) {
        return;
    }
    hf__family_lock(&sides);
    side->refs--;
    /* All that nobody uses and no grant needs, also of earlier times. */
    HF__LIST_EACH (it, &sides.members) {
        struct hf__file_side *one = HF__ELEMENT(it, struct hf__file_side, link);

        if (one->refs == 0 && !hf__file_held_has_any(&one->held, now_us)) {
            hf__list_remove(it);
            side_free(one);
        }
    }
    hf__family_unlock(&sides);
}
