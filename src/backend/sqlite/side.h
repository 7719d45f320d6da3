/* SPDX-License-Identifier: MIT */
/*
 * The side file: what the kernel can tell of other processes, beside what
 * the database can. Three things live there.
 *
 * Bytes. A holder locks one byte (F_OFD_SETLK), chosen by a hash of its
 * token, as long as it holds; if the byte is free, the holder is dead. All
 * holders of a process share one open file, so a grant made in one session
 * can be released in another; probing goes through a second open file, which
 * a process's own locks are visible to. Another byte, locked shared, says
 * that a process uses the store; a third is locked while one opens it.
 *
 * Identities. Which database, -wal and -shm belong together, so that a file
 * that was replaced while in use is noticed before two programs lock two
 * different things.
 *
 * A board, mapped by all: the writers' gate and the words on which waiters
 * sleep. Only hints; nothing on it is believed.
 *
 * Thread: any, except that a door belongs to the thread that opened it.
 */
#ifndef HF_BACKEND_SQLITE_SIDE_H
#define HF_BACKEND_SQLITE_SIDE_H

#include "src/backend/backend.h"
#include "src/backend/sqlite/gate.h"
#include "src/backend/sqlite/place.h"
#include "src/base/list.h"
#include "src/base/map.h"
#include "src/base/thread.h"

#define HF__BUCKETS 4096

/* Behind the board the file has blocks that are of no use but one: given back
 * when the disk is full, they let the log be merged into the database, so that
 * the locks that are held can still be renewed. */
#define HF__BALLAST (INT64_C(1) << 20)

/* Waiters of all names with one hash. See wait.h. */
struct hf__bucket {
    atomic_uint word;     /* bumped when a record changed */
    atomic_uint sleepers; /* at least so many; dead ones stay counted */
    atomic_uint tag;      /* of the name waited for; 0: of several */
    atomic_uint grace;    /* until when a woken waiter goes first */
};

struct hf__board {
    char magic[8];
    uint32_t version;
    uint32_t size;
    struct hf__file_ids ids; /* read and written behind the door only */
    struct hf__gate gate;
    struct hf__bucket any; /* for who waits for several names */
    struct hf__bucket bucket[HF__BUCKETS];
};

/* One side file in this process, shared by its sessions. */
struct hf__side {
    struct hf__link link;
    struct hf__file_id id;
    int refs;
    int users;     /* sessions that are open; no more than refs */
    int holder_fd; /* has the token bytes and the presence */
    int prober_fd;
    struct hf__board *board;
    char text[44]; /* "dev:ino", as records name it */
    struct hf__mutex lock;
    struct hf__map held; /* tokens whose byte this process has; under lock */
    /* Set when a waiter of this process was woken: it may acquire within the
     * grace that others must let pass. */
    atomic_uchar passes[HF__BUCKETS];
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
 * and grants that are held need another guarantee than their bytes. */
HF_MUST_CHECK bool hf__side_leave(struct hf__side *side);
/* Takes NULL; after hf__side_leave(). The object outlives its last user as
 * long as this process has the byte of an unexpired grant: the holder must
 * not look dead, nor the store abandoned. */
void hf__side_put(struct hf__side *side);

/* Give the ballast back to the disk; the next who opens the store takes it up
 * again. */
void hf__side_drop_ballast(struct hf__side *side);

/* Lock the token's byte until let go or `expires_us`. False: it can't be, and
 * the lease alone must do. ret_is_new: it was not locked before. */
HF_MUST_CHECK bool hf__side_hold(struct hf__side *side,
                                 const struct hf__token *token,
                                 const struct hf__key *key, int64_t expires_us,
                                 bool *ret_is_new);
void hf__side_extend(struct hf__side *side, const struct hf__token *token,
                     int64_t expires_us);
/* Harmless if it is not held by this process. */
void hf__side_let_go(struct hf__side *side, const struct hf__token *token);

bool hf__side_is_holding(struct hf__side *side);
/* Call fn for each byte that is held, until it gives false. Those for which
 * it gave true are let go by hf__side_let_go_parted(). */
typedef bool (*hf__side_fn)(void *arg, const struct hf__token *token,
                            const struct hf__key *key);
void hf__side_part(struct hf__side *side, hf__side_fn fn, void *arg);
void hf__side_let_go_parted(struct hf__side *side);

/* 1: the token's holder lives; 0: it is gone; −1: can't tell. */
int hf__side_probe(const struct hf__side *side, const struct hf__token *token);

#endif
