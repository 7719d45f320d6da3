/* SPDX-License-Identifier: MIT */
/*
 * The way into a store: one opener at a time, on one machine, through a
 * locked byte of the side file. Called by the thread that opens a session.
 */
#include "src/backend/local/local.h"
#include "src/backend/sqlite/side.h"
#include "src/base/error.h"
#include "src/base/fork.h"
#include "src/base/ofd.h"

#include <errno.h>
#include <fcntl.h>

#define BALLAST (INT64_C(1) << 20)

static struct hf__family sides;

/* 2: stamps, and databases of format 2. 3: the board and the bytes are as the
 * file stores have them. */
const struct hf__side_kind hf__sqlite_side_kind = {
    .head = {.magic = {'H', 'F', 'l', 'k', 's', 'i', 'd', 'e'},
             .version = 3,
             .size = sizeof(struct hf__board)},
    .sides = &sides};

_Static_assert(sizeof(struct hf__sqlite_board) <=
                   sizeof((struct hf__board){0}.own),
               "the board has room for it");

void hf__door_close(struct hf__door *door)
{
    hf__fd_close(door->fd);
    door->fd = -1;
}

/* HF_OK with the byte, HF_CONFLICT: the path leads to another file by now. */
static int lock_file(const struct hf__ground *ground,
                     const struct hf__door *door, struct hf__head *head,
                     hf__time deadline, hf_error *err)
{
    int r = HF_CONFLICT;

    while (r == HF_CONFLICT && hf__ofd_lock(door->fd, F_WRLCK, HF__BYTE_DOOR)) {
        r = errno == EAGAIN || errno == EACCES
                ? hf__side_rest(ground, head, deadline, err)
                : hf__ground_fail(ground, "lock", ground->side, err);
    }
    return r == HF_CONFLICT &&
                   hf__id_equal(hf__ground_id(ground, ground->side), door->id)
               ? HF_OK
               : r;
}

int hf__door_open(const struct hf__place *place, struct hf__head *head,
                  hf__time deadline, struct hf__door *ret_door, hf_error *err)
{
    const struct hf__ground *ground = &place->ground;
    int r = HF_CONFLICT;

    ret_door->fd = -1;
    while (r == HF_CONFLICT) {
        hf__door_close(ret_door);
        r = hf__side_open(ground, &ret_door->fd, &ret_door->id, err);
        if (r == HF_OK) {
            r = lock_file(ground, ret_door, head, deadline, err);
        }
        if (r == HF_CONFLICT) {
            r = hf__side_rest(ground, head, deadline, err);
        }
    }
    return r;
}

int hf__door_enter(const struct hf__place *place, struct hf__door *door,
                   struct hf__local *s, hf_error *err)
{
    int r = hf__side_get(&place->ground, &s->plain.head, s->plain.deadline,
                         &s->side, &door->has_others, err);

    if (r == HF_OK && !hf__id_equal(s->side->id, door->id)) {
        return hf__fail(err, HF_EUNAVAIL, "%s was replaced just now; try again",
                        place->ground.side);
    }
    if (r == HF_OK) {
        /* Where there is no room for it, it does without. */
        (void)posix_fallocate(door->fd, (off_t)sizeof(struct hf__board),
                              BALLAST);
    }
    return r;
}

void hf__side_drop_ballast(struct hf__side *side)
{
    /* Keeps the board's last block whole: holes are cut along blocks. */
    (void)fallocate(side->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    (off_t)sizeof(struct hf__board), BALLAST);
}
