/* SPDX-License-Identifier: MIT */
/*
 * DIR/.holdfast, the side file: what the kernel can tell of other processes.
 *
 * Bytes, locked by its open file in each process: one found by a random
 * number, the process's life, which records name, so that a free byte says
 * that the holder is dead; one for each name that the process holds (held.h);
 * and one that says that somebody is there at all. A board: the bells of
 * waiters, and until when names are held at most; only hints, and nobody
 * touches it but by base/words.h.
 * Nobody else's board or bytes are ever believed to free a lock: where this
 * file was deleted while in use, holders count as alive until their leases
 * end. Thread: any.
 */
#ifndef HF_BACKEND_FILE_SIDE_H
#define HF_BACKEND_FILE_SIDE_H

#include "src/backend/breaks.h"
#include "src/backend/file/held.h"
#include "src/backend/file/place.h"
#include "src/base/bells.h"
#include "src/base/list.h"

#include <stddef.h>

#define HF__SIDE_NAME ".holdfast"

/* Far behind the contents. Lives: exclusive. Names and presence: shared;
 * presence is exclusive while the board is set up. */
#define HF__BYTE_PRESENCE ((INT64_C(1) << 30) - 1)
#define HF__BYTE_LIVES    (INT64_C(1) << 61)
#define HF__BYTE_NAMES    (UINT64_C(1) << 62)

/* What a board begins with; the rest of it is zero when new. */
struct hf__file_head {
    char magic[8];
    uint32_t version;
    uint32_t size;
};

struct hf__file_board {
    struct hf__file_head head;
    struct hf__belfry belfry; /* its lobby beside the head */
    struct hf__breaks breaks;
    struct hf__stamps stamps;
    /* By bell: no bound grant of its names has a lease beyond (boot clock);
     * often a little late. Early only where somebody was stopped with the words
     * locked: who no longer waits for that, as hf__words_lock() does not, may
     * write a time over a later one that another has just written. */
    _Alignas(8) int64_t until_us[HF__BELLS];
};

/* What is looked at before each batch, in one step. */
struct hf__file_threshold {
    struct hf__file_head head;
    struct hf__lobby lobby;
};
_Static_assert(offsetof(struct hf__file_board, belfry.lobby) ==
                   offsetof(struct hf__file_threshold, lobby),
               "a threshold is what the board begins with");

/* Where a part of the board is. */
#define HF__ON_FILE_BOARD(member) offsetof(struct hf__file_board, member)

/* One side file in this process, shared by its sessions. */
struct hf__file_side {
    struct hf__link link;
    uint64_t dev;
    uint64_t ino;
    int refs;
    int fd;
    struct hf__words words; /* a board */
    uint64_t life;
    struct hf__file_held held;
    struct hf__bells bells;
};

/* Make the file if need be, set it up if nobody is there, come alive. Gives
 * HF_OK, HF_EUNAVAIL (deadline, interrupt, disk full), HF_EAUTH, HF_EPROTO (not
 * ours), HF_EUNSAFE (a link, a stranger's), HF_ENOMEM. */
HF_MUST_CHECK int hf__file_side_get(const struct hf__file_place *place,
                                    struct hf__head *head, hf__time deadline,
                                    struct hf__file_side **ret_side,
                                    hf_error *err);
/* Is the caller the last user in this process of a side that holds unexpired
 * grants? They need another guarantee than its life then. */
HF_MUST_CHECK bool hf__file_side_is_parting(struct hf__file_side *side);
/* Takes NULL. The object outlives its last user as long as an unexpired grant
 * is held: the holder must not look dead. */
void hf__file_side_put(struct hf__file_side *side);

/* 1: the process of that life is there; 0: it is gone; −1: can't tell. */
int hf__file_side_probe(const struct hf__file_side *side, uint64_t life);

/* HF_OK, or HF_EUNSAFE: the file was cut off, or written over in place. Gives
 * what stands in the bells' lobby. */
HF_MUST_CHECK int hf__file_side_check(const struct hf__file_side *side,
                                      const struct hf__file_place *place,
                                      struct hf__lobby *ret_lobby,
                                      hf_error *err);

/* Note how long a name is held at most. HF_OK, or HF_EUNAVAIL: it can't be, so
 * it must not be held. */
HF_MUST_CHECK int hf__file_side_hold(struct hf__file_side *side,
                                     const struct hf__key *key,
                                     int64_t until_us);
/* Of a name without a record: until when is it perhaps held by another token
 * all the same (boot clock, µs)? 0: it is not. */
int64_t hf__file_side_held_until(struct hf__file_side *side,
                                 const struct hf__key *key,
                                 const struct hf__token *mine, int64_t now_us);

#endif
