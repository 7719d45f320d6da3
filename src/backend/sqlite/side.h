/* SPDX-License-Identifier: MIT */
/*
 * The side file: what the kernel can tell of other processes, beside what the
 * database can.
 *
 * Bytes. Each process draws a random number, its life, and keeps the byte of
 * that number locked; records name the life of their holder, and if its byte
 * is free, the holder is dead. See ofd.h for the other bytes. Identities: the
 * database, -wal and -shm that belong together, so that one which was replaced
 * while in use is noticed. A board: the writers' gate and the words on which
 * waiters sleep; only hints, nothing on it is believed, and nobody touches it
 * but by base/words.h. Stamps say when those in line were last seen.
 *
 * Thread: any, except that a door belongs to the thread that opened it.
 */
#ifndef HF_BACKEND_SQLITE_SIDE_H
#define HF_BACKEND_SQLITE_SIDE_H

#include "src/backend/breaks.h"
#include "src/backend/sqlite/gate.h"
#include "src/backend/sqlite/held.h"
#include "src/backend/sqlite/place.h"
#include "src/base/bells.h"
#include "src/base/list.h"

#include <stddef.h>

/* Behind the board the file has blocks that are of no use but one: given back
 * when the disk is full, they are for a renewal that space.h has no blocks for,
 * unless others are faster. */
#define HF__BALLAST (INT64_C(1) << 20)

struct hf__shared_ids {
    _Alignas(8) uint64_t dev[HF__FILE_COUNT];
    _Alignas(8) uint64_t ino[HF__FILE_COUNT];
};

/* What a board begins with; the rest of it is zero when new. */
struct hf__board_head {
    char magic[8];
    uint32_t version;
    uint32_t size;
};

extern const struct hf__board_head hf__our_head;

/* What is looked at before each batch, in one step. */
struct hf__threshold {
    _Alignas(8) struct hf__gate_front front;
    struct hf__lobby lobby;
};

struct hf__board {
    struct hf__board_head head;
    struct hf__shared_ids ids; /* read and written behind the door only */
    struct hf__gate gate;
    struct hf__belfry belfry; /* its lobby beside the gate's front */
    struct hf__stamps stamps;
    struct hf__breaks breaks;
};

_Static_assert(offsetof(struct hf__board, belfry.lobby) ==
                   offsetof(struct hf__board, gate.next) +
                       offsetof(struct hf__threshold, lobby),
               "a threshold is one piece of the board");

/* One side file in this process, shared by its sessions. */
struct hf__side {
    struct hf__link link;
    struct hf__file_id id;
    int refs;
    int users;     /* sessions that are open; no more than refs */
    int holder_fd; /* has the life and the presence */
    int prober_fd;
    struct hf__words words; /* a board */
    uint64_t life;
    char text[64]; /* "dev:ino:life", as records name it */
    struct hf__held held;
    struct hf__mutex idle_lock;
    struct hf__link idle; /* connections; see pool.h */
    struct hf__bells bells;
};

/* Exclusive among all who open or close the store; see hf__door_open(). */
struct hf__door {
    int fd;
    bool has_others; /* some process, perhaps this one, uses the store */
    struct hf__file_id id;
};

/*
 * Make the side file if need be, wait for the door, set up a blank board.
 * Gives HF_OK, HF_EUNAVAIL (deadline, disk full), HF_EAUTH, HF_EPROTO (not
 * ours), HF_EUNSAFE (a symbolic link, a stranger's), HF_ENOMEM.
 */
HF_MUST_CHECK int hf__door_open(const struct hf__place *place,
                                hf__time deadline, struct hf__door *ret_door,
                                hf_error *err);
/* Takes a door that is not open (fd −1). */
void hf__door_close(struct hf__door *door);

/* Behind an open door: this process's object for the side file. */
HF_MUST_CHECK int hf__side_get(const struct hf__place *place,
                               const struct hf__door *door,
                               struct hf__side **ret_side, hf_error *err);
/* The session is about to close. True: it was the last one of this process,
 * and grants that are held need another guarantee than its life. */
HF_MUST_CHECK bool hf__side_leave(struct hf__side *side);
/* Takes NULL; after hf__side_leave(). The object outlives its last user as
 * long as an unexpired grant is held: the holder must not look dead, nor the
 * store abandoned. */
void hf__side_put(struct hf__side *side);

/* Is the board gone, for the file was cut off or written over in place? */
bool hf__side_is_spoilt(const struct hf__side *side);

/* Give the ballast back to the disk; the next who opens the store takes it up
 * again. */
void hf__side_drop_ballast(struct hf__side *side);

/* The life that a record names; 0: none, or one of another side file. */
uint64_t hf__side_life(const struct hf__side *side, const char *text);
/* 1: the process of that life is there; 0: it is gone; −1: can't tell. */
int hf__side_probe(const struct hf__side *side, uint64_t life);

/* What stands on the threshold now. */
void hf__side_look(const struct hf__side *side,
                   struct hf__threshold *ret_threshold);

/* Where a part of the board is. */
#define HF__ON_BOARD(member) offsetof(struct hf__board, member)

static inline struct hf__gate_at hf__side_gate(const struct hf__side *side)
{
    return (struct hf__gate_at){&side->words, HF__ON_BOARD(gate)};
}

#endif
