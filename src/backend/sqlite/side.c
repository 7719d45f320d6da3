/* SPDX-License-Identifier: MIT */
/*
 * The side file as an object of the process: its descriptors, its mapping,
 * the bytes of the tokens held here. The way in is door.c's. Called by every
 * session's thread.
 */
#include "src/backend/sqlite/side.h"

#include "src/backend/sqlite/family.h"
#include "src/backend/sqlite/ofd.h"
#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/fork.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct hf__family sides;

/* A token whose byte this process has locked. */
struct held {
    struct hf__map_link link;
    struct hf__token token;
    int64_t expires_us;
    bool is_parted; /* the record no longer counts on the byte */
    uint16_t key_length;
    char key[];
};

static off_t byte_of(const struct hf__token *token)
{
    uint64_t hash = hf__hash(token->bytes, sizeof token->bytes);

    return (off_t)(HF__BYTE_TOKENS + (hash >> 2));
}

static struct held *find_held(struct hf__side *side,
                              const struct hf__token *token)
{
    struct hf__map_link *l = hf__map_find(
        &side->held, (const char *)token->bytes, sizeof token->bytes);

    return l ? HF__ELEMENT(l, struct held, link) : NULL;
}

bool hf__side_hold(struct hf__side *side, const struct hf__token *token,
                   const struct hf__key *key, int64_t expires_us,
                   bool *ret_is_new)
{
    HF_SCOPED_LOCK(&side->lock);
    struct held *held = find_held(side, token);

    *ret_is_new = false;
    if (held) {
        held->expires_us = expires_us;
        return true;
    }
    held = hf__alloc(sizeof *held + key->length);
    if (!held) {
        return false;
    }
    if (hf__ofd_lock(side->holder_fd, F_WRLCK, byte_of(token))) {
        hf__free(held);
        return false;
    }
    held->token = *token;
    held->expires_us = expires_us;
    held->key_length = key->length;
    memcpy(held->key, key->bytes, key->length);
    hf__map_add(&side->held, &held->link, (const char *)held->token.bytes,
                sizeof held->token.bytes);
    *ret_is_new = true;
    return true;
}

void hf__side_extend(struct hf__side *side, const struct hf__token *token,
                     int64_t expires_us)
{
    HF_SCOPED_LOCK(&side->lock);
    struct held *held = find_held(side, token);

    if (held) {
        held->expires_us = expires_us;
    }
}

static void drop(struct hf__side *side, struct held *held)
{
    (void)hf__ofd_lock(side->holder_fd, F_UNLCK, byte_of(&held->token));
    hf__map_remove(&side->held, &held->link);
    hf__free(held);
}

void hf__side_let_go(struct hf__side *side, const struct hf__token *token)
{
    HF_SCOPED_LOCK(&side->lock);
    struct held *held = find_held(side, token);

    if (held) {
        drop(side, held);
    }
}

bool hf__side_is_holding(struct hf__side *side)
{
    HF_SCOPED_LOCK(&side->lock);
    return side->held.count > 0;
}

struct parting {
    hf__side_fn fn;
    void *arg;
    bool is_over;
    struct hf__map_link *parted;
};

static void part(void *arg, struct hf__map_link *l)
{
    struct parting *parting = arg;
    struct held *held = HF__ELEMENT(l, struct held, link);
    struct hf__key key = {held->key, held->key_length, 0};

    if (!parting->is_over) {
        held->is_parted = parting->fn(parting->arg, &held->token, &key);
        parting->is_over = !held->is_parted;
    }
}

void hf__side_part(struct hf__side *side, hf__side_fn fn, void *arg)
{
    HF_SCOPED_LOCK(&side->lock);
    struct parting parting = {fn, arg, false, NULL};

    hf__map_each(&side->held, part, &parting);
}

static void find_parted(void *arg, struct hf__map_link *l)
{
    struct parting *parting = arg;

    if (HF__ELEMENT(l, struct held, link)->is_parted) {
        parting->parted = l;
    }
}

void hf__side_let_go_parted(struct hf__side *side)
{
    HF_SCOPED_LOCK(&side->lock);
    struct parting parting = {NULL, NULL, false, NULL};

    hf__map_each(&side->held, find_parted, &parting);
    while (parting.parted) {
        drop(side, HF__ELEMENT(parting.parted, struct held, link));
        parting.parted = NULL;
        hf__map_each(&side->held, find_parted, &parting);
    }
}

int hf__side_probe(const struct hf__side *side, const struct hf__token *token)
{
    return hf__ofd_test(side->prober_fd, F_WRLCK, byte_of(token));
}

void hf__side_drop_ballast(struct hf__side *side)
{
    /* Keeps the board's last block whole: holes are cut along blocks. */
    (void)fallocate(side->holder_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    (off_t)sizeof *side->board, HF__BALLAST);
}

/* ---- the object --------------------------------------------------------- */

