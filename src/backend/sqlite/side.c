/* SPDX-License-Identifier: MIT */
/*
 * The side file as an object of the process: its descriptors, its mapping,
 * its life. The way in is door.c's. Called by every session's thread.
 */
#include "src/backend/sqlite/side.h"

#include "src/backend/sqlite/ofd.h"
#include "src/base/alloc.h"
#include "src/base/error.h"
#include "src/base/family.h"
#include "src/base/fork.h"
#include "src/base/rand.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LIFE_DIGITS 16

static struct hf__family sides;

/* All bits above those that tell the other bytes apart. */
static off_t byte_of(uint64_t life)
{
    return (off_t)(HF__BYTE_LIVES + (life >> 2));
}

int hf__side_probe(const struct hf__side *side, uint64_t life)
{
    return life == side->life
               ? 1
               : hf__ofd_test(side->prober_fd, F_WRLCK, byte_of(life));
}

uint64_t hf__side_life(const struct hf__side *side, const char *text)
{
    size_t length = strlen(side->text) - LIFE_DIGITS;
    char *end = NULL;
    uint64_t life;

    if (strncmp(text, side->text, length) != 0) {
        return 0;
    }
    life = strtoull(text + length, &end, 16);
    return end == text + length + LIFE_DIGITS && *end == '\0' ? life : 0;
}

bool hf__side_is_spoilt(const struct hf__side *side)
{
    struct hf__board_head head;

    hf__words_read(&side->words, HF__ON_BOARD(head), &head, sizeof head);
    return memcmp(&head, &hf__our_head, sizeof head) != 0;
}

void hf__side_look(const struct hf__side *side,
                   struct hf__threshold *ret_threshold)
{
    hf__words_read(&side->words, HF__ON_BOARD(gate.next), ret_threshold,
                   sizeof *ret_threshold);
}

void hf__side_drop_ballast(struct hf__side *side)
{
    /* Keeps the board's last block whole: holes are cut along blocks. */
    (void)fallocate(side->holder_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    (off_t)sizeof(struct hf__board), HF__BALLAST);
}

static void side_free(struct hf__side *side)
{
    if (side == NULL) {
        return;
    }
    hf__held_fini(&side->held);
    hf__words_fini(&side->words);
    hf__fd_close(side->prober_fd);
    hf__fd_close(side->holder_fd);
    hf__mutex_fini(&side->idle_lock);
    hf__free(side);
}

HF_CLEANUP_FN(struct hf__side, side_free);

/* With the family locked: free what nobody uses and no grant needs. */
static void sweep(void)
{
    int64_t now_us = hf__now().ns / 1000;

    HF__LIST_EACH (it, &sides.members) {
        struct hf__side *side = HF__ELEMENT(it, struct hf__side, link);

        if (side->refs == 0 && !hf__held_has_any(&side->held, now_us)) {
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

/* Tell all others that this process is there, in general and by its life. */
static int come_alive(struct hf__side *side, const struct hf__place *place,
                      hf_error *err)
{
    hf__random(&side->life, sizeof side->life);
    side->life |= 1; /* zero is no life */
    (void)snprintf(side->text, sizeof side->text, "%llu:%llu:%016llx",
                   (unsigned long long)side->id.dev,
                   (unsigned long long)side->id.ino,
                   (unsigned long long)side->life);
    if (hf__ofd_lock(side->holder_fd, F_RDLCK, HF__BYTE_PRESENCE) ||
        hf__ofd_lock(side->holder_fd, F_WRLCK, byte_of(side->life))) {
        return fail_errno(err, "lock", place);
    }
    return HF_OK;
}

static int map_board(struct hf__side *side, const struct hf__place *place,
                     hf_error *err)
{
    if (hf__words_map(&side->words, side->holder_fd,
                      sizeof(struct hf__board))) {
        return fail_errno(err, "map", place);
    }
    side->bells.words = &side->words;
    side->bells.at = HF__ON_BOARD(belfry);
    return HF_OK;
}

static int side_new(const struct hf__place *place, const struct hf__door *door,
                    struct hf__side **ret_side, hf_error *err)
{
    HF_AUTO(side_free_auto) struct hf__side *side = hf__alloc(sizeof *side);
    int r;

    if (side == NULL) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    side->id = door->id;
    side->holder_fd = -1;
    side->prober_fd = -1;
    hf__mutex_init(&side->idle_lock);
    hf__list_init(&side->idle);
    if (hf__held_init(&side->held)) {
        return hf__fail(err, HF_ENOMEM, "out of memory");
    }
    r = open_again(place, door, &side->holder_fd, err);
    if (r == HF_OK) {
        r = open_again(place, door, &side->prober_fd, err);
    }
    if (r == HF_OK) {
        r = map_board(side, place, err);
    }
    if (r == HF_OK) {
        r = come_alive(side, place, err);
    }
    if (r == HF_OK) {
        *ret_side = HF_MOVE(side);
    }
    return r;
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
    if (side == NULL) {
        r = side_new(place, door, &side, err);
        if (side != NULL) {
            hf__list_push(&sides.members, &side->link);
        }
    }
    if (side != NULL) {
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
    if (side == NULL) {
        return;
    }
    hf__family_lock(&sides);
    side->refs--;
    sweep();
    hf__family_unlock(&sides);
}
