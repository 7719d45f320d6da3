/* SPDX-License-Identifier: MIT */
/*
 * The side file of a store: what the kernel can tell of other processes.
 *
 * Bytes, locked by its open file in each process: one found by a random
 * number, the process's life, which records name, so that a free byte says
 * that the holder is dead; perhaps one for each name that it holds (held.h);
 * and one that says that somebody is there at all. A layout: the channels of
 * waiters, who was last seen waiting, what was broken, and what the store has
 * of its own; only hints, nothing on it is believed to free a lock, and nobody
 * touches it but by base/words.h. Thread: any.
 */
#ifndef HF_BACKEND_LOCAL_SIDE_H
#define HF_BACKEND_LOCAL_SIDE_H

#include "src/backend/breaks.h"
#include "src/backend/local/dir.h"
#include "src/backend/local/held.h"
#include "src/base/fork_list.h"
#include "src/base/list.h"
#include "src/base/wake_table.h"

#include <stddef.h>

/* Far behind the contents, so that no reader of the file meets them. Lives and
 * the open lock: exclusive. Names and presence: shared; presence is exclusive
 * while the layout is set up. */
#define HF__BYTE_PRESENCE  ((INT64_C(1) << 30) - 1)
#define HF__BYTE_OPEN_LOCK ((INT64_C(1) << 30) - 2)
#define HF__BYTE_LIVES     (INT64_C(1) << 61)
#define HF__BYTE_NAMES     (UINT64_C(1) << 62)

/* What a layout begins with; the rest of it is zero when new. */
struct hf__side_header {
    char magic[8];
    uint32_t version;
    uint32_t size; /* of all, what the store has behind it included */
};

/* What is a store's own about it. */
struct hf__side_kind {
    struct hf__side_header head;
    bool names_have_bytes;       /* see held.h */
    struct hf__fork_list *sides; /* of this kind; locked while one is set up, so
                                 that a disk that hangs stops no other kind */
};

/* What is looked at before each batch, in one step. */
struct hf__side_hot {
    struct hf__side_header head;
    _Alignas(8) unsigned char own[592]; /* the store's own */
    struct hf__wake_summary summary;
};

struct hf__side_layout {
    struct hf__side_header head;
    _Alignas(8) unsigned char own[592];
    struct hf__wake_table wake_table;
    struct hf__breaks breaks;
    struct hf__last_seen last_seen;
};

_Static_assert(offsetof(struct hf__side_layout, wake_table.summary) ==
                   offsetof(struct hf__side_hot, summary),
               "a threshold is what the board begins with");

/* Where a part of the layout is. */
#define HF__SIDE_OFFSET(member) offsetof(struct hf__side_layout, member)

/* One side file in this process, shared by its sessions. */
struct hf__side {
    struct hf__link link;
    const struct hf__side_kind *kind;
    struct hf__file_id id;
    int refs;
    int users; /* sessions that did not leave yet; no more than refs */
    int fd;
    struct hf__words words; /* a layout */
    uint64_t life;
    struct hf__held held;
    struct hf__wake_view wake_view;
    struct hf__mutex lock; /* the store's own, for what its sessions */
    struct hf__link idle;  /* leave each other */
};

/* Open the file, or make it, and make sure that it is one. HF_OK, HF_EAUTH,
 * HF_EUNAVAIL (disk full), HF_EPROTO (not a file), HF_EUNSAFE (a link, a
 * stranger's), HF_ENOMEM. *ret_fd is −1, or to be closed in any case. */
HF_MUST_CHECK int hf__side_open(const struct hf__dir *, int *ret_fd,
                                struct hf__file_id *ret_id, hf_error *);
/* Somebody else is just opening the store: rest a little. HF_CONFLICT: try
 * again; HF_EUNAVAIL: there is no time for it. */
HF_MUST_CHECK int hf__side_rest(const struct hf__dir *, struct hf__head *,
                                hf__time deadline, hf_error *);
/* This process's object for the side file: set up if nobody is there, come
 * alive. *ret_has_others: some process, perhaps this one, used the store
 * already. As hf__side_open(). */
HF_MUST_CHECK int hf__side_get(const struct hf__dir *, struct hf__head *,
                               hf__time deadline, struct hf__side **ret_side,
                               bool *ret_has_others, hf_error *);
/* The session is about to close. True: it was the last one of this process,
 * and grants that are held need another guarantee than its life. */
HF_MUST_CHECK bool hf__side_leave(struct hf__side *);
/* Takes NULL; after hf__side_leave(). The object outlives its last user as long
 * as an unexpired grant is held: the holder must not look dead, nor the store
 * abandoned. */
void hf__side_put(struct hf__side *);

/* 1: the process of that life is there; 0: it is gone; −1: can't tell, as of
 * none (0). */
int hf__side_probe(const struct hf__side *, uint64_t life);
/* What stands in its hot part now. False: the layout is gone, for the file was
 * cut off or written over in place. */
bool hf__side_look(const struct hf__side *, struct hf__side_hot *ret_hot);

#endif