static void side_free(struct hf__side *side)
{
    struct hf__map_link *l;

    if (!side) {
        return;
    }
    while (side->held.buckets && (l = hf__map_any(&side->held)) != NULL) {
        drop(side, HF__ELEMENT(l, struct held, link));
    }
    hf__map_fini(&side->held);
    if (side->board) {
        (void)munmap(side->board, sizeof *side->board);
    }
    hf__fd_close(side->prober_fd);
    hf__fd_close(side->holder_fd);
    hf__mutex_fini(&side->lock);
    hf__free(side);
}

HF_CLEANUP_FN(struct hf__side, side_free);

struct search {
    int64_t now_us;
    bool is_needed;
};

static void note_if_unexpired(void *arg, struct hf__map_link *l)
{
    struct search *search = arg;

    search->is_needed |=
        HF__ELEMENT(l, struct held, link)->expires_us > search->now_us;
}

/* With the family locked: free what nobody uses and no grant needs. */
static void sweep(void)
{
    struct search search = {hf__now().ns / 1000, false};

    HF__LIST_EACH (it, &sides.members) {
        struct hf__side *side = HF__ELEMENT(it, struct hf__side, link);

        if (side->refs > 0) {
            continue;
        }
        search.is_needed = false;
        hf__map_each(&side->held, note_if_unexpired, &search);
        if (!search.is_needed) {
            hf__list_remove(it);
            side_free(side);
        }
    }
}

static int fail_errno(hf_error *err, const char *doing,
                      const struct hf__place *place)
{
    int number = errno;
    char text[128];

    return hf__fail_native(
        err, hf__errno_status(number), number, "cannot %s %s: %s", doing,
        place->path[HF__FILE_SIDE], hf__errno_text(number, text, sizeof text));
}

/* Another open file on the side file that the door stands in. */
static int open_again(const struct hf__place *place,
                      const struct hf__door *door, int *ret_fd, hf_error *err)
{
    struct stat st;

    *ret_fd = open(place->path[HF__FILE_SIDE],
                   O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (*ret_fd < 0) {
        return fail_errno(err, "open", place);
    }
    if (hf__fd_register(*ret_fd)) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    if (fstat(*ret_fd, &st) || (uint64_t)st.st_ino != door->id.ino ||
        (uint64_t)st.st_dev != door->id.dev) {
        return hf__fail(err, HF_EUNAVAIL, "%s was replaced just now; try again",
                        place->path[HF__FILE_SIDE]);
    }
    return HF_OK;
}

static int side_new(const struct hf__place *place, const struct hf__door *door,
                    struct hf__side **ret_side, hf_error *err)
{
    HF_AUTO(side_free_auto) struct hf__side *side = hf__alloc(sizeof *side);
    void *map;
    int r;

    if (!side) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    hf__mutex_init(&side->lock);
    side->id = door->id;
    side->holder_fd = -1;
    side->prober_fd = -1;
    (void)snprintf(side->text, sizeof side->text, "%llu:%llu",
                   (unsigned long long)door->id.dev,
                   (unsigned long long)door->id.ino);
    if (hf__map_init(&side->held)) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    r = open_again(place, door, &side->holder_fd, err);
    if (r == HF_OK) {
        r = open_again(place, door, &side->prober_fd, err);
    }
    if (r != HF_OK) {
        return r;
    }
    map = mmap(NULL, sizeof *side->board, PROT_READ | PROT_WRITE, MAP_SHARED,
               side->holder_fd, 0);
    if (map == MAP_FAILED) {
        return fail_errno(err, "map", place);
    }
    side->board = map;
    /* A child has no business here; see fork.h. */
    (void)madvise(map, sizeof *side->board, MADV_DONTFORK);
    if (hf__ofd_lock(side->holder_fd, F_RDLCK, HF__BYTE_PRESENCE)) {
        return fail_errno(err, "lock", place);
    }
    *ret_side = HF_MOVE(side);
    return HF_OK;
}

int hf__side_get(const struct hf__place *place, const struct hf__door *door,
                 struct hf__side **ret_side, hf_error *err)
{
    struct hf__side *side = NULL;
    int r = HF_OK;

    hf__family_lock(&sides);
    HF__LIST_EACH (it, &sides.members) {
        struct hf__side *other = HF__ELEMENT(it, struct hf__side, link);

        if (other->id.dev == door->id.dev && other->id.ino == door->id.ino) {
            side = other;
        }
    }
    if (!side) {
        r = side_new(place, door, &side, err);
        if (r == HF_OK) {
            hf__list_push(&sides.members, &side->link);
        }
    }
    if (r == HF_OK) {
        side->refs++;
        side->users++;
        *ret_side = side;
    }
    hf__family_unlock(&sides);
    return r;
}

bool hf__side_leave(struct hf__side *side)
{
    bool is_last;

    hf__family_lock(&sides);
    side->users--;
    is_last = side->users == 0;
    hf__family_unlock(&sides);
    return is_last;
}

void hf__side_put(struct hf__side *side)
{
    if (!side) {
        return;
    }
    hf__family_lock(&sides);
    side->refs--;
    sweep();
    hf__family_unlock(&sides);
}
