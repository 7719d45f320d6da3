/* SPDX-License-Identifier: MIT */
/*
 * PATH-holdfast, the side file of this store: what it has there beside the
 * rest (local/side.h). Identities: the database, -wal and -shm that belong
 * together, so that one which was replaced while in use is noticed. The
 * writers' gate. The door: one opener at a time. Ballast. Thread: any, except
 * that a door belongs to the thread that opened it.
 */
#ifndef HF_BACKEND_SQLITE_SIDE_H
#define HF_BACKEND_SQLITE_SIDE_H

#include "src/backend/local/side.h"
#include "src/backend/sqlite/gate.h"
#include "src/backend/sqlite/place.h"

struct hf__local;

extern const struct hf__side_kind hf__sqlite_side_kind;

/* What the board has for this store. */
struct hf__sqlite_board {
    struct hf__file_ids ids; /* read and written behind the door only */
    struct hf__gate gate;
};

/* Where a part of that is. */
#define HF__ON_SQLITE_BOARD(member)                                            \
    (HF__ON_BOARD(own) + offsetof(struct hf__sqlite_board, member))

/* Exclusive among all who open or close the store; see hf__door_open(). */
struct hf__door {
    int fd;
    bool has_others; /* some process, perhaps this one, uses the store */
    struct hf__file_id id;
};

/*
 * Make the side file if need be and wait for the door. Gives HF_OK, HF_EUNAVAIL
 * (deadline, disk full), HF_EAUTH, HF_EPROTO (not a file), HF_EUNSAFE (a
 * symbolic link, a stranger's), HF_ENOMEM.
 */
HF_MUST_CHECK int hf__door_open(const struct hf__place *place,
                                struct hf__head *head, hf__time deadline,
                                struct hf__door *ret_door, hf_error *err);
/* Takes a door that is not open (fd −1). */
void hf__door_close(struct hf__door *door);
/* Behind an open door: this process's object for the side file; who is inside
 * is known then. As hf__side_get(). */
HF_MUST_CHECK int hf__door_enter(const struct hf__place *place,
                                 struct hf__door *door, struct hf__local *s,
                                 hf_error *err);

/* Behind the board the file has blocks that are of no use but one: given back
 * to the disk when it is full, they are for a renewal that space.h has no
 * blocks for, unless others are faster. The next who opens the store takes them
 * up again. */
void hf__side_drop_ballast(struct hf__side *side);

static inline struct hf__gate_at hf__side_gate(const struct hf__side *side)
{
    return (struct hf__gate_at){&side->words, HF__ON_SQLITE_BOARD(gate)};
}

#endif
